# SPDX-License-Identifier: Apache-2.0
"""Consecutive worlds in the same processes, connected by PyTorch's Store."""
# torchrun: 2 4

import torch
import torch.distributed as dist

import world

for turn in range(4):
    rank, ranks = world.begin()
    sums = torch.full((1000,), float(rank + turn))
    dist.all_reduce(sums)
    world.same(sums, torch.full((1000,), float(sum(range(ranks)) + ranks * turn)), f"the sum in world {turn}")
    group = dist.new_group(list(range(ranks)))
    every = [torch.empty(1, dtype=torch.int64) for _ in range(ranks)]
    dist.all_gather(every, torch.tensor([rank]), group=group)
    assert [int(one) for one in every] == list(range(ranks)), every
    dist.barrier()
    world.end()
if rank == 0:
    print("ok")
