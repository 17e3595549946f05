# SPDX-License-Identifier: Apache-2.0
"""Plots as SVG without any library: a measurement by size (or by ranks), one line for each library, and sheets of them."""

import math
from dataclasses import dataclass
from html import escape

from .report import groups, number, size_words
from .suite import BENCHES, HIDDEN, HOSTS_BENCHES

COLOURS = ("#0b7a75", "#c4501b", "#5b4b9a", "#8a8d0f", "#444444")
COLUMNS = 3  # of a sheet


@dataclass(frozen=True)
class Frame:
    """A picture's size in pixels, and the margins for words."""
    width: int
    height: int
    left: int
    right: int
    top: int
    bottom: int


ALONE = Frame(720, 420, 70, 130, 40, 50)
PANEL = Frame(300, 210, 54, 12, 28, 30)  # of a sheet


class Logarithmic:
    """Maps values of [low, high] to pixels of [start, end] by their logarithm."""

    def __init__(self, values, start, end, base):
        self.base, self.start, self.end = base, start, end
        self.low = math.floor(math.log(min(values), base) + 1e-9)
        self.high = max(math.ceil(math.log(max(values), base) - 1e-9), self.low + 1)

    def __call__(self, value):
        share = (math.log(value, self.base) - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self, most):
        """At most `most` ticks, as powers of the base."""
        step = -(-(self.high - self.low + 1) // most)
        return [self.base ** power for power in range(self.low, self.high + 1, step)]


class Percent:
    """0 to 100."""

    def __init__(self, start, end):
        self.start, self.end = start, end

    def __call__(self, value):
        return self.start + value / 100 * (self.end - self.start)

    def ticks(self, _):
        return [0, 25, 50, 75, 100]


def text(x, y, words, anchor="middle", more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {more}>{escape(words)}</text>'


def grid_line(x1, y1, x2, y2):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="#ddd"/>'


def axes(x, y, unit, words, frame):
    bottom, right, parts = frame.height - frame.bottom, frame.width - frame.right, []
    for value in x.ticks(12 if frame is ALONE else 5):
        parts.append(grid_line(x(value), frame.top, x(value), bottom))
        parts.append(text(x(value), bottom + 16, words(int(value))))
    for value in y.ticks(8):
        parts.append(grid_line(frame.left, y(value), right, y(value)))
        parts.append(text(frame.left - 5, y(value) + 4, number(value) if value else "0", "end"))
    middle = (frame.top + bottom) / 2
    parts.append(text(12, middle, unit, "middle", f'transform="rotate(-90 12 {middle})"'))
    return parts


def curve(points, colour):
    path = " ".join(f"{px:.1f},{py:.1f}" for px, py in points)
    dots = [f'<circle cx="{px:.1f}" cy="{py:.1f}" r="2.5" fill="{colour}"/>' for px, py in points]
    return [f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>', *dots]


def legend(names, x, y, across):
    parts = []
    for position, name in enumerate(names):
        left, top = (x + 110 * position, y) if across else (x, y + 20 * position)
        parts.append(f'<rect x="{left}" y="{top - 9}" width="12" height="12" fill="{COLOURS[position % len(COLOURS)]}"/>')
        parts.append(text(left + 18, top + 2, name, "start"))
    return parts


def by_size(row):
    return row.key.size


def by_ranks(row):
    return row.key.ranks


def panel(title, unit, rows, names, frame, place=by_size):
    """The inside of a picture, or None if lines have fewer than two points."""
    rows = [row for row in rows if place(row) > 0]
    shares = unit == HIDDEN
    values = [value for row in rows for value in row.figures.values() if value > 0 or shares]
    if len(rows) < 2 or not values:
        return None
    bottom = frame.height - frame.bottom
    x = Logarithmic([place(row) for row in rows], frame.left, frame.width - frame.right, 2)
    y = Percent(bottom, frame.top) if shares else Logarithmic(values, bottom, frame.top, 10)
    words = size_words if place is by_size else "{} ranks".format
    parts = [text(frame.left, frame.top - 12, title, "start", 'font-size="14"'), *axes(x, y, unit, words, frame)]
    for position, name in enumerate(names):
        points = [(x(place(r)), y(r.figures[name])) for r in rows if name in r.figures and (shares or r.figures[name] > 0)]
        parts += curve(points, COLOURS[position % len(COLOURS)])
    return parts


def picture(width, height, parts):
    body = "\n".join(parts)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
            f'height="{height}" font-family="sans-serif" font-size="11" fill="#222">\n'
            f'<rect width="100%" height="100%" fill="white"/>\n{body}\n</svg>\n')


def plot(title, unit, rows, names, place=by_size):
    parts = panel(title, unit, rows, names, ALONE, place)
    if parts is None:
        return None
    return picture(ALONE.width, ALONE.height,
                   parts + legend(names, ALONE.width - ALONE.right + 12, ALONE.top + 10, False))


def sheet(title, panels, names):
    """Panels in rows under one title and one legend."""
    columns, head = min(COLUMNS, len(panels)), 36
    parts = [text(12, 23, title, "start", 'font-size="16"'),
             *legend(names, columns * PANEL.width - 110 * len(names), 20, True)]
    for position, inside in enumerate(panels):
        x, y = position % columns * PANEL.width, head + position // columns * PANEL.height
        parts += [f'<g transform="translate({x} {y})">', *inside, "</g>"]
    return picture(columns * PANEL.width, head + -(-len(panels) // columns) * PANEL.height, parts)


def sheets(found, names):
    """(file, picture) of each benchmark with several figures, for each rank count."""
    for bench in BENCHES + HOSTS_BENCHES:
        for ranks in sorted({key[1] for key in found}):
            rows = [(name, unit, group) for (name, count, unit), group in found.items()
                    if count == ranks and name in bench.figures]
            panels = [panel(name, unit, group, names, PANEL) for name, unit, group in rows]
            panels = [inside for inside in panels if inside]
            if len(panels) > 1:
                yield f"{bench.name}-{ranks}.svg", sheet(f"{bench.what}; {ranks} ranks", panels, names)


def single(found, names):
    """(file, picture) of each figure with sizes, for each rank count; of other figures by ranks."""
    without_size = {}
    for (name, ranks, unit), rows in found.items():
        yield f"{name}-{ranks}.svg", plot(f"{name}, {ranks} ranks", unit, rows, names)
        without_size.setdefault((name, unit), []).extend(row for row in rows if row.key.size == 0)
    for (name, unit), rows in without_size.items():
        yield f"{name}.svg", plot(f"{name}, by ranks", unit, rows, names, by_ranks)


def draw_all(rows, names, out):
    """Writes NAME-RANKS.svg for figures with sizes, NAME.svg for figures without, BENCHMARK-RANKS.svg for a sheet of several
    figures; returns the paths."""
    found, paths = groups(rows), []
    for name, drawn in [*single(found, names), *sheets(found, names)]:
        if drawn:
            paths.append(out / name)
            paths[-1].write_text(drawn)
    return paths
