# SPDX-License-Identifier: Apache-2.0
"""Computing programs beside a run, each in its own session, like programs of another user."""

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
    """Runs `count` programs within the block; the programs also end with this process."""
    running = [subprocess.Popen([sys.executable, "-c", LOOP, str(os.getpid())], stdin=subprocess.DEVNULL, start_new_session=True) for _ in range(count)]
    try:
        yield
    finally:
        for hog in running:
            hog.kill()
            hog.wait()


def confine(cores):
    """Puts this process and its children on these cores. Throws ValueError for a core outside of the allowed ones."""
    allowed = os.sched_getaffinity(0)
    if not cores or not cores <= allowed:
        raise ValueError(f"--cores: expected some of {','.join(map(str, sorted(allowed)))}, not {','.join(map(str, sorted(cores)))}")
    os.sched_setaffinity(0, cores)
