# SPDX-License-Identifier: Apache-2.0
"""A program exits right after a timeout, while PyTorch's flight recorder may still write a report: the program keeps
its exit code. PyTorch stops waiting for the report after a while, here before the recorder's first import ends."""
# program: starts its rank itself

import os
import subprocess
import sys


def work():
    import torch
    import torch.distributed as dist

    import world

    world.begin()
    dist.all_reduce(torch.ones(1))
    backend = dist.new_group(timeout=world.milliseconds(200))._get_backend(torch.device("cpu"))
    with world.raises(dist.DistBackendError, "timeout of 200 ms"):
        backend.recv([torch.ones(1)], 0, 0).wait()
    sys.exit(7)


if len(sys.argv) > 1:
    work()
else:
    environment = dict(os.environ, TORCH_FR_WAIT_TIMEOUT_DUMP_MILSEC="300", TORCH_FR_BUFFER_SIZE="2000")
    done = subprocess.run(["mpirun", "-n", "1", "--timeout", "100", sys.executable, "-W", "ignore", __file__, "work"],
                          capture_output=True, text=True, env=environment)
    assert done.returncode == 7, f"exit code {done.returncode}\n{done.stdout}{done.stderr}"
    assert "not rethrown" not in done.stderr, done.stderr
    print("ok")
