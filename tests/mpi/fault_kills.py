#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kills a random process of a job at a random moment, repeatedly, and searches for leftovers.

usage: fault_kills.py MPIRUN PROGRAM FOLDER [alone]     (environment: KILLS, SEED)
One process of each job gets SIGKILL: a rank, a rank's wrapper script, mpirun or its guard. After two seconds, the job
must have no process, no file in TMPDIR, XDG_RUNTIME_DIR, the working folder and /dev/shm, and no open shared memory.
With `alone` (a private network and /dev/shm), sockets and files there count, too. Without its guard, a job must succeed.
"""
import os
import random
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

LIMIT = 2.0  # seconds from the kill to the end of all processes
MPIRUN, PROGRAM, FOLDER = sys.argv[1:4]
ALONE = sys.argv[4:] == ["alone"]
SEED = int(os.environ.get("SEED") or random.randrange(10**6))
KILLS = int(os.environ.get("KILLS", 30))
PLACES = [Path(FOLDER, name) for name in ("tmp", "run", "cwd")] + [Path("/dev/shm")] * ALONE
WRAPPER = '"$@"; exit $?'


def read(path):
    try:
        return path.read_bytes()
    except OSError:
        return b""


def processes(mark):
    """pid -> name of live processes with the mark in the environment."""
    needle, found = f"FAULT_MARK={mark}".encode(), {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and needle in read(entry / "environ"):
            found[int(entry.name)] = read(entry / "comm").decode().strip()
    return found


def memories(pids):
    """Shared memory files open in these processes: (device, inode)."""
    found = set()
    for pid in pids:
        try:
            for fd in Path(f"/proc/{pid}/fd").iterdir():
                if os.readlink(fd).startswith("/memfd:tern"):
                    status = fd.stat()
                    found.add((status.st_dev, status.st_ino))
        except OSError:
            continue
    return found


def holders(files):
    everybody = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    return [pid for pid in everybody if files & memories([pid])] if files else []


def sockets():
    if not ALONE:
        return set()
    lines = read(Path("/proc/net/unix")).decode().splitlines()
    return {line.split()[-1] for line in lines if "tern" in line.split()[-1] or "pmix" in line.split()[-1]}


def entries():
    return {str(path) for place in PLACES for path in place.rglob("*")}


class Job:
    def __init__(self, rng):
        self.mark = uuid.uuid4().hex
        self.whom = rng.choice(["rank", "rank", "mpirun", "mpirun", "guard"])
        self.ranks = rng.choice([2, 3, 4])
        self.length = rng.choice([30, 100, 300])
        self.wrapped = rng.random() < 0.3
        self.pmix = rng.random() < 0.2
        self.delay = rng.choice([rng.uniform(0, 0.06), rng.uniform(0, 0.1 + self.length / 1000)])
        self.rng = rng
        self.victim, self.code, self.out, self.err = None, None, "", ""

    def __str__(self):
        way = (" wrapped" if self.wrapped else "") + (" pmix" if self.pmix else "")
        return f"{self.whom} of {self.ranks}{way} ({self.victim}) after {self.delay * 1000:.1f} ms of {self.length}"

    def start(self):
        env = dict(os.environ, FAULT_MARK=self.mark, TMPDIR=str(PLACES[0]), XDG_RUNTIME_DIR=str(PLACES[1]))
        if self.pmix:
            env["TERN_BOOT"] = "pmix"
        command = [MPIRUN, "-n", str(self.ranks)] + (["sh", "-c", WRAPPER, "sh"] if self.wrapped else [])
        self.files = [open(Path(FOLDER, name), "w+") for name in ("out", "err")]
        self.child = subprocess.Popen(command + [PROGRAM, str(self.length)], stdin=subprocess.DEVNULL, env=env,
                                      stdout=self.files[0], stderr=self.files[1], cwd=PLACES[2])

    def candidates(self):
        found = processes(self.mark)
        if self.whom == "mpirun":
            return found, [self.child.pid]
        names = ["mpirun-guard"] if self.whom == "guard" else ["talk", "sh"]
        return found, [pid for pid, name in found.items() if name in names]

    def kill(self):
        time.sleep(self.delay)
        found, chosen = self.candidates()
        while not chosen and self.child.poll() is None:  # not started yet
            found, chosen = self.candidates()
        self.memories = memories(found)
        if chosen:
            self.victim = self.rng.choice(chosen)
            try:
                os.kill(self.victim, signal.SIGKILL)
            except ProcessLookupError:
                self.victim = None
        self.killed = time.monotonic()

    def finish(self, patience):
        """Waits for mpirun. Returns a complaint about its end, or None."""
        try:
            self.code = self.child.wait(patience)
        except subprocess.TimeoutExpired:
            return "mpirun still runs"
        self.out, self.err = (read(Path(file.name)).decode(errors="replace") for file in self.files)
        done = "talked" in self.out
        if self.whom == "mpirun" or done and self.code == 0:
            return None
        if self.whom == "rank" and self.victim and self.code == 137 and "rank" in self.err:
            return None
        return f"mpirun ended with {self.code}"

    def left(self, before):
        """Leftovers of the job. Polls until none are left or the limit has passed."""
        while True:
            found = {
                "processes": processes(self.mark),
                "entries": sorted(entries() - before),
                "memory held by": holders(self.memories),
            }
            if not any(found.values()) or time.monotonic() > self.killed + LIMIT:
                return {what: things for what, things in found.items() if things}
            time.sleep(0.01)


def one(rng):
    before, sockets_before = entries(), sockets()
    job = Job(rng)
    job.start()
    job.kill()
    going_on = job.whom == "guard" or job.victim is None
    complaint = job.finish(30 if going_on else LIMIT)
    if going_on:
        job.killed = time.monotonic()
    left = job.left(before)
    took = time.monotonic() - job.killed
    if sockets() - sockets_before:
        left["sockets"] = sorted(sockets() - sockets_before)
    for pid in left.get("processes", {}):
        os.kill(pid, signal.SIGKILL)
    if job.child.poll() is None:
        job.child.wait()
    if complaint or left:
        print(f"kill of {job}: {complaint or 'left'} {left or ''}\n{job.out}{job.err}", flush=True)
    return not complaint and not left, took, job


def main():
    for place in PLACES[:3]:
        place.mkdir()
    PLACES[1].chmod(0o700)
    print(f"seed {SEED}", flush=True)
    rng, failures, slowest, victims = random.Random(SEED), 0, 0.0, {}
    for _ in range(KILLS):
        good, took, job = one(rng)
        failures += not good
        slowest = max(slowest, took)
        if job.victim:
            victims[job.whom] = victims.get(job.whom, 0) + 1
    counts = ", ".join(f"{count} times {whom}" for whom, count in sorted(victims.items()))
    print(f"killed {counts}; {failures} of {KILLS} failed; the slowest took {slowest:.2f} s")
    sys.exit(1 if failures else 0)


main()
