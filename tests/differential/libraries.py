# SPDX-License-Identifier: Apache-2.0
"""The compared libraries: compiles and starts the driver for each library, and reads the driver's files."""
import concurrent.futures
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
HERE = TOP / "tests/differential"
sys.dont_write_bytecode = True
sys.path.append(str(TOP / "tests"))
from runner import processes  # noqa: E402

OPTIMISED = ("basics.cc", "buffer.cc", "step.cc")  # files with most of the driver's run time; the rest compiles faster without optimization
ENVIRONMENT = {"openmpi": {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}}
ARGUMENTS = {"openmpi": ["--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"]}
LINE = re.compile(r"^(\d+)\.(\w+) (?:([0-9a-f]{16}) (\w+)(?: ~ (.*))?|- (.*))$")


running = set()  # process groups


def end_all(*_):
    for group in list(running):
        try:
            os.killpg(group, signal.SIGKILL)
        except ProcessLookupError:
            pass
    os._exit(130)


class Seen:
    """Records of one library about one program: by operation, then by rank."""

    def __init__(self):
        self.operations = {}  # operation: {rank: (hash, name, real values) or None if skipped}
        self.begun, self.ended = set(), set()
        self.end = None  # a hang or a crash, in words

    def add(self, rank, found):
        operation, hashed, name, reals = found[2], found[3], found[4], found[5]
        self.operations.setdefault(operation, {})[rank] = (hashed, name, reals or "") if hashed else None


class Library:
    def __init__(self, name, prefix, build):
        self.name, self.prefix = name, Path(prefix).resolve()
        self.folder = Path(build).resolve() / name
        self.program = self.folder / "driver"

    def missing(self):
        return next((str(self.prefix / path) for path in ("bin/mpicxx", "bin/mpirun") if not (self.prefix / path).exists()), None)

    def compile(self, pool):
        """Returns the compiler's complaint, or None. Recompiles only outdated objects."""
        self.folder.mkdir(parents=True, exist_ok=True)
        sources = sorted(HERE.glob("*.cc"))
        objects = [self.folder / (source.stem + ".o") for source in sources]
        compiler = [str(self.prefix / "bin/mpicxx"), "-std=c++20", "-g1", "-Wall", "-Wextra", "-pthread"]
        jobs = []
        for source, made in zip(sources, objects):
            if not self.is_new(source, made):
                level = "-O1" if source.name in OPTIMISED else "-O0"
                jobs.append(pool.submit(self.do, [*compiler, level, "-MMD", "-c", str(source), "-o", str(made)]))
        failed = next((job.result() for job in jobs if job.result()), None)
        if not failed and (jobs or not self.program.exists()):
            failed = self.do([*compiler, *map(str, objects), "-o", str(self.program)])
        return failed

    def is_new(self, source, made):
        listed = made.with_suffix(".d")
        if not made.exists() or not listed.exists():
            return False
        given = [Path(word) for word in listed.read_text().replace("\\\n", " ").split()[1:]]
        given += [source, Path(__file__), self.prefix / "include/mpi.h"]
        return all(path.exists() and path.stat().st_mtime <= made.stat().st_mtime for path in given)

    @staticmethod
    def do(command):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return None if done.returncode == 0 else shlex.join(command) + "\n" + done.stdout

    def command(self, ranks, first, last, out, options=()):
        return [str(self.prefix / "bin/mpirun"), "-n", str(ranks), *ARGUMENTS.get(self.name, ()), str(self.program), str(first),
                str(last), str(out), *options]

    def said(self, ranks, first, last, out, options=()):
        """The command for a reader's shell."""
        words = [f"{key}={value}" for key, value in ENVIRONMENT.get(self.name, {}).items()]
        return " ".join(words + [shlex.join(self.command(ranks, first, last, out, options))])

    def start(self, ranks, first, last, out, options, limit):
        """One run. Returns None or a description of a bad end, and CPU seconds."""
        mark = uuid.uuid4().hex
        env = dict(os.environ, MPI_TEST_MARK=mark, **ENVIRONMENT.get(self.name, {}))
        with tempfile.TemporaryFile() as words:
            child = subprocess.Popen(self.command(ranks, first, last, out, options), stdin=subprocess.DEVNULL, stdout=words,
                                     stderr=words, env=env, cwd=self.folder, start_new_session=True)
            running.add(child.pid)
            in_time, worked = ended(child, limit, Path(out).parent)
            running.discard(child.pid)
            text = processes.read_all(words).strip()
        left = processes.strays(mark)
        if not in_time:
            return f"hang: no operation has ended for {limit:.0f} s", worked
        if child.returncode != 0:
            return f"crash: status {child.returncode}\n" + "\n".join(text.splitlines()[:30]), worked
        return (f"crash: left running: {', '.join(left)}" if left else None), worked

    def run(self, ranks, first, last, options, limit):
        """Runs all programs of a range. Continues after a program that hangs or crashes. Returns {seed: Seen}, seconds."""
        seen, worked = {}, 0.0
        while first <= last:
            with tempfile.TemporaryDirectory(dir=self.folder) as folder:
                end, used = self.start(ranks, first, last, f"{folder}/out", options, limit)
                found = read(Path(folder), ranks)
            worked += used
            if end is None:
                seen.update(found)
                break
            whole = [seed for seed in range(first, last + 1) if seed in found and len(found[seed].ended) == ranks]
            for seed in whole:
                seen[seed] = found[seed]
            bad = max(whole, default=first - 1) + 1
            if bad > last:  # the end of the job
                seen[last].end = end
                break
            seen[bad] = found.get(bad, Seen())
            seen[bad].end = end
            first = bad + 1
        return seen, worked

    def words(self, ranks, seed, options, limit):
        """Verbose output of one program: {rank: lines}, and the end."""
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            end, _ = self.start(ranks, seed, seed, f"{folder}/out", [*options, "--verbose"], limit)
            files = {rank: Path(folder, f"out.{rank}") for rank in range(ranks)}
            return {rank: file.read_text(errors="replace").splitlines() if file.exists() else [] for rank, file in files.items()}, end


def ended(child, limit, folder):
    """Waits while the ranks' files grow. Returns true if the job ended by itself, and CPU seconds."""
    sizes, since = None, time.monotonic()
    while not processes.went(child, 1.0):
        now = [file.stat().st_size for file in sorted(folder.glob("out.*"))]
        if now != sizes:
            sizes, since = now, time.monotonic()
        elif time.monotonic() - since > limit:
            return False, processes.ended(child, 0)[1]
    return True, child.worked


def read(folder, ranks):
    seen = {}
    for rank in range(ranks):
        file = folder / f"out.{rank}"
        for line in file.read_text(errors="replace").splitlines() if file.exists() else ():
            word = line.split(" ", 1)
            if word[-1] in ("begins", "ends"):
                one = seen.setdefault(int(word[0]), Seen())
                (one.begun if word[-1] == "begins" else one.ended).add(rank)
                continue
            found = LINE.match(line)
            if found:
                seen.setdefault(int(found[1]), Seen()).add(rank, (None, None, *found.groups()[1:]))
    return seen


def compile_all(libraries):
    """Returns {name: complaint} of libraries with compile errors."""
    with concurrent.futures.ThreadPoolExecutor(min(2, os.cpu_count() or 1)) as pool, \
            concurrent.futures.ThreadPoolExecutor(len(libraries) or 1) as each:
        done = {library.name: each.submit(library.compile, pool) for library in libraries}
        return {name: job.result() for name, job in done.items() if job.result()}
