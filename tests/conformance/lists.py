# SPDX-License-Identifier: Apache-2.0
"""The lists of MPICH's test/mpi: programs, numbers of ranks, and judgement of the output.

A line of a list is `program ranks key=value...`, or the name of a folder with its own list. Some programs also run on
random datatypes: a file has a line for each program, and this module makes the runs.
"""
import re
from dataclasses import dataclass, field

RANKS = 2  # the default of a line
SECONDS = 180
SIZES_BOTH = ("pt2pt", "part")  # programs with two counts
TYPES = ("MPI_INT", "MPI_INT:4+MPI_DOUBLE:8")
FOLDERS = {"error": "errors", "impl": "mpich", "ckpoint": "ckpoint"}  # names between two @ in a list


@dataclass
class Run:
    """One line of a list."""
    folder: str
    program: str
    ranks: int = RANKS
    arguments: list = field(default_factory=list)
    environment: dict = field(default_factory=dict)
    seconds: float = SECONDS
    gigabytes: float = 0
    result: str = "TestNormal"
    needs: list = field(default_factory=list)  # kinds of GPU

    @property
    def name(self):
        """The name in MPICH's list and in the list of expected failures."""
        variables = [f"{key}={value}" for key, value in self.environment.items()]
        return " ".join([f"{self.folder}/{self.program}", str(self.ranks), *self.arguments, *variables])


def lines_of(file):
    for line in file.read_text(errors="replace").splitlines():
        line = re.sub(r"@(\w+?)dir@", lambda found: FOLDERS.get(found[1], found[1]), line)
        line = re.sub(r"@\w+@", "", line)  # a mark for configure
        words = re.sub(r"#.*", "", line).split()
        if words and not words[0].startswith("!"):
            yield words


def list_in(folder):
    """Returns the list of a folder. configure's input has priority over an older configure's output."""
    return next((folder / name for name in ("testlist.in", "testlist") if (folder / name).is_file()), None)


def read(top, folder=""):
    here = top / folder
    file = list_in(here)
    for words in lines_of(file) if file else ():
        below = f"{folder}/{words[0]}" if folder else words[0]
        if (here / words[0]).is_dir():
            yield from read(top, below)
        elif len(words) > 1 and folder:
            yield run_of(folder, words)


def run_of(folder, words):
    path, _, program = words[0].rpartition("/")
    run = Run(f"{folder}/{path}" if path else folder, program)
    if len(words) > 1 and words[1].isdigit():
        run.ranks = int(words[1])
    for word in words[2:]:
        key, _, value = word.partition("=")
        if key == "arg":
            run.arguments.append(value)
        elif key == "env":
            run.environment.update([value.partition("=")[::2]])
        elif key == "timeLimit" and value.isdigit():
            run.seconds = float(value)
        elif key == "mem":
            run.gigabytes = float(value)
        elif key == "resultTest":
            run.result = value
        elif key == "hasgpu":
            run.needs.append(value)
    return run


def read_random_types(file):
    """Runs on random datatypes: each count with each type, with a new seed per run."""
    seed = 0
    for line in file.read_text().splitlines() if file.is_file() else ():
        if not line or line.startswith("#"):
            continue
        path, given, counts, passed_on, ranks, least, most = (line.split(":") + [""] * 7)[:7]
        folder, _, program = path.rpartition("/")
        least, most = int(least), int(most or least)
        for kind in TYPES:
            before, size = None, most
            for count in map(int, counts.split()):
                if before is not None:  # fewer objects of a larger size
                    size = min(max(size * before // count, least), most)
                before = count
                both = [[f"-sendcnt={count}", f"-recvcnt={received}"] for received in (count, 2 * count)]
                for words in both if folder in SIZES_BOTH else [[f"-count={count}"]]:
                    seed += 1
                    words = [f"-type={kind}", *words, f"-seed={seed}", f"-testsize={size}", *given.split()]
                    yield run_of(folder, [program, ranks, *("arg=" + word for word in words), *passed_on.split()])


class Makefiles:
    """Sources and preprocessor definitions of each program in Makefile.am."""

    def __init__(self, top):
        self.top = top
        self.known = {}

    def folder(self, folder):
        if folder not in self.known:
            file = self.top / folder / "Makefile.am"
            text = file.read_text(errors="replace") if file.is_file() else ""
            text = re.sub(r"\\\n", " ", text)
            self.known[folder] = (dict(re.findall(r"^(\w+)\s*=[ \t]*(.*)$", text, re.M)), "Makefile_threads.mtest" in text)
        return self.known[folder]

    def sources(self, run):
        said, _ = self.folder(run.folder)
        names = said.get(run.program + "_SOURCES", run.program + ".c").split()
        return [self.top / run.folder / name for name in names if not name.endswith(".h")]

    def flags(self, run):
        said, threads = self.folder(run.folder)
        words = said.get(run.program + "_CPPFLAGS", "").split()
        return [word for word in words if word.startswith("-D")] + (["-DMTEST_USE_THREAD"] if threads else [])

    def uses_threads(self, run):
        return self.folder(run.folder)[1]
