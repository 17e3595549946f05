# SPDX-License-Identifier: Apache-2.0
"""A group for every pair of ranks, and a small allreduce in each, like programs with many groups.

    mpirun -n 4 python pairs.py
"""

import time

import torch
import torch.distributed as dist

import torch_tern

torch.set_num_threads(1)
torch_tern.init()
dist.init_process_group("tern")
rank, ranks = dist.get_rank(), dist.get_world_size()
start = time.perf_counter()
groups = {(a, b): dist.new_group([a, b]) for a in range(ranks) for b in range(a + 1, ranks)}
made = time.perf_counter() - start
mine = {pair: group for pair, group in groups.items() if rank in pair}
data = torch.empty(100)
dist.barrier()
rounds = 200
start = time.perf_counter()
for _ in range(rounds):
    for (a, b), group in mine.items():
        data.fill_(rank)
        dist.all_reduce(data, group=group)
        assert data[0] == a + b
spent = (time.perf_counter() - start) / rounds
if rank == 0:
    print(f"pairs on {ranks} ranks: {len(groups)} groups made in {made * 1e3:.1f} ms; a round of {len(mine)} allreduces of "
          f"100 floats takes {spent * 1e6:.0f} us")
dist.destroy_process_group()
