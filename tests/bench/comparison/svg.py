# SPDX-License-Identifier: Apache-2.0
"""Plots as SVG without any library: a measurement by size, one line for each library, both axes logarithmic."""

import math
from html import escape

from .report import groups, number, size_words

WIDTH, HEIGHT = 720, 420
LEFT, RIGHT, TOP, BOTTOM = 70, 130, 40, 50
COLOURS = ("#0b7a75", "#c4501b", "#5b4b9a", "#8a8d0f", "#444444")


class Scale:
    """Maps values of [low, high] to pixels of [start, end] by their logarithm."""

    def __init__(self, values, start, end, base):
        self.base, self.start, self.end = base, start, end
        self.low = math.floor(math.log(min(values), base))
        self.high = max(math.ceil(math.log(max(values), base)), self.low + 1)

    def __call__(self, value):
        share = (math.log(value, self.base) - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self, step=1):
        return [self.base ** power for power in range(self.low, self.high + 1, step)]


def text(x, y, words, anchor="middle", more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {more}>{escape(words)}</text>'


def grid_line(x1, y1, x2, y2):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="#ddd"/>'


def axes(x, y, unit):
    parts = []
    for size in x.ticks(2):
        parts.append(grid_line(x(size), TOP, x(size), HEIGHT - BOTTOM))
        parts.append(text(x(size), HEIGHT - BOTTOM + 18, size_words(int(size))))
    for value in y.ticks():
        parts.append(grid_line(LEFT, y(value), WIDTH - RIGHT, y(value)))
        parts.append(text(LEFT - 6, y(value) + 4, number(value), "end"))
    parts.append(text(16, (TOP + HEIGHT - BOTTOM) / 2, unit, "middle",
                      f'transform="rotate(-90 16 {(TOP + HEIGHT - BOTTOM) / 2})"'))
    return parts


def curve(points, colour, name, position):
    path = " ".join(f"{px:.1f},{py:.1f}" for px, py in points)
    dots = [f'<circle cx="{px:.1f}" cy="{py:.1f}" r="2.5" fill="{colour}"/>' for px, py in points]
    legend_y = TOP + 10 + 20 * position
    return [f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>', *dots,
            f'<rect x="{WIDTH - RIGHT + 12}" y="{legend_y - 9}" width="12" height="12" fill="{colour}"/>',
            text(WIDTH - RIGHT + 30, legend_y + 2, name, "start")]


def plot(title, unit, rows, names):
    """One picture, or None where a line would have fewer than two points."""
    rows = [row for row in rows if row.key.size > 0]
    values = [value for row in rows for value in row.medians.values() if value > 0]
    if len(rows) < 2 or not values:
        return None
    x = Scale([row.key.size for row in rows], LEFT, WIDTH - RIGHT, 2)
    y = Scale(values, HEIGHT - BOTTOM, TOP, 10)
    parts = [text(LEFT, 24, title, "start", 'font-size="15"'), *axes(x, y, unit)]
    for position, name in enumerate(names):
        points = [(x(r.key.size), y(r.medians[name])) for r in rows if r.medians.get(name, 0) > 0]
        parts += curve(points, COLOURS[position % len(COLOURS)], name, position)
    body = "\n".join(parts)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" '
            f'height="{HEIGHT}" font-family="sans-serif" font-size="11" fill="#222">\n'
            f'<rect width="100%" height="100%" fill="white"/>\n{body}\n</svg>\n')


def draw_all(rows, names, out):
    """Writes NAME-RANKS.svg for each measurement that has sizes; returns the paths."""
    paths = []
    for (name, ranks, unit), group in groups(rows).items():
        picture = plot(f"{name}, {ranks} ranks", unit, group, names)
        if picture:
            path = out / f"{name}-{ranks}.svg"
            path.write_text(picture)
            paths.append(path)
    return paths
