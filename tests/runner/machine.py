# SPDX-License-Identifier: Apache-2.0
"""A machine of a run's own, in namespaces: whatever is made and started in it is gone when the run ends, however it ends.

Why: bridges, hosts and daemons that a killed test leaves behind break the next one, and names of two runs collide.
Here no name is visible outside, and the kernel ends all processes with the first one of their PID namespace.
"""
import ctypes
import os
import signal
import subprocess
import sys
import tempfile

FOLDER = "/run"  # of memory: nothing that a run writes there stays
CLONE = {"mount": 0x00020000, "uts": 0x04000000, "ipc": 0x08000000, "pid": 0x20000000, "net": 0x40000000}
PR_SET_PDEATHSIG = 1
FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
libc = ctypes.CDLL(None, use_errno=True)


def absent():
    """Why no machine can be made here, or None."""
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
    """Goes on in a process of the new machine, whose host name is `name`. The caller's process ends as that one does."""
    if libc.unshare(sum(CLONE.values())) != 0:
        sys.exit(f"tests/hosts/run: no namespaces: {os.strerror(ctypes.get_errno())}")
    first = os.fork()
    if first:
        sys.exit(wait_for(first))
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    run = os.fork()
    if run:
        os._exit(wait_for(run))
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # even where a shell has started us in its background
    for command in (["mount", "--make-rprivate", "/"], ["mount", "-t", "proc", "proc", "/proc"],
                    ["mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", FOLDER],
                    ["mount", "-t", "tmpfs", "tmpfs", "/dev/shm"], ["hostname", name], ["ip", "link", "set", "lo", "up"]):
        subprocess.run(command, check=True)


def wait_for(child):
    """Its exit status, as a shell has it. Passes signals on, and takes the ends of processes that have no parent left."""
    for sign in FORWARDED:
        signal.signal(sign, lambda number, _: os.kill(child, number))
    while True:
        pid, status = os.wait()
        if pid == child:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code
