# SPDX-License-Identifier: Apache-2.0
"""One process with its limit: its end, its output, its CPU seconds, and the processes that it leaves running."""
import collections
import os
import select
import signal
import subprocess
import tempfile
import time
import uuid
from pathlib import Path

MARK = "MPI_TEST_MARK"  # in the environment of a test and of all its children
ASAN = "detect_leaks=1:abort_on_error=0"
Done = collections.namedtuple("Done", "code out err in_time seconds worked left")


def sanitizers(suppressions=None):
    """A leak, a race or an undefined operation ends the program with a status of its own. `suppressions`: a folder."""
    # libtsan 12 now and then takes a dynamic thread-local variable (libucs has some) for all of memory.
    found = {"ASAN_OPTIONS": ASAN, "UBSAN_OPTIONS": "print_stacktrace=1",
             "TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1:intercept_tls_get_addr=0"}
    if suppressions:
        found["TSAN_OPTIONS"] += f":suppressions={suppressions / 'races.txt'}"
        # libfabric keeps copies of its endpoints' data (1.17).
        found["LSAN_OPTIONS"] = f"suppressions={suppressions / 'leaks.txt'}:print_suppressions=0"
    return found


def perform(command, env, limit, cwd=None, merged=False):
    """Runs a command to its end, or ends it at the limit. `merged`: stderr goes where stdout goes."""
    mark = uuid.uuid4().hex
    start = time.monotonic()
    # Files, not pipes: a process that a test leaves running must not delay the end of the output.
    with tempfile.TemporaryFile() as out_file, tempfile.TemporaryFile() as err_file:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out_file, env={**env, MARK: mark}, cwd=cwd,
                                 stderr=subprocess.STDOUT if merged else err_file, start_new_session=True)
        in_time, worked = ended(child, limit)
        out, err = read_all(out_file), read_all(err_file)
    seconds = time.monotonic() - start
    return Done(child.returncode, out, err, in_time, seconds, worked, strays(mark))


def trouble(done, limit):
    """The faults that no test may have: it runs too long, or leaves processes behind."""
    late = [] if done.in_time else [f"still running after {limit:.0f} s"]
    return late + ([f"left running: {', '.join(done.left)}"] if done.left else [])


def ended(child, limit):
    """Waits. A test that runs too long is ended, first politely, so that mpirun can take its ranks along. Returns whether it
    ended by itself, and the seconds that processors worked for it."""
    in_time = went(child, limit)
    for patience, sign in ((3, signal.SIGTERM), (None, signal.SIGKILL)):
        if child.returncode is None:
            os.killpg(child.pid, sign)
            went(child, patience)
    return in_time, child.worked


def went(child, patience):
    """Waits for the child so many seconds. By a descriptor, not by Popen.wait, which looks 20 times a second."""
    end = os.pidfd_open(child.pid)
    try:
        if not select.select([end], [], [], patience)[0]:
            return False
    finally:
        os.close(end)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode, child.worked = os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime
    return True


def read_all(file):
    file.seek(0)
    return file.read().decode(errors="replace")


def strays(mark):
    """Processes of a finished test, known by the mark in their environment; they get a second to go, then they are killed."""
    needle = f"{MARK}={mark}".encode()
    deadline = time.monotonic() + 1.0
    while True:
        found = {}
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and needle in (entry / "environ").read_bytes():
                    found[int(entry.name)] = (entry / "comm").read_text().strip()
            except OSError:
                continue
        if not found or time.monotonic() > deadline:
            break
        time.sleep(0.05)
    for pid in found:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    return [f"{name} (pid {pid})" for pid, name in found.items()]
