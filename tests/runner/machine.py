# SPDX-License-Identifier: Apache-2.0
"""A separate machine for a run, in namespaces: everything inside ends with the run.

Why: bridges, hosts and daemons of a killed test would break the next test, and names of two runs would collide. Here no
name is visible outside, and the kernel ends all processes with the first process of the PID namespace.
"""
import ctypes
import os
import signal
import subprocess
import sys
import tempfile

FOLDER = "/run"  # a tmpfs, emptied at the end
CLONE = {"mount": 0x00020000, "uts": 0x04000000, "ipc": 0x08000000, "pid": 0x20000000, "net": 0x40000000}
PR_SET_PDEATHSIG = 1
FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
libc = ctypes.CDLL(None, use_errno=True)


def absent():
    """The reason against a machine here, or None."""
    if os.geteuid() != 0:
        return "namespaces need root here"
    done = subprocess.run(["unshare", "-m", "-u", "-i", "-n", "-p", "--fork", "--mount-proc", "true"],
                          stderr=subprocess.PIPE, text=True)
    if done.returncode:
        return f"no namespaces here: {done.stderr.strip()}"
    with tempfile.NamedTemporaryFile() as here:  # in a chroot, nsenter finds the root outside
        done = subprocess.run(["unshare", "-m", "nsenter", "--mount=/proc/self/ns/mnt", "test", "-e", here.name])
    return "the namespaces of a chroot have another root" if done.returncode else None


def enter(name):
    """Continues in a process of a new machine with the host name `name`. The caller exits with that process's status."""
    if libc.unshare(sum(CLONE.values())) != 0:
        sys.exit(f"tests/hosts/run: no namespaces: {os.strerror(ctypes.get_errno())}")
    first = os.fork()
    if first:
        sys.exit(wait_for(first))
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    run = os.fork()
    if run:
        os._exit(wait_for(run))
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # even if started in a shell's background
    for command in (["mount", "--make-rprivate", "/"], ["mount", "-t", "proc", "proc", "/proc"],
                    ["mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", FOLDER],
                    ["mount", "-t", "tmpfs", "tmpfs", "/dev/shm"], ["hostname", name], ["ip", "link", "set", "lo", "up"]):
        subprocess.run(command, check=True)


def wait_for(child):
    """Returns the exit status in a shell's form. Forwards signals and reaps orphans."""
    for sign in FORWARDED:
        signal.signal(sign, lambda number, _: os.kill(child, number))
    while True:
        pid, status = os.wait()
        if pid == child:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code
