# SPDX-License-Identifier: Apache-2.0
"""torchrun, started by mpirun or srun, one per node: the workers are ranks of torchrun's job, not of the launcher's
job, although they inherit the launcher's variables."""
# program: starts its ranks itself

import os
import subprocess
import sys


def work():
    import torch
    import torch.distributed as dist

    import world

    rank, ranks = world.begin()
    assert ranks == 3, ranks
    tensor = torch.full((5,), float(rank))
    dist.all_reduce(tensor)
    world.same(tensor, torch.full((5,), 3.0), "the sum")
    world.end()


if "TORCHELASTIC_RUN_ID" in os.environ:
    work()
else:
    done = subprocess.run(["mpirun", "-n", "1", "--timeout", "120", sys.executable, "-W", "ignore", "-m", "torch.distributed.run",
                           "--standalone", "--nproc-per-node", "3", __file__], capture_output=True, text=True)
    assert done.returncode == 0 and "ok" in done.stdout.split(), f"exit code {done.returncode}\n{done.stdout}{done.stderr}"
    print("ok")
