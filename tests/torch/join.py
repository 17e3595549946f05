# SPDX-License-Identifier: Apache-2.0
"""PyTorch's Join: ranks with different numbers of batches end together. Finished ranks shadow the collectives of the
others, which run without async_op."""
# ranks: 2 4

import torch
import torch.distributed as dist
from torch.distributed.algorithms.join import Join
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel

import world

rank, ranks = world.begin(timeout=world.milliseconds(20000))
torch.manual_seed(rank)
model = DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.Linear(4, 2)))
optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.SGD, lr=0.01)
steps = 0
with Join([model, optimizer]):
    for _ in range(3 + rank):
        optimizer.zero_grad()
        model(torch.randn(4, 8)).sum().backward()
        optimizer.step()
        steps += 1
assert steps == 3 + rank, steps
own = torch.cat([one.detach().flatten() for one in model.parameters()])
every = [torch.empty_like(own) for _ in range(ranks)]
dist.all_gather(every, own)
for other in every:
    world.same(other, own, "the weights")
if rank == 0:
    print("ok")
