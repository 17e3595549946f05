# SPDX-License-Identifier: Apache-2.0
"""Runs jobs over several hosts, simulated by namespaces of this machine: programs of tests/mpi, and tests of tests/hosts.

Hosts and Slurm start once and leave nothing behind (machine.py). Without root all tests are skipped with the reason.
tests/hosts/README.md lists the lines of a head."""
import collections
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

from . import TOP, machine
from . import options as common
from .directives import Test, discover
from .programs import Runner

HERE = TOP / "tests/hosts"
LIBRARY = HERE / "hosts.sh"
NO_TESTS = (LIBRARY, HERE / "relay.c")
PROFILES = ("delay-1ms", "delay-50ms", "reorder", "loss-1", "rate-100mbit")
BETWEEN = ("ucx", "ofi")  # transports to other hosts
# Programs of tests/mpi for daily runs, and programs under profiles. --full and patterns add others.
EVERY_DAY = ("coll_ops", "coll_random", "coll_typed", "comm_basics", "comm_create", "dynamic_worlds", "intercomm_basics", "persistent",
             "probe", "pt2pt_order", "pt2pt_random", "pt2pt_sendrecv", "pt2pt_synchronous", "pt2pt_truncate", "pt2pt_types",
             "request_sets", "rma_random", "sessions", "threads_messages", "topology_neighbors", "types_random")
UNDER_PROFILES = ("coll_random", "pt2pt_order", "pt2pt_random")
Way = collections.namedtuple("Way", "shape launcher transport profile", defaults=("", ""))


def ranks_on(shape):
    """Ranks of each host, from 3x2 or 3+1."""
    hosts, by, each = shape.partition("x")
    return [int(each)] * int(hosts) if by else [int(word) for word in shape.split("+")]


def ranks_of(shape):
    return sum(ranks_on(shape))


class Job(Test):
    """A program of tests/mpi, or a test of tests/hosts."""

    def __init__(self, source, variant=None):
        super().__init__(source, variant)
        self.own = source.parent == HERE

    def fits(self, shape):
        """Programs with three or more numbers of ranks run at any number."""
        counts = [int(word) for word in f"{self.say['ranks']} {self.say['full-ranks']}".split() if word.isdigit()]
        return ranks_of(shape) in counts or len(counts) >= 3 and ranks_of(shape) >= min(counts)

    def of_many(self):
        """Scripts start mpirun."""
        return not self.script and any(word.isdigit() for word in self.say["ranks"].split())

    def not_here(self):
        """The reason against a run over hosts, or None."""
        if self.say["hosts"] != "yes":
            return self.say["hosts"].partition(", ")[2]
        return "it asks for options of mpirun" if self.say["mpirun"] else None


class Over(Runner):
    """Runs each test over the requested shapes, launchers, transports and profiles."""
    AT_ONCE = WAITING = 1  # all tests share the network

    def __init__(self, options):
        super().__init__(options)
        os.environ.update(MPICC=self.env["MPICC"], TMPDIR="/run/tmp")
        self.prte = options.prte
        self.env["TREE"] = str(self.out.parent)
        self.env.update(TMPDIR="/run/tmp", PRTE=self.prte or "", PYTHONDONTWRITEBYTECODE="1")
        self.between = options.transport or [f"sm,{name}" for name in BETWEEN if self.has(name)]
        if options.shape and all(len(ranks_on(shape)) == 1 for shape in options.shape):
            self.between = self.between or [""]  # messages within a host
        self.profile = ""
        self.way = None

    def has(self, transport):
        told = subprocess.run([self.prefix / "bin/tern_info"], stdout=subprocess.PIPE, text=True).stdout
        return re.search(rf"^  {transport} +works", told, re.M) is not None

    def library(self, words):
        """Runs functions of hosts.sh; returns the output of a failure, or None."""
        with open("/run/said", "w+") as said:
            done = subprocess.run(["bash", "-c", with_library(words)], stdin=subprocess.DEVNULL, stdout=said, stderr=said,
                                  env=self.env, cwd="/run")
            said.seek(0)
            return said.read() or f"exit {done.returncode}: {words}" if done.returncode else None

    def set_up(self, hosts):
        names = " ".join(f"h{i + 1}" for i in range(hosts))
        complaint = self.library(f"make_hosts {hosts} && if reason=$(slurm_missing); then echo \"$reason\" >/run/no-slurm; "
                                 f"else slurm_start /run/slurm {names} && slurm_allocate; fi")
        if complaint:
            common.refuse(f"the hosts did not come up\n{complaint}")
        self.env["HOSTS"] = names
        self.no_slurm = Path("/run/no-slurm").read_text().strip() if os.path.exists("/run/no-slurm") else None
        if not self.no_slurm:
            self.env.update(SLURM_CONF="/run/slurm/slurm.conf", SLURM_JOB_ID=Path("/run/slurm/job").read_text().strip())

    def absent(self, way):
        """The reason against a run here, or None."""
        if way.launcher == "slurm" and self.no_slurm:
            return self.no_slurm
        if way.launcher == "prte" and not self.prte:
            return "no prterun in PATH, and TERN_PRTE does not say where one is"
        return None

    def change_network(self, profile):
        """Sets the profile of all hosts, from any earlier profile."""
        if profile == self.profile:
            return
        complaint = self.library(f"net all up && net all {profile or 'clear'}")
        if complaint:
            common.refuse(f"the network could not be changed to {profile or 'clear'}\n{complaint}")
        self.profile = profile

    def command(self, test, ranks):
        if test.script:
            return super().command(test, ranks)
        program = [str(self.program(test)), *shlex.split(test.say["args"])]
        words = shlex.split(test.say["env"])
        return ["bash", "-c", f'. "{LIBRARY}"; launch "$@"', "launch", self.way.launcher, self.way.shape,
                *(["env", *words] if words else []), *program]

    def again(self, test, ranks, way):
        words = [("--shape", self.way.shape), ("--launcher", self.way.launcher), ("--transport", self.way.transport),
                 ("--netem", self.way.profile)]
        return [*super().again(test, None, way)[:-1], *(word for pair in words if pair[1] for word in pair), test.name]

    def run(self, test, way):
        name = " ".join(word for word in (way.shape, way.launcher, way.transport, way.profile) if word)
        reason = test.not_here() or self.absent(way)
        if reason:
            return self.report("SKIP", f"{test.name} [{name}]", reason)
        self.change_network(way.profile)
        self.way = way
        setting = {"LAUNCHER": way.launcher, "PROFILE": way.profile}
        if way.transport:
            setting["TERN_TRANSPORT"] = way.transport
        super().run(test, None, name, setting)
        if test.script:
            self.profile = None  # the script may have changed the network

    def runs_of(self, test):
        return [(way, ) for way in self.ways(test)]

    def ways(self, test):
        """Without --full: a single shape, and profiles for some programs."""
        chosen = self.options
        shapes = chosen.shape or (test.say["shapes"].split() if test.own else
                                  ["2x1", "2x2", "3x2"] if chosen.full else ["2x2"])
        shapes = [""] if test.script else [shape for shape in shapes if test.own or test.fits(shape)]
        launchers = chosen.launcher or (test.say["launchers"].split() if test.own else ["slurm"])
        if test.say["messages"] != "yes":
            return [Way(shape, launcher) for shape in shapes for launcher in launchers]
        profiles = chosen.netem or [test.say["network"]]
        ways = [Way(shape, launcher, transport, profile) for shape in shapes for launcher in launchers
                for transport in self.between for profile in profiles]
        if not chosen.netem and not chosen.shape and test.short in UNDER_PROFILES:
            ways += [Way("2x2", launchers[0], self.between[0], profile)
                     for profile in (PROFILES if chosen.full else ["loss-1"]) if test.fits("2x2")]
            ways += [Way("3+1", launcher, self.between[0]) for launcher in chosen.launcher or ("slurm", "prte")
                     if test.fits("3+1")]
        return ways

    def tests(self):
        found = discover(self.options.pattern, ("tests/hosts", "tests/mpi"), Job)
        every = self.options.full or self.options.pattern
        found = [test for test in found if test.own or every or test.short in EVERY_DAY]
        found = [test for test in found if test.source not in NO_TESTS and (test.own or test.of_many())]
        if not found:
            common.no_test(self.options.pattern)
        if self.between:
            return found
        silent = [test for test in found if test.say["messages"] != "yes"]
        if len(silent) < len(found):
            self.report("SKIP", f"{len(found) - len(silent)} tests with messages between hosts",
                        "this build has no transport that reaches another host")
        return silent


def with_library(words):
    """As a bash command line."""
    return f'. "{TOP}/tests/slurm.sh"; . "{LIBRARY}"; {words}'


def prte_prefix():
    """The directory of prterun, from TERN_PRTE or PATH."""
    asked = os.environ.get("TERN_PRTE")
    if asked and not os.access(f"{asked}/bin/prterun", os.X_OK):
        common.refuse(f"TERN_PRTE={asked}: there is no bin/prterun")
    found = shutil.which("prterun")
    return asked or found and str(Path(found).parents[1])


def parse():
    parser = common.with_patterns(common.parser(__doc__))
    parser.add_argument("--shape", action="append", metavar="HOSTSxRANKS", help="only this shape, as 3x2, or 3+1 for different numbers (repeatable)")
    parser.add_argument("--launcher", action="append", choices=("slurm", "prte"), help="only this (repeatable)")
    parser.add_argument("--transport", action="append", help="TERN_TRANSPORT, instead of all transports (repeatable)")
    parser.add_argument("--netem", action="append", choices=PROFILES, help="only this profile (repeatable)")
    parser.add_argument("--hosts", type=int, default=4, help="number of hosts (default 4)")
    parser.add_argument("--shell", nargs="?", const="exec bash -i", metavar="COMMAND",
                        help="no tests: a shell, or this command, in the login node")
    options = parser.parse_intermixed_args()
    for shape in options.shape or []:
        if not re.fullmatch(r"[1-9]\d*(x[1-9]\d*|(\+[1-9]\d*)+)", shape):
            parser.error(f"--shape {shape}: HOSTSxRANKS is needed, as 3x2, or ranks of each host, as 3+1")
        options.hosts = max(options.hosts, len(ranks_on(shape)))
    options.prte = prte_prefix()
    return options


def main():
    options = parse()
    common.need(options.prefix, "bin/mpicc")
    reason = machine.absent()
    if reason:
        print(f"SKIP tests/hosts\n    {reason}\n0 passed, 0 failed, 1 skipped")
        return
    machine.enter("login")
    runner = Over(options)
    runner.set_up(options.hosts)
    if options.shell:
        raise SystemExit(subprocess.run(["bash", "-c", with_library(options.shell)], env=runner.env).returncode)
    runner.run_all(runner.tests())
