# SPDX-License-Identifier: Apache-2.0
"""Figures in README.md and docs/measurements/suites.md: the last full runs (file `figures`), algorithms, functions.

A figure is between <!-- figures: NAME --> and <!-- end -->. --write inserts figures, --check compares. Line breaks do
not matter.
"""
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOP = HERE.parents[1]
sys.path.insert(0, str(TOP / "src/abi"))
import table  # noqa: E402

FILE = HERE / "figures"
PAGES = ("README.md", "docs/measurements/suites.md")
HEAD = """# SPDX-License-Identifier: Apache-2.0
# The figures of the last full run of each suite; tests/conformance/run SUITE --record writes them here.
"""
MARKED = re.compile(r"(<!-- figures: (\w+) -->)(.*?)(<!-- end -->)", re.S)


def recorded():
    text = FILE.read_text() if FILE.is_file() else ""
    return {name: lines for name, lines in re.findall(r"^\[(\w+)\]\n(.*?)(?=^\[|\Z)", text, re.M | re.S)}


def record(suite, text):
    suites = {**recorded(), suite: text}
    FILE.write_text(HEAD + "".join(f"\n[{name}]\n{lines.strip()}\n" for name, lines in sorted(suites.items())))


def value(suite, key):
    found = re.search(rf"^{key} (.*)$", recorded().get(suite, ""), re.M)
    if not found:
        raise LookupError(f"tests/conformance/figures has no {key} of {suite}: tests/conformance/run {suite} --sources DIR "
                          "--record")
    return found[1]


def of_suite(suite):
    return f"{value(suite, 'passed')} of {value(suite, 'runs')} ({value(suite, 'date')})"


def of_functions():
    """Counts functions of mpi.h. [stream] belongs to mpix.h. A row with @forms or @modes has several functions."""
    has_body = [row.has_body for row in table.read(TOP / "src/abi/functions.txt") if row.prefix == "MPI_"]
    return f"Of the {len(has_body)} functions of MPI-5.0, {sum(has_body)} work"


def of_algorithms(prefix):
    program = prefix / "bin/tern_coll"
    try:
        done = subprocess.run([program, "list"], text=True, stdout=subprocess.PIPE, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise LookupError(f"{program} list: {error}: ./quickstart build, or --prefix DIR") from error
    rows = [line for line in done.stdout.splitlines()[1:] if line.strip()]
    flat = sum(row.split()[1].startswith("flat") for row in rows)
    plans = sum("a plan" in row for row in rows)
    return (f"{len(rows)} algorithms: {len(rows) - flat - plans} schedules, proved at every number of ranks to 64, {plans} that "
            f"follow a plan, checked with each plan, and {flat} in shared memory, tested")


def table_of_suite(suite):
    """A table of runs of the last full run that did not pass, or passed with options, by reason."""
    words = {"fails": "fail", "unsteady": "failed, and pass at other times", "with": "pass with", "skip": "not run"}
    rows = re.findall(r"^(fails|unsteady|with|skip) (\d+) (.*)$", recorded().get(suite, ""), re.M)
    rows = sorted(rows, key=lambda row: list(words).index(row[0]))
    lines = [f"| {number} | {words[kind]} | {reason} |" for kind, number, reason in rows]
    head = f"{value(suite, 'source')}, at up to {value(suite, 'ranks_at_most')} ranks: {of_suite(suite)}. The others:"
    return "\n".join(["", head, "", "| runs | | reason |", "|---:|---|---|", *lines, ""])


FIGURES = {
    "mpich": lambda options: of_suite("mpich"),
    "mpi4py": lambda options: of_suite("mpi4py"),
    "functions": lambda options: of_functions(),
    "algorithms": lambda options: of_algorithms(options.prefix),
    "mpich_table": lambda options: table_of_suite("mpich"),
    "mpi4py_table": lambda options: table_of_suite("mpi4py"),
    "romio_table": lambda options: table_of_suite("romio"),
}
EVERYONE_READS = ("mpich", "mpi4py", "functions", "algorithms")  # shown in README.md


class Page:
    """A page, with figures between marks."""

    def __init__(self, path, options):
        self.path, self.name = path, path.name
        self.text = path.read_text()
        self.shown = [(found[2], found[3]) for found in MARKED.finditer(self.text)]
        unknown = [name for name, _ in self.shown if name not in FIGURES]
        if unknown:
            raise LookupError(f"{self.name}: no figure is called {unknown[0]}: {', '.join(FIGURES)}")
        self.wanted = {name: FIGURES[name](options) for name, _ in self.shown}

    def differ(self, name, text):
        return text.split() != self.wanted[name].split()

    def write(self):
        """Replaces only different figures, to keep line breaks."""
        count = sum(self.differ(name, text) for name, text in self.shown)
        self.path.write_text(MARKED.sub(
            lambda found: found[1] + self.wanted[found[2]] + found[4] if self.differ(found[2], found[3]) else found[0],
            self.text))
        print(f"{self.name}: {len(self.shown)} figures, {count} of them written anew")

    def complaints(self):
        """Prints a verdict on each figure. Returns the numbers of passes and failures."""
        passed, failed = 0, 0
        for name, text in self.shown:
            if self.differ(name, text):
                failed += 1
                print(f"FAIL {self.name} says of {name}: {' '.join(text.split())[:200]}; now it is: "
                      f"{' '.join(self.wanted[name].split())[:200]}; tests/conformance/run figures --write")
            else:
                passed += 1
                print(f"PASS {self.name} shows the figure {name}")
        names = {name for name, _ in self.shown}
        for name in EVERYONE_READS if self.name == "README.md" else ():
            if name not in names:
                failed += 1
                print(f"FAIL {self.name} has no figure {name}: <!-- figures: {name} --> ... <!-- end -->")
        return passed, failed


def main(options):
    if options.check == options.write:
        print("tests/conformance/run: figures wants --check or --write", file=sys.stderr)
        return 2
    try:
        pages = [Page(path, options) for path in options.page or [TOP / name for name in PAGES]]
    except (LookupError, OSError) as error:
        print(f"tests/conformance/run: {error}", file=sys.stderr)
        return 2
    if options.write:
        for page in pages:
            page.write()
        return 0
    counts = [page.complaints() for page in pages]
    passed, failed = (sum(column) for column in zip(*counts))
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0
