# SPDX-License-Identifier: Apache-2.0
"""Two hosts with two ranks each: collectives of all ranks, a group across the hosts, messages, objects."""
# hosts: srun torchrun

import os

import torch
import torch.distributed as dist

import world

rank, ranks = world.begin()
assert ranks == 4, ranks
names = [None] * ranks
dist.all_gather_object(names, os.uname().nodename)
assert names[0] == names[1] != names[2] == names[3], names
for size in (10, 1_000_000):
    tensor = torch.full((size,), float(rank))
    dist.all_reduce(tensor)
    world.same(tensor, torch.full((size,), 6.0), f"the sum of {size}")
across = dist.new_group([0, 3])
if rank in (0, 3):
    tensor = world.filled(torch.int64, 500, rank)
    dist.broadcast(tensor, 3, group=across)
    world.same(tensor, world.filled(torch.int64, 500, 3), "what comes from the other host")
got = torch.empty(200_000)
works = dist.batch_isend_irecv([dist.P2POp(dist.isend, torch.full((200_000,), float(rank)), (rank + 2) % ranks),
                                dist.P2POp(dist.irecv, got, (rank + 2) % ranks)])
for work in works:
    work.wait()
world.same(got, torch.full((200_000,), float((rank + 2) % ranks)), "a message")
world.end()
