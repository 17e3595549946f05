# SPDX-License-Identifier: Apache-2.0
"""Data files of docs/measurements/data: one run of `compare` each, a head of comment lines and CSV rows."""

import csv
import io
import re
from dataclasses import dataclass, field
from typing import NamedTuple

KEYS = ("date", "commit", "machine", "command", "method")  # once in each head, in this order
LISTS = ("library", "failure", "note")                     # any number of times, behind KEYS
COLUMNS = ("figure", "ranks", "bytes", "unit")
WAY = ":way"      # column NAME:way: the configuration of library NAME
RATIO = "ratio"   # column of rows without the peers' values
HEAD = "# SPDX-License-Identifier: Apache-2.0\n# One run; tests/bench/README.md explains the lines.\n"
NAME = re.compile(r"[\w.+-]+")


class DataError(Exception):
    """A data file, or its name, breaks the format; the text has file, line and fault."""


class Line(NamedTuple):
    """One CSV row. `bytes` None: the row is a mean over sizes. `ratio`: subject / best peer, if the run kept no values."""
    figure: str
    ranks: int
    bytes: int
    unit: str
    values: dict  # library -> value
    ratio: float = None
    ways: dict = {}  # library -> configuration


@dataclass
class Run:
    name: str
    head: dict = field(default_factory=dict)   # of KEYS
    libraries: dict = field(default_factory=dict)  # name -> version and build; the first is the subject
    failures: list = field(default_factory=list)
    notes: list = field(default_factory=list)
    lines: list = field(default_factory=list)

    @property
    def subject(self):
        return next(iter(self.libraries))

    @property
    def day(self):
        return self.head["date"].split()[0]


def number(value):
    """Four significant digits, without an exponent."""
    return f"{float(f'{value:.4g}'):.10f}".rstrip("0").rstrip(".")


def text(run):
    head = [f"# {key}: {run.head[key]}" for key in KEYS]
    head += [f"# library: {name} {words}".rstrip() for name, words in run.libraries.items()]
    head += [f"# failure: {one}" for one in run.failures] + [f"# note: {one}" for one in run.notes]
    names = [name for name in run.libraries if any(name in line.values for line in run.lines)]
    ways = [name for name in names if any(name in line.ways for line in run.lines)]
    ratio = [RATIO] if any(line.ratio is not None for line in run.lines) else []
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow([*COLUMNS, *names, *ratio, *(name + WAY for name in ways)])
    for line in run.lines:
        rows.writerow([line.figure, line.ranks, "" if line.bytes is None else line.bytes, line.unit,
                       *(number(line.values[name]) if name in line.values else "" for name in names),
                       *("" if line.ratio is None else number(line.ratio) for _ in ratio),
                       *(line.ways.get(name, "") for name in ways)])
    return HEAD + "\n".join(head) + "\n" + out.getvalue()


def parse(name, content):
    """The run of a file's text. Throws DataError."""
    run, rows = Run(name), []
    for number_of_line, line in enumerate(content.splitlines(), 1):
        if not line.startswith("#"):
            rows.append((number_of_line, line))
        elif found := re.fullmatch(r"# (\w+): (.*)", line):
            add_head(run, found[1], found[2], f"{name}.csv:{number_of_line}")
    missing = [key for key in KEYS if key not in run.head] + ([] if run.libraries else ["library"])
    if missing:
        raise DataError(f"{name}.csv: the head has no line `# {missing[0]}: ...`")
    columns = next(csv.reader([rows[0][1]])) if rows else []
    unknown = [one for one in columns if one.removesuffix(WAY) not in (*COLUMNS, RATIO, *run.libraries)]
    if tuple(columns[:len(COLUMNS)]) != COLUMNS or unknown:
        raise DataError(f"{name}.csv: the columns are {','.join(columns)}; expected {','.join(COLUMNS)}, then names of "
                        f"`# library:` lines, {RATIO}, NAME{WAY}")
    for number_of_line, line in rows[1:]:
        run.lines.append(parse_line(columns, next(csv.reader([line])), f"{name}.csv:{number_of_line}"))
    return run


def add_head(run, key, words, place):
    if key in KEYS:
        run.head[key] = words
    elif key == "library":
        library, _, description = words.partition(" ")
        run.libraries[library] = description
    elif key in LISTS:
        (run.failures if key == "failure" else run.notes).append(words)
    elif key != "SPDX-License-Identifier":
        raise DataError(f"{place}: unknown key {key}; known keys: {', '.join(KEYS + LISTS)}")


def parse_line(columns, cells, place):
    if len(cells) != len(columns):
        raise DataError(f"{place}: {len(cells)} cells, but {len(columns)} columns")
    cell = dict(zip(columns, cells))
    try:
        figures = {key: float(cell[key]) for key in columns[len(COLUMNS):] if not key.endswith(WAY) and cell[key]}
        ways = {key.removesuffix(WAY): cell[key] for key in columns if key.endswith(WAY) and cell[key]}
        return Line(cell["figure"], int(cell["ranks"]), int(cell["bytes"]) if cell["bytes"] else None, cell["unit"],
                    {key: value for key, value in figures.items() if key != RATIO}, figures.get(RATIO), ways)
    except ValueError as error:
        raise DataError(f"{place}: {error}") from error


def read_all(folder):
    return [parse(path.stem, path.read_text()) for path in sorted(folder.glob("*.csv"))]


def write(folder, run):
    """Replaces the file of the same name; returns its path."""
    if not NAME.fullmatch(run.name):
        raise DataError(f"the name of a data file is {run.name!r}; expected letters, digits, and . + - _")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{run.name}.csv"
    path.write_text(text(run))
    return path


def of_results(name, rows, libraries, head, failures):
    """The run of what `compare` measured. `libraries`: name -> version and build, the subject first."""
    lines = [Line(row.key.name, row.key.ranks, row.key.size, row.key.unit, dict(row.figures), None, dict(row.ways)) for row in rows]
    return Run(name, head, libraries, failures, [], lines)
