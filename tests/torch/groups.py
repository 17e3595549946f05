# SPDX-License-Identifier: Apache-2.0
"""Groups: new, nested, of every pair, by local synchronization; ranks, numbers, ends; ten consecutive worlds."""
# ranks: 2 4
# srun: 2

import os
import tempfile

import torch
import torch.distributed as dist

import world

rank, ranks = world.begin()

pairs = {}
for a in range(ranks):
    for b in range(a + 1, ranks):
        pairs[a, b] = dist.new_group([a, b])
for (a, b), group in pairs.items():
    if rank in (a, b):
        tensor = torch.full((100,), float(rank))
        dist.all_reduce(tensor, group=group)
        world.same(tensor, torch.full((100,), float(a + b)), f"the pair {a}, {b}")
        assert dist.get_rank(group) == (a, b).index(rank) and dist.get_process_group_ranks(group) == [a, b]

# Only members create the group. Every rank creates a group, because PyTorch counts the calls.
mine = [rank - rank % 2 + 1, rank - rank % 2]
group = dist.new_group(mine, use_local_synchronization=True)
tensor = torch.full((1,), float(rank))
dist.broadcast(tensor, mine[0], group=group)
assert tensor.item() == mine[0]

# Messages do not count.
group = dist.new_group()
backend = group._get_backend(torch.device("cpu"))
before = backend._get_sequence_number_for_group()
dist.all_reduce(torch.ones(1), group=group)
work = dist.isend(torch.ones(1), (rank + 1) % ranks, group=group)
dist.recv(torch.ones(1), (rank - 1) % ranks, group=group)
work.wait()
dist.barrier(group)
assert backend._get_sequence_number_for_group() == before + 2
assert backend.name() == "tern" and dist.get_backend(group) == "tern"
dist.destroy_process_group(group)

# A Work may outlive the world.
kept = dist.all_reduce(torch.ones(4), async_op=True)
kept.wait()
dist.destroy_process_group()

# Each world has a new store: at a reused port, a fast rank would find the previous world. The last
# rank's store removes the file: after an earlier removal, another rank might read a new file
# forever.
place = os.path.join(tempfile.gettempdir(), f"torch-tern-{os.getppid()}-")
for turn in range(10):
    world.begin(init_method=f"file://{place}{turn}", rank=rank, world_size=ranks)
    tensor = torch.full((turn + 1,), float(rank))
    dist.all_reduce(tensor)
    world.same(tensor, torch.full((turn + 1,), float(sum(range(ranks)))), f"world {turn}")
    some = dist.new_group([0])
    if rank == 0:
        dist.all_reduce(tensor, group=some)
    dist.barrier()
    if turn < 9:
        dist.destroy_process_group()
world.end()
