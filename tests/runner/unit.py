# SPDX-License-Identifier: Apache-2.0
"""Runs a build tree's unit tests and adds up GoogleTest's counts.

Each source runs as a separate process, also if a folder's sources are linked together (unity.mk)."""
import argparse
import concurrent.futures
import functools
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from . import TOP, processes
from . import options as common
from .directives import matches
from .verdicts import Verdicts

# Also run over a bad network.
NETWORK = ("pml/channels_test", "pml/contexts_test", "pml/hostile_test", "pml/lost_peer_test", "pml/protocol_test",
           "pml/protocol_table_test", "coll/between_test", "coll/engine_test", "coll/remote_test", "coll/threads_test")
COUNTS = {"PASS": r"^\[  PASSED  \] (\d+) test", "FAIL": r"^\[  FAILED  \] (\d+) test",
          "SKIP": r"^\[  SKIPPED \] (\d+) test"}
# Measure time or inspect processes of each core: run last and alone.
ALONE = ("base/doorbell_test", "core/datatype_test", "core/progress_test", "pml/channels_test")
LIST_LIMIT = 60  # seconds for the names of a program's tests


def environment():
    return {**processes.sanitizers(TOP / "tests/unit"), **os.environ}


def programs(build, patterns, without):
    listed = subprocess.run(["make", "-s", "--no-print-directory", "-C", build, "list-unit-tests"],
                            stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    # make may print more while updating its Makefile.
    pairs = [word.split(":") for word in listed if word.startswith("tests/unit/")]
    return [(name, Path(build) / program) for name, program in pairs
            if matches(name, patterns) and not any(p in name for p in without)]


@functools.lru_cache(maxsize=None)
def tests_of(program):
    """Suite, test and file of each test of a program, from GoogleTest."""
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        subprocess.run([program, "--gtest_list_tests", f"--gtest_output=json:{out.name}"], check=True, timeout=LIST_LIMIT,
                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment())
        suites = json.loads(Path(out.name).read_text())["testsuites"]
    found = [(suite["name"], test["name"], test["file"]) for suite in suites for test in suite["testsuite"]]
    strange = {file for _, _, file in found if not file.endswith("_test.cc")}
    if strange:
        raise ValueError(f"tests stand in NAME_test.cc, not in {sorted(strange)}")
    names = [f"{suite}.{test}" for suite, test, _ in found]
    if len(set(names)) < len(names):
        raise ValueError(f"two tests have one name: {sorted({name for name in names if names.count(name) > 1})}")
    return found


def skips_of(text):
    reason, found = "no reason given", []
    for line, after in zip(text.splitlines(), text.splitlines()[1:] + [""]):
        if line.endswith(": Skipped"):
            reason = after.strip()
        match = re.match(r"\[  SKIPPED \] (\S+) \(", line)
        if match:
            found.append((match[1], reason))
            reason = "no reason given"
    return found


def filter_of(name, program):
    """A filter for the tests of a source: whole suites if possible."""
    tests = tests_of(program)
    here = [test for test in tests if test[2].endswith(f"{name}.cc")]
    if not here:
        raise ValueError(f"{program} has no test of {name}.cc")
    shared = {suite for suite, _, file in tests if not file.endswith(f"{name}.cc")}
    return "--gtest_filter=" + ":".join(dict.fromkeys(f"{suite}.{test if suite in shared else '*'}" for suite, test, _ in here))


def run(name, program, limit):
    """Returns a source's counts, the ended process or None, the output, and the faults. A crash, a time-out and processes left
    behind are failures."""
    path = str(program.resolve())
    try:
        only = [] if str(program).endswith(name) else [filter_of(name, path)]
        done = processes.perform([path, "--gtest_color=no", *only], environment(), limit, merged=True)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        return {"FAIL": 1}, None, "", [str(error)]
    found = {key: re.search(pattern, done.out, re.M) for key, pattern in COUNTS.items()}
    counts = {key: int(match[1]) if match else 0 for key, match in found.items()}
    faults = processes.trouble(done, limit) + ([f"ended with status {done.code}"] if done.code else [])
    if faults and counts["FAIL"] == 0:
        counts["FAIL"] = 1
    return counts, done, done.out, faults


class Units(Verdicts):
    def __init__(self, options):
        super().__init__()
        self.options = options

    def run_all(self, listed):
        alone = [one for one in listed if one[0].endswith(ALONE)]
        beside = [one for one in listed if one not in alone]
        limit = self.options.timeout
        with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool:
            side_by_side = pool.map(lambda one: (one[0], *run(*one, limit)), beside)
            for found in itertools.chain(side_by_side, ((one[0], *run(*one, limit)) for one in alone)):
                self.show(*found)
        self.end()

    def show(self, name, counts, done, text, faults):
        line = f"{name}: {counts.get('PASS', 0)} passed, {counts['FAIL']} failed"
        if counts["FAIL"]:
            self.fail(line, text, faults, self.again(name), done, counts)
        else:
            self.report("PASS", line, "", done, counts)
        for test, reason in skips_of(text):
            self.report("SKIP", f"{name} {test}: {reason}", counts={})

    def again(self, name):
        network = ["--network", self.options.network] if self.options.network is not None else []
        return [sys.argv[0], "--build", self.options.build, *network, name]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="_build", help="the build tree (default _build)")
    parser.add_argument("--timeout", type=float, default=300, help="seconds for one program")
    parser.add_argument("--jobs", type=int, default=1, help="concurrent programs (default 1)")
    parser.add_argument("--without", action="append", default=[], metavar="PATTERN", help="without programs whose path contains this")
    parser.add_argument("--network", metavar="SEED", help="ranks meet over a bad network (tests/unit/late.hpp): those "
                        "programs alone that do not need shared memory")
    parser.add_argument("--programs", action="store_true", help="print the programs to build for these tests, and run nothing")
    options = common.with_patterns(parser).parse_intermixed_args()
    listed = programs(options.build, options.pattern, options.without)
    if not listed:
        common.no_test(options.pattern)
    if options.programs:
        print(*sorted({str(program.relative_to(options.build)) for _, program in listed}))
        return
    if options.network is not None:
        listed = [one for one in listed if one[0].endswith(NETWORK)]
        os.environ["TERN_TEST_NETWORK"] = options.network
    Units(options).run_all(listed)
