# SPDX-License-Identifier: Apache-2.0
"""mpi4py's tests: builds mpi4py from sources in a virtual environment, and runs the tests on 1, 2 and 4 ranks."""
import collections
import json
import os
import re
import shutil
import subprocess
import sys
import uuid
from pathlib import Path

RANKS = (1, 2, 4)
SECONDS = 1800  # limit for all tests on one number of ranks
TIMED_OUT = 124  # mpirun --timeout ends with this code
PATIENCE = 60  # seconds for mpirun to end a job
WORST = ("failed", "began", "passed", "skipped")  # the first of these wins among the ranks


class Suite:
    NAME = "the unpacked sources of mpi4py"

    def __init__(self, options, verdicts, mpi):
        self.options, self.verdicts, self.mpi = options, verdicts, mpi
        self.build = options.build / "mpi4py"
        self.python = self.build / "venv/bin/python"
        self.env = dict(os.environ, PATH=f"{options.prefix}/bin:{os.environ['PATH']}", OMP_NUM_THREADS="1",
                        MPICC=str(options.prefix / "bin/mpicc"), PIP_DISABLE_PIP_VERSION_CHECK="1",
                        CFLAGS="-O0")  # faster compilation
        folders = [f"{options.prefix}/lib", os.environ.get("LD_LIBRARY_PATH")]  # before the run path of the build
        self.env["LD_LIBRARY_PATH"] = ":".join(filter(None, folders))

    def missing(self):
        for name in ("test/main.py", "src/mpi4py/MPI.pyx"):
            if not (self.options.sources / name).is_file():
                return f"{self.options.sources} is not mpi4py's source: it has no {name}"
        return None

    def version(self):
        file = self.options.sources / "src/mpi4py/__init__.py"
        found = re.search(r"^__version__ = \"(.*)\"", file.read_text(), re.M)
        return "mpi4py " + (found[1] if found else "")

    def step(self, what, *command):
        done = subprocess.run(list(map(str, command)), text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env=self.env)
        if done.returncode:
            print(done.stdout[-4000:], file=sys.stderr)
            print(f"tests/conformance/run: cannot {what}; pip needs python3-venv, a compiler, and the Python package index "
                  "or a copy of it", file=sys.stderr)
            sys.exit(2)

    def make(self):
        """Builds once for these sources and this Tern, in a copy, because the build writes next to the sources."""
        made_of = self.build / "made_of"
        wanted = f"{self.options.sources} {self.version()} {self.options.prefix}\n"
        if self.python.exists() and made_of.is_file() and made_of.read_text() == wanted:
            return
        shutil.rmtree(self.build, ignore_errors=True)
        self.build.mkdir(parents=True)
        shutil.copytree(self.options.sources, self.build / "source", ignore=self.built)
        self.step("make a virtual environment", sys.executable, "-m", "venv", self.build / "venv")
        self.step("install NumPy", self.python, "-m", "pip", "install", "--quiet", "numpy")
        self.step("build mpi4py", self.python, "-m", "pip", "install", "--quiet", "--no-deps", self.build / "source")
        made_of.write_text(wanted)

    def built(self, folder, names):
        """Objects of an earlier build next to the sources may belong to another Tern."""
        return {"build"} & set(names) if Path(folder) == self.options.sources else set()

    def job(self, ranks):
        """Runs all tests on `ranks` ranks. Returns the records of each rank, a complaint about the job, and the output."""
        records = self.build / f"records.{ranks}"
        shutil.rmtree(records, ignore_errors=True)
        records.mkdir()
        here = Path(__file__).resolve().parent
        limit = SECONDS * self.options.timeout_scale
        command = [self.options.prefix / "bin/mpirun", "--quiet", "--timeout", f"{limit:.0f}", "-n", ranks, self.python, "-B",
                   "-W", "ignore", here / "mpi4py_rank.py", self.build / "source/test/main.py", "-v",
                   *[word for pattern in self.options.pattern for word in ("-k", pattern)]]
        skip = [text for group in self.verdicts.expected.groups if group.kind == "skip" for text, _ in group.patterns]
        skip += self.passed_before(ranks)
        env = dict(self.env, CONFORMANCE_RECORDS=str(records), CONFORMANCE_SKIP="\n".join(skip),
                   MPI_TEST_MARK=uuid.uuid4().hex)
        output = self.build / f"output.{ranks}"
        with open(output, "wb+") as file:
            child = subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=file,
                                     stderr=subprocess.STDOUT, env=env,
                                     cwd=self.build, start_new_session=True)
            in_time, _ = self.mpi.ended(child, limit + PATIENCE)
            said = self.mpi.read_all(file)
        self.mpi.strays(env["MPI_TEST_MARK"])
        wrong = None if in_time and child.returncode != TIMED_OUT else f"still running after {limit:.0f} s"
        return [file.read_text() for file in records.iterdir()], wrong, child.returncode, said

    def passed_before(self, ranks):
        """Tests on `ranks` ranks that need no second run."""
        names = [name for name in self.verdicts.before if name.endswith(f" {ranks}") and self.verdicts.passed_before(name)]
        return [name.rpartition(" ")[0] for name in names if self.options.wants(name)]

    def run_all(self):
        self.make()
        for ranks in RANKS:
            if ranks <= self.options.ranks_at_most:
                self.tests_of(ranks)

    def tests_of(self, ranks):
        texts, wrong, code, said = self.job(ranks)
        outcomes = collections.defaultdict(dict)  # outcomes of a test by rank: the worst of all parts
        details = {}
        for rank, text in enumerate(texts):
            for test, outcome, detail in map(json.loads, text.splitlines()):
                before = outcomes[test].get(rank, "began")
                if before == "began" or outcome == "failed":
                    outcomes[test][rank] = outcome
                if detail:
                    details[test, outcome] = detail
        failed = False
        for test in self.passed_before(ranks):
            outcomes.pop(test, None)
            self.verdicts.ran(f"{test} {ranks}", None)
        for test in sorted(outcomes):
            worst = min(outcomes[test].values(), key=WORST.index)
            name = f"{test} {ranks}"
            if worst == "skipped":
                group = self.verdicts.expected.of(name, ("skip",))
                reason = "mpi4py: " + details.get((test, worst), "no reason").splitlines()[0]
                self.verdicts.skipped(name, group.reason if group else reason)
                continue
            complaint = None if worst == "passed" else details.get((test, worst), "the job ended in it").strip()
            failed = failed or bool(complaint)
            self.verdicts.ran(name, complaint and complaint.splitlines()[0][:200], complaint or "")
        if wrong is None and code and not failed:
            wrong = f"exit {code}, though no test failed"
        if not outcomes and not wrong and not self.options.pattern:
            wrong = "no test began"
        if wrong:
            self.verdicts.ran(f"job {ranks}", wrong, said)
