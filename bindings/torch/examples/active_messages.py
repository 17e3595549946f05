# SPDX-License-Identifier: Apache-2.0
"""A sharded table of vectors: each rank requests rows from their owners, sends gradients back, and serves the requests of others.
The ranks share no order of calls.

    mpirun -n 4 python active_messages.py
"""

import time

import torch
import torch.distributed as dist

import torch_tern

torch.set_num_threads(1)
torch_tern.init()
dist.init_process_group("tern")
rank, ranks = dist.get_rank(), dist.get_world_size()
ROWS, WIDTH, STEPS = 1000, 32, 200
table = torch.zeros(ROWS, WIDTH)  # row r of rank o is row o * ROWS + r of the whole table
answers, ended = {}, 0
pipe = torch_tern.pipe.Pipe()


def lookup(rows, source, number):
    pipe.send(source, "answer", table[rows], number=number)


def end(tensor, source):
    global ended
    ended += 1


pipe.on("lookup", lookup)
pipe.on("answer", lambda values, source, number: answers.__setitem__(number, values))
pipe.on("add", lambda values, source, rows: table.index_add_(0, torch.tensor(rows), values))
pipe.on("end", end)

generator = torch.Generator().manual_seed(rank)
dist.barrier()
start = time.perf_counter()
for step in range(STEPS):
    owner = int(torch.randint(ranks, (1,), generator=generator))
    rows = torch.randint(ROWS, (16,), generator=generator)
    pipe.send(owner, "lookup", rows, number=step)
    while step not in answers:
        pipe.poll()
    values = answers.pop(step)
    pipe.send(owner, "add", 0.1 * (rows.unsqueeze(1) % 7 - values), rows=rows.tolist())
for other in range(ranks):
    pipe.send(other, "end")
while ended < ranks:
    pipe.poll()
pipe.flush()
spent = time.perf_counter() - start
total = table.sum()
dist.all_reduce(total)
if rank == 0:
    print(f"active_messages on {ranks} ranks: {STEPS} look-ups of 16 rows and as many updates on each, {spent / STEPS * 1e6:.0f} us a "
          f"step; the table's sum is {total.item():.1f}")
dist.destroy_process_group()
