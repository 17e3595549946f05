# SPDX-License-Identifier: Apache-2.0
"""Fault tests of the rig: limits of memory, lost and stopped peers, bad networks. A case is a function of a Scene, and returns
(passed, output)."""

import pathlib
import re
import time

import faults

UCX, OFI = "sm,ucx", "sm,ofi"
NETWORKS = {
    "default": {"TERN_TRANSPORT": UCX},
    "rc": {"TERN_TRANSPORT": UCX, "UCX_TLS": "rc,self"},
    "ud": {"TERN_TRANSPORT": UCX, "UCX_TLS": "ud,self"},
    "verbs": {"TERN_TRANSPORT": OFI, "TERN_OFI_PROVIDER": "verbs;ofi_rxm"},
    "tcp": {"TERN_TRANSPORT": UCX, "UCX_TLS": "tcp,self"},
    "ofi-tcp": {"TERN_TRANSPORT": OFI, "FI_PROVIDER": "^verbs"},
}
RDMA = ("rc", "ud", "verbs")
LATE_S = 5  # an error may come so long after TERN_NET_TIMEOUT
BEGIN_S = 90
LOST = re.compile(r"^rank (\d+) lost (-?\d+) after ([\d.]+) s: (.*)$", re.M)
NAMED = re.compile(r"^\[rank (\d+)\] rank (\d+) on m\d+ is lost: ", re.M)
CURE = re.compile(r"ulimit -l|memlock|limits\.conf")


class Scene:
    """Machines, and a network of NETWORKS. Jobs have `slots` ranks on each machine."""

    def __init__(self, machines, prte, talks, network, slots=2):
        self.machines, self.prte, self.talks, self.network, self.slots = machines, prte, pathlib.Path(talks), network, slots
        self.job = None

    def start(self, words, timeout_s=None, options=(), limits=list, settings=()):
        environment = {**NETWORKS[self.network], **dict(settings)}
        if timeout_s:
            environment["TERN_NET_TIMEOUT"] = f"{timeout_s}s"
        command = limits([self.talks, *map(str, words)])
        self.job = self.machines.start_job(self.prte, self.slots, command, environment, options)

    def first(self):
        return self.machines.machines[0]

    def begins(self):
        return self.first().wait_for(self.job, "begins", BEGIN_S)

    def output(self):
        return self.first().output(self.job)

    def wait(self, limit_s):
        """(status, output); the status is None after the limit."""
        return self.first().result(self.job, limit_s)

    def wait_lost(self, ranks, limit_s):
        """Until all these ranks have told of a lost one; returns the output, and the seconds of this call until each rank told."""
        begin, arrived = time.monotonic(), {}
        while time.monotonic() < begin + limit_s and not set(ranks) <= arrived.keys() and not self.has_ended():
            time.sleep(0.2)
            for found in LOST.finditer(self.output()):
                arrived.setdefault(int(found[1]), time.monotonic() - begin)
        time.sleep(1)
        return self.output(), arrived

    def has_ended(self):
        return (self.first().folder / f"{self.job}.status").exists()

    def ranks_on(self, number):
        return range(number * self.slots, (number + 1) * self.slots)

    def clean(self):
        """Ends the job by force, and mends the network."""
        for machine in self.machines.machines:
            machine.thaw()
        for machine in self.machines.machines[1:]:
            faults.mend(self.machines, machine.number)
        for machine in self.machines.machines:
            machine.run(f"pkill -KILL -x {self.talks.name}; pkill -KILL prterun; pkill -KILL prted; sleep 0.2; true")


def judge(output, arrived, witnesses, lost, timeout_s):
    """Faults of the reports: each witness reports lost ranks alone, and in time, and the library names them. The last good round is
    before the fault, or ends with the fault (a send without room), the report's arrival after the report."""
    told, named = {}, set()
    for found in LOST.finditer(output):
        told.setdefault(int(found[1]), []).append((int(found[2]), float(found[3])))
    for found in NAMED.finditer(output):
        named.add((int(found[1]), int(found[2])))
    for rank in witnesses:
        if rank not in told:
            yield f"rank {rank} reports nothing"
            continue
        for peer in {peer for peer, _ in told[rank]}:
            if peer not in lost:
                yield f"rank {rank} reports rank {peer}, which is not lost"
            elif (rank, peer) not in named:
                yield f"rank {rank} does not name rank {peer} on its host"
        since = min(seconds for _, seconds in told[rank])
        early = max(since, arrived.get(rank, since))
        if early < timeout_s:
            yield f"rank {rank} reports after {early:.1f} s, expected {timeout_s} or more"
        late = min(since, arrived.get(rank, since))
        if late > timeout_s + LATE_S:
            yield f"rank {rank} reports after {late:.1f} s, expected {timeout_s} to {timeout_s + LATE_S}"


def judged(scene, reports, number, timeout_s):
    """Of a machine that is lost to the others. Reports are those of wait_lost()."""
    output, arrived = reports
    found = list(judge(output, arrived, witnesses_of(scene, number), scene.ranks_on(number), timeout_s))
    return not found, "\n".join([output, *found])


def witnesses_of(scene, number):
    return [rank for other in range(len(scene.machines)) if other != number for rank in scene.ranks_on(other)]


def talks_well(scene, seconds, limit_s, during=None, **more):
    scene.start([seconds], **more)
    if not scene.begins():
        return False, f"{scene.output()}\nno talk after {BEGIN_S} s"
    if during:
        during()
    status, output = scene.wait(limit_s)
    return status == 0 and "\ntalked" in output, f"{output}\nexit {status}, expected 0"


def profile(words):
    """A case: a job talks over a bad network."""
    def case(scene):
        faults.shape(scene.machines, 1, words)
        return talks_well(scene, 10, 150)
    return case


def down_half(scene):
    """A link down for half of the timeout."""
    return talks_well(scene, 8, 90, lambda: faults.cut_for(scene.machines, 1, 1.5), timeout_s=3)


def loses(breaks, timeout_s):
    """A case: machine 1 is lost to machine 0 after breaks(scene)."""
    def case(scene):
        scene.start([100, 8], timeout_s)
        if not scene.begins():
            return False, f"{scene.output()}\nno talk after {BEGIN_S} s"
        time.sleep(1)
        breaks(scene)
        return judged(scene, scene.wait_lost(witnesses_of(scene, 1), timeout_s + 3 * LATE_S), 1, timeout_s)
    return case


def down(scene):
    faults.cut(scene.machines, 1)


def half_open(scene):
    faults.cut(scene.machines, 1, (faults.IN, ))


def freeze(scene):
    faults.freeze(scene.machines, 1)


def kill(scene):
    scene.machines.machines[1].kill()


def stop(scene):
    faults.signal_ranks(scene.machines.machines[1], "STOP", scene.talks.name)


def stopped_rank(scene):
    """A stopped process is no lost one: its host answers. 75 s are more than the default of TERN_NET_TIMEOUT."""
    def stop_for_long():
        stop(scene)
        time.sleep(75)
        faults.signal_ranks(scene.machines.machines[1], "CONT", scene.talks.name)
    return talks_well(scene, 10, 120, stop_for_long)


def memlock(kib):
    """A case: under `ulimit -l`, a job runs, or MPI_Init ends it with one sentence and the cure."""
    def case(scene):
        scene.start([10, 1, 4], limits=lambda words: faults.with_locked_memory(kib, words))
        status, output = scene.wait(90)
        lines = output.splitlines()
        shown = "\n".join([*lines[:15], *(["..."] if len(lines) > 30 else []), *lines[-15:]]) + f"\nexit {status}, {len(lines)} lines"
        if status == 0:
            return "\ntalked" in output and len(lines) < 40, shown
        refused = status is not None and "begins" not in output and CURE.search(output) and len(lines) < 40
        return bool(refused), f"{shown}\nexpected: the job runs, or ends in MPI_Init with `ulimit -l` in a sentence"
    return case


def memory_runs_out(scene):
    """Regions get half of 96 MiB: the largest message goes by fragments, and the others by RDMA."""
    scene.slots, scene.talks = 1, scene.talks.with_name("reads")
    scene.start(["any"], limits=lambda words: faults.with_locked_memory(98304, words))
    status, output = scene.wait(280)
    lines = output.splitlines()
    refused = [line for line in lines if "refuses memory for RDMA" in line and CURE.search(line)]
    passed = status == 0 and output.count("all right") == 2 and 1 <= len(refused) <= 2 and re.search("sizes: [1-9]", output)
    return bool(passed), "\n".join([*lines[:20], *lines[-20:]]) + f"\nexit {status}, {len(lines)} lines; expected: a refusal, and all right"


def explains(settings, pattern):
    """A case: a job talks with these settings, and TERN_EXPLAIN has the pattern for each rank's connection to the other machine."""
    def case(scene):
        passed, output = talks_well(scene, 3, 90, settings={**settings, "TERN_EXPLAIN": "1"})
        told = {int(found[1]) for found in re.finditer(r"^\[rank (\d+)\] to rank \d+ by (?:ucx|ofi) \(.*" + pattern, output, re.M)}
        everyone = set(range(2 * scene.slots))
        return passed and told == everyone, f"{output}\nranks {sorted(told)} explain \"{pattern}\", expected {sorted(everyone)}"
    return case


def refuses(settings, pattern):
    """A case: MPI_Init ends the job with the pattern in a sentence."""
    def case(scene):
        scene.start([3], settings=settings)
        status, output = scene.wait(60)
        passed = status not in (0, None) and "begins" not in output and re.search(pattern, output)
        return bool(passed), f"{output}\nexit {status}; expected: an error in MPI_Init with \"{pattern}\""
    return case


def kill_rank(scene):
    """kill -9 of a rank of machine 3: in 5 s each survivor reports it, or the launcher has ended the job; no process remains."""
    scene.start([100, 8])
    if not scene.begins():
        return False, f"{scene.output()}\nno talk after {BEGIN_S} s"
    begin = time.monotonic()
    faults.signal_ranks(scene.machines.machines[3], "KILL", scene.talks.name)
    reports = scene.wait_lost(witnesses_of(scene, 3), 2 * LATE_S)
    status, output = scene.wait(60)
    seconds = time.monotonic() - begin
    passed, words = judged(scene, (output, reports[1]), 3, 0)
    left = faults.left_behind(scene.machines.machines, scene.talks.name)
    passed = (passed or seconds <= LATE_S) and status not in (0, None) and not left
    return passed, f"{words}\nexit {status} after {seconds:.1f} s; left behind: {left}"


def lose_machine(breaks):
    """A case: four survivors of a lost machine 3 report it, and leave nothing behind. `breaks` is called with the machines and 3."""
    timeout_s = 10

    def case(scene):
        machine = scene.machines.machines[3]
        scene.start([100, 8], timeout_s)
        if not scene.begins():
            return False, f"{scene.output()}\nno talk after {BEGIN_S} s"
        time.sleep(1)
        breaks(scene.machines, 3)
        reports = scene.wait_lost(witnesses_of(scene, 3), timeout_s + 3 * LATE_S)
        time.sleep(12)  # a rank ends 8 s after its report
        left = faults.left_behind([other for other in scene.machines.machines if other is not machine], scene.talks.name)
        passed, words = judged(scene, reports, 3, timeout_s)
        return passed and not left, f"{words}\nleft behind: {left}"
    return case


# Under "reorder", the kernel's soft-RoCE stands still over rc: ucx_perftest, too, moves nothing in 90 s.
OVER_RC = ("delay-20ms", "loss-1")
# name: (case, networks)
OF_TWO = {
    **{f"memlock-{name}": (memlock(kib), ("rc", "verbs")) for name, kib in (("64KiB", 64), ("8MiB", 8192), ("96MiB", 98304))},
    "gid-0": (explains({"TERN_NET_GID": "0"}, "rxe0:1.*, GID 0"), ("rc", "ud")),
    "gid-1": (explains({"TERN_NET_GID": "1"}, "rxe0:1.*, GID 1"), ("rc", "ud")),
    "gid-missing": (refuses({"TERN_NET_GID": "99"}, "TERN_NET_GID=99: no active port .* addresses here: rxe0:1 0 "), ("rc", )),
    "gid-verbs": (refuses({"TERN_NET_GID": "1"}, "TERN_NET_GID=1: libfabric's provider verbs"), ("verbs", )),
    "pkey": (explains({"TERN_NET_PKEY": "0xffff"}, "rxe0:1.*, P_Key 0x7fff"), ("rc", )),
    "pkey-wrong": (refuses({"TERN_NET_PKEY": "0x8001"}, "TERN_NET_PKEY=0x8001: no active port .* keys here: rxe0:1 0xffff"), ("rc", "default")),
    "pkey-verbs": (refuses({"TERN_NET_PKEY": "0xffff"}, "TERN_NET_PKEY=0xffff: libfabric's provider verbs"), ("verbs", )),
    "service-level": (explains({"TERN_NET_SERVICE_LEVEL": "3"}, "rxe0:1.*, service level 3"), ("rc", )),
    "traffic-class": (explains({"TERN_NET_TRAFFIC_CLASS": "104"}, "rxe0:1.*, traffic class 104"), ("rc", )),
    "traffic-word": (refuses({"TERN_NET_TRAFFIC_CLASS": "low-latency"}, "TERN_NET_TRAFFIC_CLASS=low-latency: UCX"), ("rc", )),
    "connections-rc": (explains({"TERN_NET_CONNECTIONS": "rc", "UCX_NUM_EPS": "1000"}, "rc_verbs over rxe0:1"), ("default", )),
    "connections-ud": (explains({"TERN_NET_CONNECTIONS": "ud"}, r"UCX: ud_verbs over rxe0:1"), ("default", )),
    "connections-dc": (refuses({"TERN_NET_CONNECTIONS": "dc"}, "TERN_NET_CONNECTIONS=dc: the adapters of this host have "), ("default", )),
    "many-ranks": (explains({"UCX_NUM_EPS": "1000"}, "UCX: ud_verbs over rxe0:1"), ("default", )),
    "memory-runs-out": (memory_runs_out, ("rc", )),
    "partition": (loses(down, 10), (*RDMA, "tcp")),
    "killed-host": (loses(kill, 10), (*RDMA, "tcp")),
    "frozen-host": (loses(freeze, 10), (*RDMA, "tcp")),
    "stopped-rank": (stopped_rank, ("rc", "verbs", "tcp")),
    "stopped-rank-lost": (loses(stop, 10), ("ud", )),  # over ud, processes acknowledge
    **{name: (profile(name), ("tcp", "ofi-tcp", *(("rc", ) if name in OVER_RC else ()))) for name in faults.PROFILES},
    "down-half": (down_half, ("tcp", "ofi-tcp", "rc")),
    "down": (loses(down, 3), ("tcp", "ofi-tcp", "rc")),
    "frozen": (loses(freeze, 3), ("tcp", "ofi-tcp", "rc")),
    "half-open": (loses(half_open, 3), ("tcp", "ofi-tcp", "rc")),
}
OF_FIVE = {
    "kill-rank": (kill_rank, ("tcp", "rc")),
    "kill-host": (lose_machine(lambda machines, number: machines.machines[number].kill()), ("tcp", "rc")),
    "freeze-host": (lose_machine(faults.freeze), ("tcp", "rc")),
}
