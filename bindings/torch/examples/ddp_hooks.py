# SPDX-License-Identifier: Apache-2.0
"""Data-parallel training: buckets are reduced during backward, plain, compressed to fp16, or by PowerSGD.

    mpirun -n 2 python ddp_hooks.py
"""

import time

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
from torch.nn.parallel import DistributedDataParallel

import torch_tern

torch.set_num_threads(1)
torch_tern.init()
dist.init_process_group("tern")
rank = dist.get_rank()


def train(kind, steps=20):
    torch.manual_seed(0)
    model = torch.nn.Sequential(*(torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.ReLU()) for _ in range(4)),
                                torch.nn.Linear(512, 1))
    # PowerSGD starts collectives in callbacks. A single bucket keeps their order equal on all ranks.
    model = DistributedDataParallel(model, bucket_cap_mb=100 if kind == "powersgd" else 1)
    if kind == "fp16":
        model.register_comm_hook(None, default_hooks.fp16_compress_hook)
    elif kind == "powersgd":
        model.register_comm_hook(powerSGD_hook.PowerSGDState(None, 2, start_powerSGD_iter=3), powerSGD_hook.powerSGD_hook)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    generator = torch.Generator().manual_seed(rank)
    start = time.perf_counter()
    for _ in range(steps):
        data = torch.randn(32, 512, generator=generator)
        loss = (model(data) - data.mean(1, keepdim=True)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    dist.all_reduce(loss.detach(), dist.ReduceOp.AVG)
    return f"{kind} loss {loss.item():.4f}, {(time.perf_counter() - start) / steps * 1e3:.1f} ms a step"


results = [train(kind) for kind in ("plain", "fp16", "powersgd")]
if rank == 0:
    print(f"ddp_hooks on {dist.get_world_size()} ranks: " + "; ".join(results))
dist.destroy_process_group()
