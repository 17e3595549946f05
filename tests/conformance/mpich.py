# SPDX-License-Identifier: Apache-2.0
"""MPICH's test/mpi: compiles the programs with Tern's mpicc, without MPICH's configure, and runs MPICH's lists."""
import concurrent.futures
import contextlib
import os
import re
import shlex
import subprocess
import tempfile
import time
import uuid

import lists
import mpich_fortran

# Results of MPICH's configure on Linux, in strict mode: no tests of extensions.
CONFIGURED = """
#define HAVE_STRING_H 1
#define HAVE_STRINGS_H 1
#define HAVE_STDLIB_H 1
#define HAVE_STDINT_H 1
#define HAVE_STDARG_H 1
#define HAVE_UNISTD_H 1
#define HAVE_MEMORY_H 1
#define HAVE_SYS_TIME_H 1
#define HAVE_SYS_RESOURCE_H 1
#define HAVE_GETRUSAGE 1
#define HAVE_LONG_DOUBLE 1
#define HAVE_LONG_LONG 1
#define HAVE_LONG_LONG_INT 1
#define HAVE_ATOMIC 1
#define HAVE__BOOL 1
#define HAVE_FLOAT__COMPLEX 1
#define HAVE_DOUBLE__COMPLEX 1
#define HAVE_LONG_DOUBLE__COMPLEX 1
#define USE_LONG_DOUBLE_COMPLEX 1
#define HAVE_MPI_INIT_THREAD 1
#define HAVE_MPI_WIN_CREATE 1
#define HAVE_MPI_SPAWN 1
#define HAVE_MPI_IO 1
#define HAVE_PTHREAD_BARRIER_INIT 1
#define HAVE_H_ADDR_LIST 1
#define SIZEOF_VOID_P 8
#define POINTERINT_t long
#define THREAD_PACKAGE_NAME THREAD_PACKAGE_POSIX
#define USE_STRICT_MPI 1
#define ENABLE_STRICTMPI 1
"""
# -fpermissive: GCC 14 rejects old C in old suites.
FLAGS = ["-std=gnu11", "-O0", "-g0", "-w", "-fpermissive", "-DDTP_MPI_DATATYPE=MPI_INT"]
FLAGS += [f"-DMPIO_{name}=MPI_{name}" for name in ("Request", "Wait", "Test")]  # ROMIO's names before MPI-3
COMMON = ["util/mtest.c", "util/mtest_common.c", "util/dtypes.c"]
MAIN = "util/run_mpitests.c"  # for programs without main; not in older suites
# dtpools of MPICH 4.0 calls functions removed from MPI.
RENAMED = ["-DMPI_Type_hvector=MPI_Type_create_hvector", "-DMPI_Type_hindexed=MPI_Type_create_hindexed"]
EITHER = ["util/mtest_single.c", "util/mtest_thread.c"]  # alternatives
EXPECTED_SECONDS = 30  # the limit for a `fails` group: some runs hang
TIMED_OUT = 124  # mpirun --timeout ends with this code
PATIENCE = 60  # seconds for mpirun to end a job
WRITERS = ("io", "f77/io", "f90/io", "f08/io", "errors/io", "romio")  # folders whose programs share names of files: each run gets an empty work folder
WARNINGS = re.compile(r"^(?:MPICH: |WARNING: |(?:Abort.*)?application called MPI_Abort)")


def judge(result, code, output):
    """Judges output and exit code by the list. Returns None or the difference."""
    lines = output.splitlines()
    clean = any(re.fullmatch(r"\s*No [Ee]rrors\s*", line) for line in lines)
    skipped = any(re.fullmatch(r"\s*Test Skipped\s*", line) for line in lines)
    stray = [line for line in lines if not re.fullmatch(r"\s*(?:No [Ee]rrors|Test Skipped|)\s*", line)]
    if result == "TestAllowWarnings":
        stray = [line for line in stray if not WARNINGS.match(line)]
    if result in ("TestStatus", "TestErrFatal"):
        return None if code else "exit 0, and an error was expected"
    if result == "TestBench":
        return None if not code else f"exit {code}"
    if not clean and not skipped:
        return f"exit {code}, no line says No Errors"
    if result == "TestStatusNoErrors":
        return None if code else "exit 0, and another was expected"
    if code:
        return f"exit {code}"
    return f"prints more than No Errors: {stray[0].strip()[:100]}" if stray else None


class Suite:
    NAME = "MPICH's test/mpi"
    FOLDER, MARK = "test/mpi", "util/mtest.c"  # the suite's folder in MPICH's sources, and a file in the folder

    def __init__(self, options, verdicts, mpi):
        self.options, self.verdicts, self.mpi = options, verdicts, mpi
        self.top = options.sources
        if not (self.top / self.MARK).is_file() and (self.top / self.FOLDER / self.MARK).is_file():
            self.top = self.top / self.FOLDER
        self.build = options.build / options.suite
        self.make = lists.Makefiles(self.top)
        self.env = dict(os.environ, PATH=f"{options.prefix}/bin:{os.environ['PATH']}")

    def missing(self):
        """Returns a complaint about the sources, or None."""
        for name in (*COMMON, *EITHER, "dtpools/include/dtpools.h"):
            if not (self.top / name).is_file():
                return f"{self.top} is not MPICH's test/mpi: it has no {name}"
        return None if lists.list_in(self.top) else f"{self.top} has no testlist"

    def version(self):
        for file in (self.top / "version.m4", *(parent / "maint/version.m4" for parent in self.top.parents)):
            found = re.search(r"MPICH_VERSION_m4\],\s*\[([^\]]*)\]", file.read_text()) if file.is_file() else None
            if found:
                return "MPICH " + found[1]
        return "MPICH"

    def compiler(self, *words):
        command = [str(self.options.prefix / "bin/mpicc"), *FLAGS, f"-I{self.build}/config/include", f"-I{self.top}/include",
                   f"-I{self.top}/dtpools/include", *map(str, words)]
        done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=self.env)
        return None if done.returncode == 0 else shlex.join(command) + "\n" + done.stdout

    def configure(self):
        include = self.build / "config/include"
        include.mkdir(parents=True, exist_ok=True)
        for file, text in ((include / "mpitestconf.h", CONFIGURED), (include / "mtest_mpix.h", ""),
                           (include.parent / "dtpoolsconf.h", CONFIGURED)):
            if not file.is_file() or file.read_text() != text:
                file.write_text(text)

        self.with_fortran = (self.options.prefix / "bin/mpifort").exists() and all(
            (self.top / folder).is_dir() for folder in mpich_fortran.FOLDERS)
        if self.with_fortran:
            self.fortran_top = mpich_fortran.prepare(self.top, self.build, CONFIGURED)
            self.fortran_make = lists.Makefiles(self.fortran_top)

    def newer(self, program, sources):
        parts = [*sources, self.options.prefix / "include/mpi.h", self.options.prefix / "bin/mpicc",
                 self.build / "config/include/mpitestconf.h"]
        return program.is_file() and program.stat().st_mtime > max(part.stat().st_mtime for part in parts)

    def common(self):
        objects = self.build / "config/objects"
        objects.mkdir(parents=True, exist_ok=True)
        common = COMMON + [MAIN] * (self.top / MAIN).is_file()
        sources = [self.top / name for name in common + EITHER] + sorted((self.top / "dtpools/src").glob("*.c"))
        stale = [source for source in sources if not self.newer(objects / (source.stem + ".o"), [source])]
        with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool:
            found = pool.map(lambda source: self.compiler(*RENAMED, "-c", source, "-o", objects / (source.stem + ".o")), stale)
            complaint = next(filter(None, found), None)
        self.archive = objects / "common.a"
        if stale and not complaint:
            members = [objects / (source.stem + ".o") for source in sources if source.parent.name != "util"]
            members += [objects / (source.rpartition("/")[2][:-2] + ".o") for source in common]
            self.archive.unlink(missing_ok=True)
            subprocess.run(["ar", "rcs", self.archive, *members], check=True)
        return complaint

    def program(self, run):
        return self.build / run.folder / run.program

    def compile(self, run):
        """Returns None or a complaint. run_mpitests calls programs without main as functions."""
        program = self.program(run)
        if mpich_fortran.language(run):
            return mpich_fortran.compile_run(self, run, program)
        sources = self.make.sources(run)
        for source in sources:
            if not source.is_file():
                return f"has no source {source.relative_to(self.top)}"
        if self.newer(program, [*sources, self.archive]):
            return None
        return self.compile_c(run, sources, program)

    def compile_c(self, run, sources, program):
        program.parent.mkdir(parents=True, exist_ok=True)
        either = EITHER[self.make.uses_threads(run)].rpartition("/")[2][:-2] + ".o"
        return self.compiler(f"-I{sources[0].parent}", *self.make.flags(run), *sources, self.archive.parent / either,
                             self.archive, "-lm", "-pthread", "-o", program)

    def runs(self):
        config = self.top / "maint/dtp-test-config.txt"
        runs = [*lists.read(self.top), *lists.read_random_types(config)]
        if not self.with_fortran:
            return runs
        found = [run for run in runs if not mpich_fortran.language(run) or run.folder.startswith("errors/")]
        for folder in mpich_fortran.FOLDERS:
            found += lists.read(self.fortran_top, folder)
        return found

    def skip(self, run):
        """The reason to skip the run, or None."""
        group = self.verdicts.expected.of(run.name, ("skip",))
        if group:
            return group.reason
        if run.ranks > self.options.ranks_at_most:
            return f"more than {self.options.ranks_at_most} ranks"
        if run.gigabytes > self.options.memory:
            return f"takes more than {self.options.memory:g} GB of memory, says its list"
        if mpich_fortran.language(run) and not self.with_fortran:
            return "this Tern was built without a Fortran compiler"
        return "needs a GPU" if run.needs else None

    def work_folder(self, run):
        if run.folder in WRITERS:
            return tempfile.TemporaryDirectory(dir=self.build, prefix="work.")
        return contextlib.nullcontext(self.program(run).parent)

    def judge(self, run, code, output):
        return judge(run.result, code, output)

    def one(self, run, built):
        complaint = built.result()
        if complaint:
            return self.verdicts.ran(run.name, "does not compile", complaint)
        limit = run.seconds * self.options.timeout_scale
        if self.verdicts.expected.of(run.name, ("fails",)):
            limit = min(limit, EXPECTED_SECONDS)
        command = [str(self.options.prefix / "bin/mpirun"), "--quiet", "--timeout", f"{limit:.0f}", "-n", str(run.ranks),
                   *self.verdicts.expected.words(run.name), str(self.program(run)), *run.arguments]
        env = dict(self.env, MPI_TEST_MARK=uuid.uuid4().hex, **run.environment)
        start = time.monotonic()
        with tempfile.TemporaryFile() as file, self.work_folder(run) as folder:
            child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT, env=env,
                                     cwd=folder, start_new_session=True)
            in_time, _ = self.mpi.ended(child, limit + PATIENCE)
            output = self.mpi.read_all(file)
        complaint = self.judge(run, child.returncode, output) if in_time else "mpirun --timeout does not end it"
        if complaint and child.returncode == TIMED_OUT:
            complaint = f"still running after {limit:.0f} s"
        seconds = time.monotonic() - start
        left = self.mpi.strays(env["MPI_TEST_MARK"])
        if left:
            complaint = "; ".join(filter(None, [complaint, "left running: " + ", ".join(left)]))
        self.verdicts.ran(run.name, complaint, f"{output}\ncommand: {shlex.join(command)}", seconds)

    def run_all(self):
        """Compiles ahead while programs run."""
        self.configure()
        complaint = self.common()
        if complaint:
            raise SystemExit("tests/conformance/run: what MPICH's programs share does not compile:\n" + complaint)
        wanted = [run for run in self.runs() if self.options.wants(run.name)]
        to_run = []
        for run in wanted:
            reason = self.skip(run)
            if reason:
                self.verdicts.skipped(run.name, reason)
            elif self.verdicts.passed_before(run.name):
                self.verdicts.ran(run.name, None)
            else:
                to_run.append(run)
        with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool, \
                concurrent.futures.ThreadPoolExecutor(self.options.jobs) as lanes:
            built = {}
            for run in to_run:  # a program may have several runs
                key = self.program(run)
                built[key] = built.get(key) or pool.submit(self.compile, run)
            try:
                for done in [lanes.submit(self.one, run, built[self.program(run)]) for run in to_run]:
                    done.result()
            except BaseException:
                pool.shutdown(cancel_futures=True)
                lanes.shutdown(cancel_futures=True)
                raise
