# SPDX-License-Identifier: Apache-2.0
"""Other programs on the machine: each computes all the time, in a session of its own, as those of another user would."""

import contextlib
import os
import subprocess
import sys

LOOP = """
import os
import sys
while os.getppid() == int(sys.argv[1]):
    for _ in range(100_000):
        pass
"""


@contextlib.contextmanager
def busy(count):
    """`count` of them run within; they end with this process, too."""
    running = [subprocess.Popen([sys.executable, "-c", LOOP, str(os.getpid())], stdin=subprocess.DEVNULL, start_new_session=True) for _ in range(count)]
    try:
        yield
    finally:
        for hog in running:
            hog.kill()
            hog.wait()


def confine(cores):
    """Puts this process, and all that it starts, on these cores; ValueError where one of them is not to be had."""
    allowed = os.sched_getaffinity(0)
    if not cores or not cores <= allowed:
        raise ValueError(f"--cores: expected some of {','.join(map(str, sorted(allowed)))}, not {','.join(map(str, sorted(cores)))}")
    os.sched_setaffinity(0, cores)
