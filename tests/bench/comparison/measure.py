# SPDX-License-Identifier: Apache-2.0
"""Runs the benchmarks of all libraries alternately and gathers their lines."""

import os
import re
import resource
import signal
import subprocess
import sys
import time
from collections import defaultdict
from dataclasses import dataclass, field
from typing import NamedTuple

from . import hogs, machine
from . import library as libraries


class Key(NamedTuple):
    """The identity of a figure."""
    name: str
    size: int
    ranks: int
    unit: str


@dataclass
class Results:
    values: dict = field(default_factory=lambda: defaultdict(lambda: defaultdict(list)))  # Key -> library -> [value]
    failures: list = field(default_factory=list)
    ways: dict = field(default_factory=dict)  # Key -> library -> configuration of the values
    benches: set = field(default_factory=set)  # with or without success
    runs: int = 0
    disturbed: int = 0  # runs that began while others used the machine

    def add(self, library, key, value):
        self.values[key][library].append(value)


LINE = re.compile(r"(\w+) (\d+) (\d+) ([-+.e\d]+) (\S+)")


def parse(text, ranks):
    """The lines `name size ranks value unit`; skips other lines (a launcher's warnings)."""
    for line in text.splitlines():
        found = LINE.fullmatch(line)
        if found and int(found[3]) == ranks:
            yield Key(found[1], int(found[2]), ranks, found[5]), float(found[4])


def launch(command, environment, timeout):
    """One run: (output, Cost, failure or None). Ends the whole process group."""
    start, used = time.monotonic(), cpu_seconds()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                               text=True, errors="replace", env=environment, start_new_session=True)
    wrong = None
    try:
        output, complaints = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        output, complaints = stop(process)
        wrong = f"not finished after {timeout:g} s; the sizes measured until then count"
    except BaseException:       # Ctrl-C, TERM: no rank stays behind
        stop(process)
        raise
    cost = Cost(time.monotonic() - start, cpu_seconds() - used)
    if wrong is None and process.returncode != 0:
        last = [line for line in complaints.splitlines() if line.strip(" -*=")][-4:]
        wrong = f"exit code {process.returncode}: {' | '.join(last) or 'no message'}"
    return output, cost, wrong


class Cost(NamedTuple):
    seconds: float
    cpu: float  # seconds, all processors


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def stop(process):
    """TERM lets a launcher end its ranks; KILL ends the rest."""
    for number, patience in ((signal.SIGTERM, 5), (signal.SIGKILL, 5)):
        try:
            os.killpg(process.pid, number)
            return process.communicate(timeout=patience)
        except subprocess.TimeoutExpired:
            continue
        except ProcessLookupError:
            break
    return process.communicate()


def run_once(results, library, bench, ranks, options):
    arguments = [*bench.arguments]
    if bench.budget:
        arguments += ["--seconds", f"{bench.budget * options.budget:g}", *options.arguments]
    bind = options.bind and ranks <= len(os.sched_getaffinity(0))
    results.runs += 1
    results.benches.add(bench.name)
    results.disturbed += not machine.wait_for_quiet(options.quiet)
    variables = libraries.variables(bind, options.priority, options.hogs > 0, library.settings)
    with hogs.busy(options.hogs):
        output, cost, wrong = launch(library.command(ranks, bench.program, arguments, variables),
                                     libraries.environment(variables), options.timeout)
    if wrong:
        results.failures.append((bench.name, ranks, library.name, wrong))
        print(f"  {library.name}: {bench.name}, {ranks} ranks: {wrong}", file=sys.stderr)
    elif bench.program == "empty":
        results.add(library.name, Key(bench.prefix + "startup", 0, ranks, "ms"), cost.seconds * 1e3)
    if options.hogs and not wrong:
        results.add(library.name, Key(f"{bench.prefix}{bench.name}_cpu", 0, ranks, "s"), cost.cpu)
    for key, value in parse(output, ranks):
        results.add(library.name, key._replace(name=bench.prefix + key.name), value)
    return wrong is None


def run_all(suite, measured, options):
    """A B C, B C A, C A B, ...: all libraries meet the machine's modes alike. After two failures a library is skipped."""
    results = Results()
    for bench in suite:
        for ranks in options.ranks or bench.ranks:
            patience = {library.name: 2 for library in measured}
            for repeat in range(options.repeat):
                print(f"{bench.name}, {ranks} ranks, round {repeat + 1} of {options.repeat}", file=sys.stderr)
                turn = repeat % len(measured)
                for library in measured[turn:] + measured[:turn]:
                    if patience[library.name] and not run_once(results, library, bench, ranks, options):
                        patience[library.name] -= 1
    return results
