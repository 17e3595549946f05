# SPDX-License-Identifier: Apache-2.0
"""Tables as Markdown; plain text is the same table, which aligned Markdown reads well as."""

from .ratios import geometric_mean, tables_of_bars
from .suite import LAYOUTS, place


def size_words(size):
    for unit, scale in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= scale and size % scale == 0:
            return f"{size // scale} {unit}"
    return f"{size} B"


def number(value):
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def ratio_words(value):
    return "-" if value is None else f"{value:.2f}"


def table(header, lines):
    """Columns padded to one width: the first to the left, the others to the right."""
    widths = [max(len(line[i]) for line in [header, *lines]) for i in range(len(header))]
    def paint(cells):
        first, *rest = cells
        return "| " + " | ".join([first.ljust(widths[0]), *(c.rjust(w) for c, w in zip(rest, widths[1:]))]) + " |"
    rule = "|" + "|".join(["-" * (widths[0] + 2), *("-" * (w + 1) + ":" for w in widths[1:])]) + "|"
    return "\n".join([paint(header), rule, *map(paint, lines)])


def groups(all_rows):
    """Rows by (name, ranks, unit), in the order of their measurement."""
    found = {}
    for row in all_rows:
        found.setdefault((row.key.name, row.key.ranks, row.key.unit), []).append(row)
    return found


def figure_words(row, name):
    return f"{number(row.figures.get(name))} {row.ways.get(name, '')}".rstrip()


def group_table(name, ranks, unit, rows, names):
    lines = [[size_words(r.key.size), *(figure_words(r, n) for n in names), ratio_words(r.ratio)] for r in rows]
    if len(rows) > 1:
        lines.append(["geometric mean", *("" for _ in names), ratio_words(geometric_mean(r.ratio for r in rows))])
    return table([f"{name}, {place(name, ranks)} ({unit})", *names, f"{names[0]} / best peer"], lines)


def range_words(ratios):
    return f"{min(ratios):.2f} to {max(ratios):.2f}" if ratios else "-"


def bars_table(verdicts, subject):
    lines = []
    for verdict in verdicts:
        bar = verdict.bar
        lines.append([bar.what, ratio_words(verdict.ratio), range_words(verdict.rounds), ratio_words(bar.at_least),
                      bar.limit_words or ratio_words(bar.aim), verdict.word()])
    return table([f"bar ({subject} / best peer, times)", "measured", "single rounds", "at least", "aim", "verdict"],
                 lines)


def layout_table(all_rows, columns):
    """A line for each layout of data that was measured; None for none. A column: its heading, the names of the
    figures that it takes, and what it says of their rows, which are by size."""
    by_name = {}
    for row in all_rows:
        by_name.setdefault(row.key.name, []).append(row)
    lines = []
    for layout in LAYOUTS:
        cells = [(say, [by_name.get(f"{name}_{layout}") for name in names]) for _, names, say in columns]
        if all(all(found) for _, found in cells):
            lines.append([layout.replace("_", " "), *(say(*found) for say, found in cells)])
    return table(["layout", *(heading for heading, _, _ in columns)], lines) if lines else None


def layout_tables(all_rows, subject):
    """Packing, and sending packed by the library and by hand: `pack` and `send_layouts`."""
    def times(rows):
        return " / ".join(number(row.figures.get(subject)) for row in rows)

    def against_peers(rows):
        return ratio_words(geometric_mean(row.ratio for row in rows))

    def against_hand(rows, by_hand):
        return " / ".join(ratio_words(a.figures[subject] / b.figures[subject]) for a, b in zip(rows, by_hand))

    packing = [column for name in ("pack", "unpack")
               for column in ((f"{name}, 16 KiB / 1 MiB (us)", (name,), times), ("/ best peer", (name,), against_peers))]
    sending = [("send, 16 KiB / 1 MiB (us)", ("send",), times), ("/ best peer", ("send",), against_peers),
               ("/ packed by hand", ("send", "send_by_hand"), against_hand)]
    found = {"pack": layout_table(all_rows, packing), "send_layouts": layout_table(all_rows, sending)}
    return {name: text for name, text in found.items() if text}


def failures(results):
    return "\n".join(f"- {bench}, {place(bench, ranks)}, {name}: {wrong}" for bench, ranks, name, wrong in results.failures)


def whole(results, all_rows, names, machine):
    parts = [machine]
    parts += [group_table(*group, rows, names) for group, rows in groups(all_rows).items()]
    if len(names) > 1:
        parts += [bars_table(verdicts, names[0]) for verdicts in tables_of_bars(all_rows, names[0]).values()
                  if any(verdict.ratio for verdict in verdicts)]
    if results.failures:
        parts.append("Failures (their figures are missing above, or come from the rounds that worked):\n\n"
                     + failures(results))
    return "\n\n".join(parts) + "\n"
