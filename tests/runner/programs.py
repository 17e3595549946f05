# SPDX-License-Identifier: Apache-2.0
"""Compiles and runs programs: the common part of the back ends mpi, gpu and hosts."""
import concurrent.futures
import itertools
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from . import SKIP, processes
from .options import environment, joined
from .verdicts import Verdicts


class Runner(Verdicts):
    AT_ONCE = 2  # concurrent runs
    WAITING = 4  # concurrent runs of mostly waiting tests

    def __init__(self, options):
        super().__init__()
        self.options = options
        self.prefix = Path(options.prefix).resolve()
        self.out = Path(options.build).resolve()
        self.env = environment(options, os.environ)

    def program(self, test):
        return self.out / test.binary

    def common_options(self):
        sanitizers = [f"-fsanitize={self.options.sanitizers}"] if self.options.sanitizers else []
        return ["-O1", "-g1", "-Wall", "-Wextra", "-pthread", *sanitizers]

    def options_for_cxx(self):
        return ["-std=c++20", *self.common_options()]

    def language(self, suffix, folder):
        """Wrapper and options of a source's language; module files go to the folder."""
        if suffix in (".f", ".f90"):
            return "MPIFORT", [*(option for option in self.common_options() if option != "-pthread"), "-J", str(folder)]
        return ("MPICC", ["-std=gnu11", *self.common_options(), "-lm"]) if suffix == ".c" else ("MPICXX", self.options_for_cxx())

    def flags(self, _):
        """Compiler flags after the test's flags."""
        return []

    def compile(self, test):
        program, suffix = self.program(test), test.source.suffix
        if test.script:
            return None
        inputs = [test.source, *test.source.parent.glob("*.h*"), self.prefix / "include/mpi.h", self.prefix / "bin/mpicc"]
        program.parent.mkdir(parents=True, exist_ok=True)
        wrapper, language = self.language(suffix, program.parent)
        command = [self.env[wrapper], str(test.source), "-o", str(program), *language,
                   *shlex.split(test.say["cflags"]), *self.flags(test)]
        built_by = program.with_name(program.name + ".command")  # another prefix means another library
        same = built_by.exists() and built_by.read_text() == shlex.join(command)
        if same and program.exists() and program.stat().st_mtime > max(p.stat().st_mtime for p in inputs if p.exists()):
            return None
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=self.env)
        if done.returncode == 0:
            built_by.write_text(shlex.join(command))
        return None if done.returncode == 0 else shlex.join(command) + "\n" + done.stdout

    def command(self, test, ranks):
        if test.script:
            return ["bash", str(test.source)]
        program = [str(self.program(test)), *shlex.split(test.say["args"])]
        if ranks is None:
            return program
        return [self.env["MPIRUN"], "-n", str(ranks), *shlex.split(test.say["mpirun"]), *program]

    def run(self, test, ranks, way="", setting=None):
        """Runs a test once. `way`: name of the environment `setting`."""
        name = test.name + ("" if ranks is None else f" -n {ranks}") + (way and f" [{way}]")
        if test.say["full"] is not None and not self.options.full:
            return self.report("SKIP", name, "a long test: --full runs it")
        env = joined(self.env, setting or {}, dict(word.split("=", 1) for word in shlex.split(test.say["env"])))
        command, limit = self.command(test, ranks), test.timeout(self.options.timeout_scale)
        done = processes.perform(command, env, limit, self.out)
        faults = processes.trouble(done, limit)
        differs = self.judge(test, done.code, done.out, done.err) if done.in_time else None
        text = done.out + done.err
        if faults or differs:
            faults = [*([differs] if differs else []), *faults, f"command: {shlex.join(command)}"]
            self.fail(name, text, faults, self.again(test, ranks, way), done)
        elif done.code == SKIP and test.say["expect-exit"] != str(SKIP):
            self.report("SKIP", name, text.strip().rsplit("\n", 1)[-1], done)
        else:
            self.report("PASS", name, done=done)
            for part in re.findall(r"^SKIP (.*)", done.out, re.M) if test.script else []:
                self.report("SKIP", f"{name}: {part}")

    def again(self, test, ranks, _):
        settings = ["--sanitizers", self.options.sanitizers] if self.options.sanitizers else []
        full = ["--full"] if self.options.full else []
        number = [] if ranks is None else ["--ranks", str(ranks)]
        return [sys.argv[0], "--prefix", self.prefix, *self.tree_option(), *settings, *full, *number, test.name]

    def tree_option(self):
        return ["--build", self.out]

    def runs_of(self, test):
        """All runs of a test, as arguments of `run`."""
        return [(ranks, ) for ranks in test.counts(self.options.ranks, self.options.full)]

    def run_all(self, tests, beside=None):
        """Compiles ahead of the runs, waits for the future `beside`, prints totals, and exits with the status."""
        self.out.mkdir(parents=True, exist_ok=True)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            tests, built = sorted(tests, key=self.turn), {}
            for test in tests:  # variants share a program
                if self.program(test) not in built:
                    built[self.program(test)] = pool.submit(self.compile, test)
            for turn, group in itertools.groupby(tests, key=self.turn):
                self.run_turn([(test, built[self.program(test)]) for test in group], (self.AT_ONCE, 1, self.WAITING)[turn])
        if beside:
            beside.result()
        self.end()

    def turn(self, test):
        """Order: programs; then alone programs that measure time, and scripts that read machine state and mpirun's output; then
        waiting programs."""
        if test.say["waits"] is not None:
            return 2
        return int(self.AT_ONCE > 1 and (test.say["alone"] is not None or test.script))

    def run_turn(self, pairs, at_once):
        with concurrent.futures.ThreadPoolExecutor(at_once) as lanes:
            try:
                running = []
                for test, built in pairs:
                    complaint = built.result()
                    if complaint:
                        self.report("FAIL", test.name + " (does not compile)", complaint)
                        continue
                    running += [lanes.submit(self.run, test, *one) for one in self.runs_of(test)]
                for one in running:
                    one.result()
            except BaseException:
                lanes.shutdown(cancel_futures=True)
                raise

    @staticmethod
    def judge(test, code, out, err):
        """Returns the difference from the head's expectations, or None."""
        code = code if code >= 0 else 128 - code
        want = test.say["expect-exit"]
        if code == SKIP and want != str(SKIP):
            return None
        if (code == 0) if want == "nonzero" else (code != int(want)):
            return f"exit {code}, expected {want}"
        for stream, text in (("stdout", out), ("stderr", err)):
            pattern = test.say["expect-" + stream]
            if pattern and not re.search(pattern, text, re.M):
                return f"{stream} does not match: {pattern}"
        lines = sorted((test.say["prints"] or "").splitlines())
        if test.say["prints"] is not None and sorted(out.splitlines()) != lines:
            return "stdout does not have these lines, in any order:\n" + "\n".join(lines)
        return None
