# SPDX-License-Identifier: Apache-2.0
"""Keeps measured tables in a Markdown file: `<!-- measured NAME -->` ... `<!-- end -->` holds what NAME last gave."""

import re

from . import report
from .ratios import tables_of_bars

BLOCK = re.compile(r"(<!-- measured (?P<name>\w+) -->\n)(?P<body>.*?)(?=<!-- end -->)", re.S)


def sections(rows, names, machine, conditions, prefix=""):
    """What may stand between markers, by name: what was measured, tables of bars, `machine`."""
    found = {}
    for (name, ranks, unit), group in report.groups(rows).items():
        found.setdefault(name, []).append(report.group_table(name, ranks, unit, group, names))
    found = {name: "\n\n".join(tables) for name, tables in found.items()}
    found.update(report.layout_tables(rows, names[0]))
    for table, verdicts in tables_of_bars(rows, names[0]).items():  # one of which a part was measured stays as it was
        if all(verdict.ratio for verdict in verdicts):
            found[table] = report.bars_table(verdicts, names[0])
    found = {name: f"{table}\n\n{conditions}" for name, table in found.items()}
    return {prefix + name: body for name, body in {"machine": machine, **found}.items()}


def merge_failures(old, new, benches):
    """The lines `- BENCH, ...` of `new`, and those of `old` that tell of benchmarks not run now."""
    kept = [line for line in old.splitlines() if line.startswith("- ") and line[2:].split(",")[0] not in benches]
    return "\n".join(kept + new.splitlines()) or "None."


def update(path, parts, failures=None, benches=()):
    """Replaces the blocks that were measured now and leaves the others; returns the names that have no block."""
    used = set()

    def replace(match):
        name = match["name"]
        used.add(name)
        if name == "failures" and failures is not None:
            return f"{match[1]}\n{merge_failures(match['body'], failures, benches)}\n\n"
        return f"{match[1]}\n{parts[name]}\n\n" if name in parts else match[0]

    path.write_text(BLOCK.sub(replace, path.read_text()))
    return [name for name in parts if name not in used]
