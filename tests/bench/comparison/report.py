# SPDX-License-Identifier: Apache-2.0
"""Tables as aligned Markdown, also for reading as plain text."""

from .ratios import geometric_mean, tables_of_bars
from .suite import place


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


def failure_lines(results):
    return list(dict.fromkeys(f"{bench}, {place(bench, ranks)}, {name}: {wrong}" for bench, ranks, name, wrong in results.failures))


def whole(results, all_rows, names, machine):
    parts = [machine]
    parts += [group_table(*group, rows, names) for group, rows in groups(all_rows).items()]
    if len(names) > 1:
        parts += [bars_table(verdicts, names[0]) for verdicts in tables_of_bars(all_rows, names[0]).values()
                  if any(verdict.ratio for verdict in verdicts)]
    if results.failures:
        parts.append("Failures (their figures are missing above, or come from the rounds that worked):\n\n"
                     + "\n".join(f"- {line}" for line in failure_lines(results)))
    return "\n\n".join(parts) + "\n"
