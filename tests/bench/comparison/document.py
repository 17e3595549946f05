# SPDX-License-Identifier: Apache-2.0
"""Keeps measured tables in a Markdown file: `<!-- measured NAME -->` ... `<!-- end -->` holds what NAME last gave."""

import re

from . import report

BLOCK = re.compile(r"(<!-- measured (?P<name>\w+) -->\n)(?P<body>.*?)(?=<!-- end -->)", re.S)


def sections(results, rows, names, machine):
    """What may stand between markers, by name: a table for each benchmark's program, `bars`, `machine`."""
    found = {"machine": machine}
    for (name, ranks, unit), group in report.groups(rows).items():
        table = report.group_table(name, ranks, unit, group, names)
        found.setdefault(name, []).append(table)
    if len(names) > 1:
        found["bars"] = report.bars_table(rows, names[0])
    found["failures"] = report.failures(results) or "None."
    return {name: part if isinstance(part, str) else "\n\n".join(part) for name, part in found.items()}


def update(path, parts):
    """Replaces the blocks that were measured now and leaves the others; returns the names that have no block."""
    used = set()

    def replace(match):
        name = match["name"]
        if name not in parts:
            return match[0]
        used.add(name)
        return f"{match[1]}\n{parts[name]}\n\n"

    path.write_text(BLOCK.sub(replace, path.read_text()))
    return [name for name in parts if name not in used]
