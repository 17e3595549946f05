# SPDX-License-Identifier: Apache-2.0
"""A process with a limit: status, output, CPU seconds, and processes left behind."""
import collections
import os
import select
import signal
import subprocess
import tempfile
import time
import uuid
from pathlib import Path

MARK = "MPI_TEST_MARK"  # environment variable of a test and its children
ASAN = "detect_leaks=1:abort_on_error=0"
Done = collections.namedtuple("Done", "code out err in_time seconds worked left")


def sanitizers(suppressions=None):
    """Sanitizer variables: leaks, races and undefined operations end a program with a nonzero status. `suppressions`: a folder."""
    # libtsan 12 sometimes takes a dynamic thread-local variable, as in libucs, for all of memory.
    found = {"ASAN_OPTIONS": ASAN, "UBSAN_OPTIONS": "print_stacktrace=1",
             "TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1:intercept_tls_get_addr=0"}
    if suppressions:
        found["TSAN_OPTIONS"] += f":suppressions={suppressions / 'races.txt'}"
        # libfabric keeps copies of its endpoints' data (1.17).
        found["LSAN_OPTIONS"] = f"suppressions={suppressions / 'leaks.txt'}:print_suppressions=0"
    return found


def perform(command, env, limit, cwd=None, merged=False):
    """Runs a command up to the limit. `merged`: stderr goes to stdout."""
    mark = uuid.uuid4().hex
    start = time.monotonic()
    # Files, not pipes: a process left behind must not delay the end of the output.
    with tempfile.TemporaryFile() as out_file, tempfile.TemporaryFile() as err_file:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out_file, env={**env, MARK: mark}, cwd=cwd,
                                 stderr=subprocess.STDOUT if merged else err_file, start_new_session=True)
        in_time, worked = ended(child, limit)
        out, err = read_all(out_file), read_all(err_file)
    seconds = time.monotonic() - start
    return Done(child.returncode, out, err, in_time, seconds, worked, strays(mark))


def trouble(done, limit):
    """Faults in every test: too long a run, or processes left behind."""
    late = [] if done.in_time else [f"still running after {limit:.0f} s"]
    return late + ([f"left running: {', '.join(done.left)}"] if done.left else [])


def ended(child, limit):
    """Waits for a test. At the limit sends SIGTERM first, so that mpirun can end its ranks. Returns whether the test ended by
    itself, and its CPU seconds."""
    in_time = went(child, limit)
    for patience, sign in ((3, signal.SIGTERM), (None, signal.SIGKILL)):
        if child.returncode is None:
            os.killpg(child.pid, sign)
            went(child, patience)
    return in_time, child.worked


def went(child, patience):
    """Waits for the child up to a time, by a pidfd; Popen.wait would poll 20 times a second."""
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
    """Finds processes of a finished test by the mark in their environment, and kills remaining ones after a second."""
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
