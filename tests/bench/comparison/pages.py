# SPDX-License-Identifier: Apache-2.0
"""Writes and checks docs/measurements: a page per topic from the data files, the index, and the results in README.md."""

import re
import string
import textwrap
from typing import NamedTuple

from . import data, topics
from .history import TOP, History
from .ratios import geometric_mean, ratio_of
from .report import number, ratio_words

FOLDER = "docs/measurements"
MOST_LINES = 60  # of a page: one screen
WIDTH = 120      # of prose
PEERS = ("mpich", "openmpi", "gloo")
NAMES = {"tern": "Tern", "mpich": "MPICH", "openmpi": "Open MPI", "gloo": "gloo"}
MARK = "*"
MARK_WORDS = f"`{MARK}`: measured before the last change of the code"
WRITTEN = "<!-- tests/bench/pages --write wrote this page from data/ and notes/. -->"
BLOCK = r"(<!-- {} -->\n).*?(?=<!-- end -->)"


def is_within(size, sizes):
    return sizes is None or size is not None and sizes[0] <= size <= sizes[1]


def spans(lines, sizes):
    """Do the lines reach both ends of the range, within a factor of two? A kept mean counts as whole."""
    found = [line.bytes for line in lines if line.bytes]
    if sizes is None or not found:
        return True
    return min(found) <= sizes[0] * 2 and max(found) * 2 >= sizes[1]


def lines_of(run, cell):
    sizes = cell.get("sizes")
    found = [line for line in run.lines if line.figure == cell["figure"] and line.ranks == cell["ranks"]]
    in_range = [line for line in found if is_within(line.bytes, sizes)]
    if sizes == topics.ALL and found and all(line.bytes == 0 for line in found):  # no data, so no sizes
        return found
    if sizes == topics.ALL or sizes is None:  # a run may have kept the mean alone
        in_range = [line for line in found if line.bytes is None and line.ratio is not None] or in_range
    return in_range


def compares(run, cell):
    """Has the run the cell's library and another to compare?"""
    alone = len(run.libraries) == 1 and all(line.ratio is None for line in run.lines)
    return cell.get("of", "tern") in run.libraries and (cell.get("peerless") or not alone)


def choose(runs, cell):
    """(run, lines) of a cell: the newest run with the whole range of sizes, else the newest with a part."""
    found = [(run, lines_of(run, cell)) for run in runs if compares(run, cell)]
    found = [(run, lines) for run, lines in found if lines]
    return max(found, key=lambda one: (spans(one[1], cell.get("sizes")), one[0].head["date"], one[0].name), default=(None, []))


def ratio(run, lines, of):
    def of_line(line):
        if line.ratio is not None:
            return line.ratio if of == run.subject else None
        known = [name for name in line.values if name in PEERS and name != of] or [name for name in line.values if name != of]
        return ratio_of(line, {name: line.values[name] for name in (of, *known) if name in line.values}, of)
    return geometric_mean(of_line(line) for line in lines)


def value(lines, library):
    return lines[0].values.get(library) if len(lines) == 1 else None


def quotient_words(found):
    """A ratio with two digits, below 0.1 with three."""
    return "" if not found else f"{found:.3f}" if found < 0.1 else ratio_words(found)


def words_of(run, lines, cell):
    """The text of a cell; empty without data."""
    show = cell.get("show", "ratio")
    if show == "ratio":
        return quotient_words(ratio(run, lines, cell.get("of", "tern")))
    if show == "quotient":
        others = {line.bytes: line.values.get("tern") for line in lines_of(run, {**cell, "figure": cell["over"]})}
        return quotient_words(geometric_mean(line.values["tern"] / others[line.bytes] for line in lines
                                             if line.values.get("tern") and others.get(line.bytes)))
    found = value(lines, show)
    return "" if found is None else number(found)


class Shown(NamedTuple):
    """A cell on a page: text, letter of the run, and whether the measured code has changed since the run."""
    words: str = ""
    letter: str = ""
    is_old: bool = False

    def marked(self):
        return self.words + (MARK if self.is_old else "")


class Used:
    """The runs on a page with a letter each, the changed sources behind the marks, commits missing in the history."""

    def __init__(self, runs, history):
        self.runs, self.history, self.letters, self.changed, self.unknown = runs, history, {}, {}, set()

    def show(self, cell, paths):
        run, lines = choose(self.runs, cell)
        words = words_of(run, lines, cell) if run else ""
        if not words:
            return Shown()
        letter = self.letters.setdefault(run.name, string.ascii_lowercase[len(self.letters)])
        paths = cell.get("paths", paths)
        changed = self.history.has_changed(run.head["commit"], paths) if self.history else False
        if changed is None:
            self.unknown.add(run.head["commit"])
        if changed:
            self.changed.update(dict.fromkeys(paths))
        return Shown(words, letter, bool(changed))

    def named(self):
        return [run for name in self.letters for run in self.runs if run.name == name]


def cells_of(table, row):
    for _, column in table.columns:
        cell = {"ranks": None, **dict(table.attributes), **column, **row}
        cell.update({key: cell[key].format(**cell) for key in ("figure", "over") if key in cell})
        yield cell


def wrapped(words, indent=""):
    return textwrap.fill(words, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def markdown(header, rows):
    rule = "|".join(["---", *("---:" for _ in header[1:])])
    return "\n".join(["| " + " | ".join(header) + " |", f"|{rule}|", *("| " + " | ".join(row) + " |" for row in rows)])


def table_text(table, topic, used):
    """The table without its empty rows and columns; None if nothing was measured."""
    rows = []
    for words, row in table.rows:
        found = [used.show(cell, topic.paths) for cell in cells_of(table, row)]
        filled = [one for one in found if one.words]
        if filled:
            letters = " ".join(sorted({one.letter for one in filled}))
            if all(one.is_old for one in filled):
                rows.append([f"{words} {MARK}", *(one.words for one in found), letters])
            else:
                rows.append([words, *(one.marked() for one in found), letters])
    if not rows:
        return None
    header = [table.first, *(words for words, _ in table.columns), "run"]
    kept = [column for column in range(len(header)) if any(row[column] for row in rows)]
    return [header[column] for column in kept], [[row[column] for column in kept] for row in rows]


def libraries_text(runs):
    """Versions and builds, once each. A library without a name in NAMES is a variant: its words name the library."""
    return ", ".join(dict.fromkeys(f"{NAMES[name]} {words}".rstrip() if name in NAMES else words
                                   for run in runs for name, words in run.libraries.items() if words))


def by_words(used, words_of_run):
    """`a, b: words` for each text that runs have, without letters if all runs have one text."""
    found = {}
    for run in used.named():
        for words in words_of_run(run):
            found.setdefault(words, []).append(used.letters[run.name])
    return [words if len(letters) == len(used.letters) else f"Run {', '.join(letters)}: {words}" for words, letters in found.items()]


def runs_text(used):
    parts = []
    for run in used.named():
        letter = f"{used.letters[run.name]}: " if len(used.letters) > 1 else ""
        parts.append(wrapped(f"- {letter}[{run.name}](data/{run.name}.csv), {run.day}, commit {run.head['commit']}; {run.head['method']}; "
                             f"`{run.head['command']}`", "  "))
    return ["\n".join(parts)] if parts else []


def page(topic, runs, notes, history):
    """(the text of a topic's page, its Used)."""
    used = Used(runs, history)
    tables = [found for found in (table_text(table, topic, used) for table in topic.tables) if found]
    has_letters = len(used.letters) > 1
    parts = [f"# {topic.title}\n\n{WRITTEN}\n{wrapped(topic.reading)}"]
    for header, rows in tables:
        parts.append(markdown(header, rows) if has_letters else markdown(header[:-1], [row[:-1] for row in rows]))
    if not tables:
        parts.append("Not measured yet.")
    if used.changed:
        parts.append(wrapped(f"{MARK_WORDS} ({', '.join(f'`{path}`' for path in used.changed)})."))
    if notes.strip():
        parts.append(notes.strip())
    remarks = by_words(used, lambda run: [*run.notes, *(f"Failed: {one}." for one in run.failures)])
    if used.letters:
        machines = " ".join(by_words(used, lambda run: [f"{run.head['machine']}."]))
        parts.append(wrapped(" ".join([f"Machine: {machines} Libraries: {libraries_text(used.named())}.", *remarks])))
    return "\n\n".join(parts + runs_text(used)) + "\n", used


def index(used_by_topic):
    rows = []
    for topic, used in used_by_topic:
        days = sorted({run.day for run in used.named()})
        rows.append(f"| [{topic.title}]({topic.name}.md) | {' to '.join(dict.fromkeys(days[:1] + days[-1:])) or 'not measured yet'} |")
    return "| topic | measured |\n|---|---|\n" + "\n".join(rows) + "\n"


def result_text(result, used):
    """A row's ratios, or None if one is missing."""
    found = [used.show(cell, result.paths) for cell in result.cells]
    if not all(one.words for one in found):
        return None
    mark = f" {MARK}" if any(one.is_old for one in found) else ""
    if not result.as_range:
        return ", ".join(one.words for one in found) + mark
    words = sorted((one.words for one in found), key=float)
    return f"{words[0]} to {words[-1]}{mark}"


def results_of_commit(runs, history):
    used = Used(runs, history)
    rows = [(result.words, result_text(result, used)) for result in topics.RESULTS]
    return [row for row in rows if row[1]], used


def results(runs, history):
    """(README's table, Used): the rows of the commit with most rows, of the newer commit if two are equal."""
    commits = {}
    for run in runs:
        commits.setdefault(run.head["commit"], []).append(run)
    if not commits:
        return "Not measured yet.\n", Used([], history)
    rows, used = max((results_of_commit(group, history) for group in commits.values()),
                     key=lambda one: (len(one[0]), max((run.head["date"] for run in one[1].named()), default="")))
    if not rows:
        return "Not measured yet.\n", used
    lines = ["| measurement | ratio |", "|---|---|", *(f"| {words} | {text} |" for words, text in rows), ""]
    shown = used.named()
    days = sorted({run.day for run in shown})
    machines = "; ".join(dict.fromkeys(run.head["machine"] for run in shown))
    failures = "".join(f" Failed: {one}." for run in shown for one in run.failures)
    lines.append(f"Commit {shown[0].head['commit']}, {' and '.join(days)}; {machines}. {libraries_text(shown)}.{failures}"
                 + (f" {MARK_WORDS}." if used.changed else ""))
    return "\n".join([*lines[:-1], wrapped(lines[-1])]) + "\n", used


def with_block(text, name, body):
    """The text with the body between the marks of a name."""
    found, count = re.subn(BLOCK.format(name), lambda match: match[1] + body, text, flags=re.S)
    if count != 1:
        raise data.DataError(f"expected <!-- {name} --> ... <!-- end --> once, found {count}")
    return found


def expected(top=TOP, history=None):
    """(text by path of each generated file, complaints about the data, commits missing in the history)."""
    folder = top / FOLDER
    runs = data.read_all(folder / "data")
    texts, used_by_topic, complaints = {}, [], []
    for topic in topics.TOPICS:
        notes = folder / "notes" / f"{topic.name}.md"
        texts[folder / f"{topic.name}.md"], used = page(topic, runs, notes.read_text() if notes.is_file() else "", history)
        used_by_topic.append((topic, used))
    readme, of_readme = results(runs, history)
    for path, name, body in ((folder / "README.md", "topics", index(used_by_topic)), (top / "README.md", "results", readme)):
        texts[path] = with_block(path.read_text(), name, body)
    shown = {name for used in [of_readme, *(used for _, used in used_by_topic)] for name in used.letters}
    complaints += [f"{FOLDER}/data/{run.name}.csv: no page shows a row; delete the file" for run in runs if run.name not in shown]
    complaints += [f"{FOLDER}/{path.name}: {text.count(chr(10))} lines; {MOST_LINES} is the limit" for path, text in texts.items()
                   if path.parent == folder and text.count("\n") > MOST_LINES]
    complaints += [f"{FOLDER}/{path.relative_to(folder)}: tests/bench/comparison/topics.py has no such topic"
                   for path in [*folder.glob("*.md"), *folder.glob("notes/*.md")]
                   if path not in texts and folder / path.name not in texts and path.name != "suites.md"]
    complaints += [f"topics.py: {path} does not exist" for path in sorted(source_paths()) if top == TOP and not (top / path).exists()]
    return texts, complaints, set().union(of_readme.unknown, *(used.unknown for _, used in used_by_topic))


def source_paths():
    cells = [cell for topic in topics.TOPICS for table in topic.tables for _, row in table.rows for cell in cells_of(table, row)]
    return {path for one in [*(topic.paths for topic in topics.TOPICS), *(result.paths for result in topics.RESULTS),
                             *(cell.get("paths", ()) for cell in cells)] for path in one}


def without_marks(text):
    lines = [line for line in text.splitlines() if not line.startswith("|")]
    prose = " ".join(" ".join(lines).split())
    prose = re.sub(rf" ?{re.escape(MARK_WORDS)}( \([^)]*\))?\.", "", prose)
    cells = [re.sub(rf" ?{re.escape(MARK)}(?= \|)", "", line) for line in text.splitlines() if line.startswith("|")]
    return "\n".join([prose, *cells])


def write(top=TOP, history=None):
    """Writes the files that differ; returns (paths, complaints)."""
    texts, complaints, unknown = expected(top, history or History(top))
    if unknown:
        raise data.DataError(f"this checkout has no commit {', '.join(sorted(unknown))}, so rows cannot be marked: git fetch --unshallow")
    changed = [path for path, text in texts.items() if not path.is_file() or path.read_text() != text]
    for path in changed:
        path.write_text(texts[path])
    return changed, complaints


def check(top=TOP, history=None):
    """(complaints, remark): files that differ from the data. Without history the marks are not compared."""
    texts, complaints, unknown = expected(top, history or History(top))
    same = without_marks if unknown else str
    complaints += [f"{path.relative_to(top)} differs from {FOLDER}/data: tests/bench/pages --write" for path, text in texts.items()
                   if same(path.read_text() if path.is_file() else "") != same(text)]
    return complaints, f"marks not compared: this checkout has no commit {', '.join(sorted(unknown))}" if unknown else ""
