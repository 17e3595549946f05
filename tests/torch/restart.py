# SPDX-License-Identifier: Apache-2.0
"""A rank is killed: the others end, torchrun restarts all ranks, and leftovers of dead ranks in the Store and in shared
memory do no harm."""
# torchrun: 2 3

import os
import signal

import torch
import torch.distributed as dist

import world

rank, ranks = world.begin(timeout=world.milliseconds(20000))
sums = torch.ones(100000)
dist.all_reduce(sums)
if os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
    if rank == ranks - 1:
        os.kill(os.getpid(), signal.SIGKILL)
    dist.all_reduce(sums)
    raise AssertionError("a collective without its last rank has ended")
world.same(sums, torch.full((100000,), float(ranks)), "the sum")
world.end()
if rank == 0:
    print("ok")
