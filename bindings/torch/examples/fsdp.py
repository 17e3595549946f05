# SPDX-License-Identifier: Apache-2.0
"""Fully sharded training (FSDP2): each rank stores a shard of every weight and gathers a layer before its computation.

    mpirun -n 2 python fsdp.py
"""

import time

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

import torch_tern

torch.set_num_threads(1)
torch_tern.init()
dist.init_process_group("tern")
rank, ranks = dist.get_rank(), dist.get_world_size()
mesh = init_device_mesh("cpu", (ranks,))
torch.manual_seed(0)
model = torch.nn.Sequential(*(torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.GELU()) for _ in range(6)))
for layer in model:
    fully_shard(layer, mesh=mesh)
fully_shard(model, mesh=mesh)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
generator = torch.Generator().manual_seed(rank)
start, first = time.perf_counter(), None
for _ in range(30):
    data = torch.randn(32, 256, generator=generator)
    loss = (model(data) - data.roll(1, dims=1)).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    first = first or loss.item()
total = sum(parameter.numel() for parameter in model.parameters())
local = sum(parameter.to_local().numel() for parameter in model.parameters())
if rank == 0:
    print(f"fsdp on {ranks} ranks: {local} of {total} weights on rank 0; loss {first:.3f} at first, {loss.item():.3f} after 30 "
          f"steps of {(time.perf_counter() - start) / 30 * 1e3:.1f} ms")
dist.destroy_process_group()
