# SPDX-License-Identifier: Apache-2.0
"""Runs GPU tests as two twins: `soft` on the software driver, `gpu` on the real driver.

The software driver simulates several machines. Without a GPU the twin `gpu` is skipped. A twin on the wrong driver fails.

Tests are programs in tests/gpu/mpi (tests/gpu/README.md), and the driver's tests in tests/gpu/driver."""
import concurrent.futures
import ctypes
import os
import subprocess
import tempfile
import threading
import uuid
import zlib
from pathlib import Path

from . import SKIP, TOP, processes
from . import options as common
from .directives import discover, matches
from .machines import BEHAVIOUR, MACHINES, NO_DRIVER_TESTS, Behaviour, sample
from .programs import Runner

PRECOMPILED = '#include "allocators.hpp"\n'  # also the first line of stream.hpp
DRIVER = "tests/gpu/driver"


def allows_one_queue(test):
    return not test.say["queues"].startswith("many")


def one_queue(test, pairs):
    """Moves the first of several pairs on `4-peers`, or for half of the tests the only pair, to `one-queue`."""
    linked = [place for place, (_, machine) in enumerate(pairs) if machine == "4-peers"]
    if allows_one_queue(test) and (len(linked) > 1 or linked and zlib.crc32(test.name.encode()) % 2):
        pairs[linked[0]] = (pairs[linked[0]][0], "one-queue")
    return pairs


def real_device():
    """Why the gpu twins cannot run, or None."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return "no libcuda.so.1 on this machine"
    if hasattr(driver, "softcuda_marker"):
        return "libcuda.so.1 is the software driver"
    count = ctypes.c_int(0)
    status = driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count))
    return f"cuInit: error {status}" if status else None if count.value else "no device"


class Twins(Runner):
    """Runs each test on every machine of the software driver, and on the real driver."""

    def __init__(self, options, tmp):
        super().__init__(options)
        self.tree = Path(options.tree).resolve()
        self.soft = self.tree / "tests/softcuda"
        self.env["TREE"] = str(self.tree)
        self.tmp = tmp
        self.absent = real_device()
        self.only = options.machine
        self.heap = self.tree / "tests/gpu/libheap.so"
        self.here = threading.local()
        self.ahead = None  # a compiled header
        # Each soft twin simulates a separate machine and waits half of the time. A real GPU would be shared.
        self.AT_ONCE = 3 if self.absent and not options.sanitizers else 1

    def program(self, test):
        """The suite mpi compiles these programs."""
        return (self.tree / "mpi-tests" if isinstance(test, Behaviour) else self.out) / test.binary

    def flags(self, test):
        if isinstance(test, Behaviour):
            return []
        includes = [f"-I{TOP}", f"-I{TOP}/src"]
        if self.ahead and PRECOMPILED in test.source.read_text():
            includes += ["-include", str(self.ahead)]
        if test.say["cuda"] != "yes":
            return [*includes, "-ldl"]
        return [*includes, str(self.out / "twin.o"), f"-L{self.soft}", "-Wl,--no-as-needed", "-lcuda", "-ldl"]

    def settings(self, words, twins=("soft", "gpu"), asked=True):
        """Name and environment of every run; `asked`: with the software driver's options."""
        for word in words if "soft" in self.options.twins and "soft" in twins else ():
            if word not in MACHINES:
                common.refuse(f"there is no configuration {word}; there are {' '.join(MACHINES)}")
            if not self.only or word in self.only:
                yield f"soft {word}", self.machine(word, asked)
        if "gpu" in self.options.twins and "gpu" in twins:
            yield "gpu", {"GPU_TWIN": "gpu", "GPU_HEAP": "managed"}

    def machine(self, word, asked=True):
        found = {name: value.format(tmp=self.tmp, soft=self.soft) for name, value in MACHINES[word].items()}
        path = os.environ.get("LD_LIBRARY_PATH")
        driver = found.get("LD_LIBRARY_PATH", str(self.soft))
        kernels = str(self.soft / "libtern_kernels_host.so")
        if self.options.sanitizers:
            found["HOST_KERNELS_TIMEOUT"] = "120"  # TSan reports abandoned threads
            found["ASAN_OPTIONS"] = processes.ASAN  # ASan keeps megabytes of used stacks per kernel thread
        # Late copies expose missing waits. Allocations, frees, pinning and loading wait for all work, as on some devices.
        other = {name: str(value) for name, value in (("SOFTCUDA_CONNECTIONS", self.options.queues),
                                                      ("SOFTCUDA_PROCESSORS", self.options.processors),
                                                      ("SOFTCUDA_PAGEABLE", self.options.pageable)) if value and asked}
        return {"SOFTCUDA_LATE": "500", "SOFTCUDA_WAITS": "on", "TERN_TEST": f"cuda_kernels={kernels}", **found, **other,
                "SOFTCUDA_SHARED": f"{self.tmp}/shared", "GPU_TWIN": "soft", "SOFTCUDA_KERNELS": kernels,
                "LD_LIBRARY_PATH": driver + (path and f":{path}" or "")}

    def runs_of(self, test):
        """All ranks on all machines with --full, or if ranks or a machine are requested; otherwise see `sample` and
        `one_queue`."""
        options = self.options
        counts = test.counts(options.ranks, options.full)
        machines = test.say["configurations"].split()
        everything = options.full or self.only
        machines += test.say["full-configurations"].split() if everything else []
        if everything and allows_one_queue(test) and "4-peers" in machines:
            machines.append("one-queue")
        pairs = [(ranks, machine) for ranks in counts for machine in machines]
        if not (options.full or options.ranks or self.only):
            pairs = one_queue(test, sample(pairs))
        soft = [(ranks, way, setting) for ranks, machine in pairs for way, setting in self.settings([machine], ("soft", ))]
        return soft + [(ranks, way, setting) for ranks in counts for way, setting in self.settings([], ("gpu", ))]

    def again(self, test, ranks, way):
        twin, _, machine = way.partition(" ")
        words = super().again(test, ranks, way)
        asked = [word for name in ("queues", "processors", "pageable") if (value := getattr(self.options, name))
                 for word in (f"--{name}", value)]
        return [words[0], twin, *(["--machine", machine] if machine else []), *asked, *words[1:]]

    def tree_option(self):
        return ["--tree", self.tree]

    def command(self, test, ranks):
        words = super().command(test, ranks)
        if isinstance(test, Behaviour):
            program = words.index(str(self.program(test)))
            words[program:program] = ["env", f"LD_PRELOAD={self.heap}"]
        return words

    def apart(self, setting):
        """Runs alone; an older run still going on blocks no other run."""
        files = [name for name in ("SOFTCUDA_SHARED", "SOFTCUDA_EXCLUSIVE") if name in setting]
        return {**setting, **{name: f"{setting[name]}-{uuid.uuid4().hex}" for name in files}}

    def run(self, test, ranks, way="", setting=None):
        if way == "gpu" and self.absent:
            name = test.name + ("" if ranks is None else f" -n {ranks}")
            return self.report("SKIP", f"{name} [gpu]", self.absent)
        if self.options.queues == 1 and not allows_one_queue(test):
            return self.report("SKIP", f"{test.name} [{way}]", f"queues: {test.say['queues']}")
        setting = self.apart(setting or {})
        if not isinstance(test, Behaviour):
            return super().run(test, ranks, way, setting)
        with tempfile.NamedTemporaryFile(dir=self.tmp) as log:
            self.here.log = log
            super().run(test, ranks, way, {**setting, "GPU_HEAP_LOG": log.name, "FULL": ""})

    def judge(self, test, code, out, err):
        """A program of tests/mpi must also pass device memory to the library."""
        complaint = Runner.judge(test, code, out, err)
        if complaint or not isinstance(test, Behaviour) or code == SKIP or "soft" not in self.options.twins:
            return complaint
        lines = [line.split() for line in processes.read_all(self.here.log).splitlines()]
        moved = sum(int(copies) + int(kernels) for _, copies, kernels in lines)
        return None if moved else f"no copy and no kernel of the driver: was the heap a device's? The log of heap.cc: {lines}"

    def build_ahead(self):
        """Precompiles headers, three quarters of the compile time of most programs. A failure is ignored."""
        text = '#include "tests/gpu/mpi/allocators.hpp"\n#include <algorithm>\n#include <thread>\n'
        header, ahead = self.out / "ahead.hpp", self.out / "ahead.hpp.gch"
        header.write_text(text)
        command = [self.env["MPICXX"], *self.options_for_cxx(), f"-I{TOP}", f"-I{TOP}/src", "-x", "c++-header", str(header),
                   "-o", str(ahead)]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=self.env)
        self.ahead = header if done.returncode == 0 and ahead.exists() else None

    def build_twin(self):
        """Each program checks the driver itself."""
        self.out.mkdir(parents=True, exist_ok=True)
        self.build_ahead()
        subprocess.run(["gcc", "-O1", "-g", "-Wall", "-Wextra", "-D_GNU_SOURCE", "-c", str(TOP / "tests/gpu/twin.c"), "-o",
                        str(self.out / "twin.o")], check=True)

    def run_driver_tests(self):
        """The driver's own suite: a difference between the twins is a defect of the software driver."""
        names = (name for name in MACHINES if name not in NO_DRIVER_TESTS)
        settings = self.settings(names, asked=False)  # these tests choose queues
        # These tests mostly wait for late work.
        with concurrent.futures.ThreadPoolExecutor(2 * (os.cpu_count() or 1)) as pool:
            for one in [pool.submit(self.run_driver, way, setting) for way, setting in settings]:
                one.result()

    def run_driver(self, way, setting):
        name, limit = f"{DRIVER} [{way}]", 120 * self.options.timeout_scale
        if way == "gpu" and self.absent:
            return self.report("SKIP", name, self.absent)
        program = self.tree / DRIVER / "driver_test"
        done = processes.perform([program, "--gtest_color=no", "--gtest_brief=1"], {**self.env, **self.apart(setting)}, limit,
                                 merged=True)
        faults = processes.trouble(done, limit) + ([] if done.code in (0, SKIP) else [f"exit {done.code}"])
        if faults:
            twin, _, machine = way.partition(" ")
            again = [common.COMMAND, twin, *(["--machine", machine] if machine else []), "--tree", self.tree, DRIVER]
            return self.fail(name, done.out, faults, again, done)
        return self.report("SKIP" if done.code else "PASS", name, done.out if done.code else "", done)


def tests_of(options):
    tests = common.without_scripts(discover(options.pattern, ("tests/gpu/mpi", )), options)
    if options.sanitizers:
        return tests
    programs = (Behaviour(TOP / f"tests/mpi/{name}.c", options.full) for name in sorted(BEHAVIOUR))
    return tests + [one for one in programs if matches(one.name, options.pattern)]


def parse():
    parser = common.with_ranks(common.parser(__doc__, None))
    parser.add_argument("--tree", default=TOP / "_build", help="the build tree, with the software driver (default _build)")
    parser.add_argument("--machine", action="append", choices=MACHINES, help="only this configuration (repeatable)")
    for name, words, what in (("queues", {"type": int}, "this many hardware queues in each process"),
                              ("processors", {"type": int}, "this many multiprocessors"),
                              ("pageable", {"choices": ("sync", "async", "random")}, "such copies of pageable memory")):
        parser.add_argument(f"--{name}", **words, help=f"all machines of the software driver: {what}")
    parser.add_argument("twins", nargs="?", choices=("soft", "gpu", "both"), default="both")
    options = common.with_patterns(parser).parse_intermixed_args()
    options.twins = ("soft", "gpu") if options.twins == "both" else (options.twins, )
    options.build = options.build or Path(options.tree) / "gpu-tests"
    return options


def main():
    options = parse()
    needed = Path(options.tree) / "tests/softcuda/libcuda.so.1"
    if not needed.exists():
        common.refuse(f"{needed} is missing: make -C {options.tree} tests-built, or --tree=DIR")
    with tempfile.TemporaryDirectory() as tmp:
        runner = Twins(options, tmp)
        tests, own = tests_of(options), matches(DRIVER, options.pattern)
        if not tests and not own:
            common.no_test(options.pattern)
        runner.build_twin()
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            runner.run_all(tests, pool.submit(runner.run_driver_tests) if own else None)
