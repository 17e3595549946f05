# SPDX-License-Identifier: Apache-2.0
"""Libraries above MPI-IO: builds each with Tern's mpicc, and runs its parallel tests.

A library is a row: its sources, commands to build, and a function with the runs. `main` is the whole program.
"""
import argparse
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable

import expected
from runner import processes

HERE = Path(__file__).resolve().parent
TOP = HERE.parents[1]
SECONDS = 600  # the limit of a run


@dataclass
class Run:
    """A command in a folder of the build."""
    name: str
    command: list
    folder: Path
    seconds: float = SECONDS


@dataclass
class Library:
    name: str
    sources: str  # pattern of the folder's name
    mark: str  # a file in the folder
    steps: Callable  # commands to build
    runs: Callable
    needs: tuple = ()  # names of libraries to build before
    environment: dict = field(default_factory=dict)


class Place:
    """Folders and commands of one library."""

    def __init__(self, library, options):
        self.options, self.prefix, self.jobs = options, options.prefix, options.jobs
        self.all = options.build
        self.top = self.all / f"build-{library.name}"
        self.build = self.top / "build"
        self.source = self.source_of(library)
        self.env = dict(os.environ, PATH=f"{self.prefix}/bin:{os.environ['PATH']}", OMP_NUM_THREADS="1",
                        PIP_DISABLE_PIP_VERSION_CHECK="1", **library.environment)
        # Libraries keep the run path of the Tern that built them.
        folders = [f"{self.prefix}/lib", *(str(self.install(name) / "lib") for name in library.needs)]
        self.env["LD_LIBRARY_PATH"] = ":".join(filter(None, [*folders, os.environ.get("LD_LIBRARY_PATH")]))

    def source_of(self, library):
        found = [folder for folder in sorted(self.options.sources.glob(library.sources)) if (folder / library.mark).is_file()]
        return found[-1] if found else None

    def install(self, name):
        return self.all / f"build-{name}/install"

    def mpirun(self, ranks, *words):
        return [str(self.prefix / "bin/mpirun"), "--quiet", "-n", str(ranks), *map(str, words)]

    def make(self, *words):
        return ["make", f"-j{self.jobs}", *map(str, words)]

    def rows(self, folder, rows):
        """Runs of programs: a row has the program, numbers of ranks, and arguments."""
        for program, counts, *words in rows:
            for ranks in counts:
                name = " ".join([program, str(ranks), *words])
                yield Run(name, self.mpirun(ranks, f"./{program}", *words), self.build / folder)


def configured(place, *words, source=None):
    """configure out of the source tree. -O1: tests of a library, not of its speed."""
    return [str((source or place.source) / "configure"), f"--prefix={place.top}/install", "CC=mpicc", "MPICC=mpicc",
            "CFLAGS=-O1 -g0 -w", *map(str, words)]


# HDF5: programs of testpar. Older versions have fewer.
def has_program(place, name):
    return (place.source / "testpar" / f"{name}.c").is_file()


def hdf5_steps(place):
    yield configured(place, "--enable-parallel", "--enable-subfiling-vfd", "--enable-build-mode=production",
                     "--disable-fortran", "--disable-cxx", "--disable-java", "--disable-tools", "--disable-static")
    for words in (("-C", "src", "install"), ("-C", "hl/src", "install"), ("-C", "test", "libh5test.la")):
        yield place.make(*words)
    yield place.make("-C", "testpar", *(name for name in HDF5_PROGRAMS if has_program(place, name)))


HDF5_ROWS = [(name, (4,)) for name in (
    "t_mpi", "testphdf5", "t_bigio", "t_cache", "t_cache_image", "t_pread", "t_init_term", "t_pmulti_dset",
    "t_select_io_dset", "t_shapesame", "t_filters_parallel", "t_2Gio", "t_vfd", "t_subfiling_vfd")]
HDF5_ROWS += [("testphdf5", (1, 2, 3))]
HDF5_PAIRS = [("t_pflush1", "t_pflush2"), ("t_pshutdown", "t_prestart")]  # the second reads the file of the first
HDF5_PROGRAMS = sorted({row[0] for row in HDF5_ROWS} | {name for pair in HDF5_PAIRS for name in pair})


def hdf5_runs(place):
    yield from place.rows("testpar", [row for row in HDF5_ROWS if has_program(place, row[0])])
    for first, second in HDF5_PAIRS:  # t_pflush1 always ends with an error
        words = " ".join(place.mpirun(4))
        yield Run(f"{first} {second} 4", ["sh", "-c", f"{words} ./{first}; {words} ./{second}"], place.build / "testpar")


# PnetCDF: each test program with MPI-IO, by the library's own targets.
PNETCDF_TARGETS = [("test/C", "ptest4"), ("test/cdf_format", "ptest4"), ("test/header", "ptest2"), ("test/header", "ptest4"),
                   ("test/testcases", "ptest2"), ("test/testcases", "ptest4"), ("test/nonblocking", "ptest2"),
                   ("test/nonblocking", "ptest4"), ("examples/C", "ptest3"), ("examples/C", "ptest4")]
PNETCDF_CHECKS = ["test/C", "test/fandc", "test/nc_test", "test/cdf_format", "test/header", "test/testcases",
                  "test/nonblocking"]  # on one rank
PNETCDF_WHOLE = ("test/C", "test/cdf_format")  # the target's programs depend on each other


def pnetcdf_steps(place):
    copy = place.top / "source"  # autoreconf writes into the sources
    yield ["rm", "-rf", str(copy)]
    yield ["cp", "-r", str(place.source), str(copy)]
    yield ["autoreconf", "-i", str(copy)]
    yield configured(place, "--disable-cxx", "--disable-fortran", "--enable-shared", "--disable-static", source=copy)
    yield place.make()
    yield place.make("install")
    yield place.make("tests")
    yield place.make("-C", "examples/C", "tests")


def pnetcdf_runs(place):
    launch = " ".join(place.mpirun("NP"))
    for folder in PNETCDF_CHECKS:
        yield Run(f"{folder} check 1", ["make", "-k", "check", f"TESTMPIRUN={launch}"], place.build / folder)
    for folder, target in PNETCDF_TARGETS:
        for program in [None] if folder in PNETCDF_WHOLE else programs(place.build / folder):
            words = [f"check_PROGRAMS={program}"] if program else []
            if program == "get_vara":
                words = ["check_PROGRAMS=put_vara get_vara"]  # reads the file of put_vara
            name = f"{folder}/{program}" if program else folder
            yield Run(f"{name} {target[-1]}", ["make", target, *words, f"TESTMPIRUN={launch}"], place.build / folder)


def programs(folder):
    """The makefile's list of test programs."""
    done = subprocess.run(["make", "-s", "--eval", "listed: ; @echo $(check_PROGRAMS)", "listed"], cwd=folder, text=True,
                          stdout=subprocess.PIPE, check=True)
    return done.stdout.split()


# NetCDF-C: parallel programs of three folders, above HDF5 and PnetCDF.
NETCDF_ROWS = {
    "h5_test": [("tst_h_par", (1, 2, 4)), ("tst_h_par_compress", (1, 2, 4))],
    "nc_test4": [("tst_mode", (1,)), ("tst_mpi_parallel", (4,)), ("tst_parallel", (4,)), ("tst_parallel3", (2, 4)),
                 ("tst_parallel4", (1, 2, 4)), ("tst_parallel5", (4,)), ("tst_parallel6", (4,)), ("tst_nc4perf", (4,)),
                 ("tst_simplerw_coll_r", (1, 2, 4)), ("tst_parallel_zlib", (4,)), ("tst_parallel_compress", (1, 4)),
                 ("tst_quantize_par", (4,))],
    "nc_test": [("tst_parallel2", (2,)), ("tst_pnetcdf", (1,)), ("t_nc", (1,)), ("tst_small", (1,)), ("nc_test", (1,))],
}


def netcdf_steps(place):
    includes = " ".join(f"-I{place.install(name)}/include" for name in ("hdf5", "pnetcdf"))
    folders = " ".join(f"-L{place.install(name)}/lib" for name in ("hdf5", "pnetcdf"))
    yield configured(place, f"CPPFLAGS={includes}", f"LDFLAGS={folders}", "--enable-pnetcdf", "--disable-dap",
                     "--disable-nczarr", "--disable-libxml2", "--disable-byterange", "--disable-plugins", "--disable-utilities",
                     "--enable-parallel-tests", "--disable-static")
    yield place.make()
    for folder in NETCDF_ROWS:
        yield place.make("-C", folder, "check", "TESTS=")


def netcdf_runs(place):
    for folder, rows in NETCDF_ROWS.items():
        for run in place.rows(folder, rows):
            run.name = f"{folder}/{run.name}"
            yield run


# h5py above HDF5 and mpi4py, in a virtual environment.
def h5py_steps(place):
    python = place.top / "venv/bin/python"
    pip = [str(python), "-m", "pip", "install", "--quiet"]
    mpi4py = place.source_of(Library("", "mpi4py-*", "src/mpi4py/MPI.pyx", None, None))
    yield [sys.executable, "-m", "venv", str(place.top / "venv")]
    yield [*pip, "numpy", "Cython<4", "packaging", "pkgconfig", "setuptools>=77.0.1", "pytest", "pytest-mpi"]
    yield [*pip, "--no-deps", "--no-cache-dir", str(mpi4py) if mpi4py else "mpi4py", "--no-binary", "mpi4py"]
    yield ["env", "HDF5_MPI=ON", f"HDF5_DIR={place.install('hdf5')}", *pip, "--no-deps", "--no-build-isolation",
           str(place.source)]


def h5py_runs(place):
    python = place.top / "venv/bin/python"
    tests = [str(python), "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--pyargs", "h5py"]
    if os.geteuid() == 0:
        tests += ["-k", "not test_append_permissions"]  # root may write into read-only files
    for ranks in (1, 2, 4):
        yield Run(f"only-mpi {ranks}", place.mpirun(ranks, *tests, "--only-mpi"), place.build)
    yield Run("with-mpi 2", place.mpirun(2, *tests, "--with-mpi"), place.build, 3 * SECONDS)


LIBRARIES = [
    Library("hdf5", "hdf5-*", "testpar/t_mpi.c", hdf5_steps, hdf5_runs),
    Library("pnetcdf", "pnetcdf-*", "test/testcases/Makefile.am", pnetcdf_steps, pnetcdf_runs),
    Library("netcdf", "netcdf-*", "nc_test4/tst_parallel.c", netcdf_steps, netcdf_runs, ("hdf5", "pnetcdf")),
    Library("h5py", "h5py-*", "setup_build.py", h5py_steps, h5py_runs, ("hdf5",),
            {"CC": "mpicc", "MPICC": "mpicc", "CFLAGS": "-O0 -g0"}),
]


def refuse(why):
    print(f"tests/conformance/libraries: {why}", file=sys.stderr)
    sys.exit(2)


def build(library, place):
    """Builds once for these sources and commands. A file of the build folder keeps the output."""
    made_of = place.top / "made_of"
    steps = [list(map(str, step)) for step in library.steps(place)]
    wanted = "\n".join(map(str, [place.source, *steps])) + "\n"
    if made_of.is_file() and made_of.read_text() == wanted:
        return
    place.build.mkdir(parents=True, exist_ok=True)
    made_of.unlink(missing_ok=True)
    log = place.top / "build.log"
    print(f"builds {library.name} in {place.top}", flush=True)
    with open(log, "w") as file:
        for step in steps:
            print("+", *step, file=file, flush=True)
            if subprocess.run(step, cwd=place.build, env=place.env, stdin=subprocess.DEVNULL, stdout=file,
                              stderr=subprocess.STDOUT).returncode:
                refuse(f"{library.name} does not build: {' '.join(step)[:200]}; the end of {log} says why")
    made_of.write_text(wanted)


def test(library, place, verdicts, wants):
    for run in library.runs(place):
        name = f"{library.name}/{run.name}"
        if not wants(name):
            continue
        group = verdicts.expected.of(name, ("skip",))
        if group:
            verdicts.skipped(name, group.reason)
            continue
        limit = run.seconds * place.options.timeout_scale
        done = processes.perform(run.command, place.env, limit, run.folder, merged=True)
        wrong = processes.trouble(done, limit) + ([f"exit {done.code}"] if done.code and done.in_time else [])
        verdicts.ran(name, "; ".join(wrong), f"{done.out}\ncommand: cd {run.folder}; {' '.join(run.command)}", done.seconds)


def arguments(libraries):
    names = ", ".join(library.name for library in libraries)
    parser = argparse.ArgumentParser(description=f"Builds and tests libraries above MPI-IO: {names}.")
    parser.add_argument("--sources", type=Path, required=True, metavar="DIR", help="a folder with unpacked sources")
    parser.add_argument("--prefix", type=Path, default=TOP / "_install", help="the installed Tern (default _install)")
    parser.add_argument("--build", type=Path, default=TOP / "_build/conformance", help="parent of the build folders")
    parser.add_argument("--jobs", type=int, default=1, help="concurrent compilers")
    parser.add_argument("--timeout-scale", type=float, default=1.0, metavar="X", help="multiplies every limit")
    parser.add_argument("--build-only", action="store_true", help="run no test")
    parser.add_argument("name", nargs="*", help="a library, or a part of LIBRARY/RUN (default: all libraries)")
    options = parser.parse_intermixed_args()
    for folder in ("sources", "prefix", "build"):
        setattr(options, folder, getattr(options, folder).resolve())
    return options


def main(libraries=LIBRARIES):
    options = arguments(libraries)
    chosen = {name.partition("/")[0] for name in options.name} or {library.name for library in libraries}
    unknown = chosen - {library.name for library in libraries}
    if unknown:
        refuse(f"no library is called {min(unknown)}: {', '.join(library.name for library in libraries)}")
    if not (options.prefix / "bin/mpicc").exists():
        refuse(f"{options.prefix}/bin/mpicc is missing: ./quickstart build, or --prefix DIR")
    verdicts = expected.Verdicts(expected.Expected(HERE / "libraries.expected"), options.build / "libraries.passed")
    needed = {need for library in libraries if library.name in chosen for need in library.needs}
    for library in libraries:
        if library.name not in chosen | needed:
            continue
        place = Place(library, options)
        if not place.source:
            refuse(f"{options.sources} has no {library.sources}/{library.mark}; tests/conformance/README.md says how to get it")
        build(library, place)
        if library.name in chosen and not options.build_only:
            test(library, place, verdicts,
                 lambda name: not options.name or any(f"{name}/".startswith(f"{word}/") or "/" in word and word in name
                                                      for word in options.name))
    print(verdicts.total())
    return 1 if verdicts.counts["FAIL"] else 0
