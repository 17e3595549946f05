# SPDX-License-Identifier: Apache-2.0
"""A private Slurm with a single node on this machine (tests/slurm.sh)."""
import os
import subprocess
import tempfile

from . import TOP

LIBRARY = TOP / "tests/slurm.sh"
# Runs until end of input.
DAEMONS = '. "$1"; trap slurm_stop EXIT; slurm_start "$2" n0 >/dev/null && echo up || echo down; read -r _'


def missing():
    """The reason against a Slurm here, or None."""
    done = subprocess.run(["bash", "-c", '. "$1"; slurm_missing', "bash", LIBRARY], stdout=subprocess.PIPE, text=True)
    return done.stdout.strip() or None


class Slurm:
    """A context manager; the daemons end with the block."""

    def __init__(self):
        self.reason, self.env, self.daemons, self.folder = None, {}, None, None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.daemons:
            self.daemons.stdin.close()
            self.daemons.wait()
            self.folder.cleanup()

    def start(self):
        """Starts Slurm at the first call. Returns the reason of a failure, or None."""
        if self.env or self.reason:
            return self.reason
        self.reason = missing()
        if self.reason:
            return self.reason
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        os.chmod(self.folder.name, 0o711)
        self.daemons = subprocess.Popen(["bash", "-c", DAEMONS, "bash", LIBRARY, self.folder.name], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        if self.daemons.stdout.readline().strip() != "up":
            self.reason = "its Slurm has not started"
            return self.reason
        self.env = {"SLURM_CONF": f"{self.folder.name}/slurm.conf"}
        return None
