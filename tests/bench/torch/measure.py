# SPDX-License-Identifier: Apache-2.0
"""The program of `compare`'s ranks: each figure on Tern and on gloo alternately; rank 0 prints all values.

Lines are: figure size backend seconds. The calls of a batch take about `--batch` seconds on rank 0's clock.
"""

import argparse
import os
import time

import torch
import torch.distributed as dist

import torch_tern

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--figures", default="collectives,pairs,ddp,init")
parser.add_argument("--sizes", default="1024,65536,1048576,8388608")
parser.add_argument("--rounds", type=int, default=7)
parser.add_argument("--batch", type=float, default=0.1)
options = parser.parse_args()

torch.set_num_threads(1)
torch_tern.init()
dist.init_process_group("tern")
rank, ranks = dist.get_rank(), dist.get_world_size()
worlds = {"tern": dist.group.WORLD, "gloo": dist.new_group(backend="gloo")}


def collectives(size):
    """The calls with `size` bytes in a rank's larger buffer."""
    elements = size // 4
    whole, part = torch.ones(elements), torch.ones(max(1, elements // ranks))
    full = torch.empty(part.numel() * ranks)
    other = torch.empty_like(full)
    return {
        "allreduce": lambda group: dist.all_reduce(whole, group=group),
        "broadcast": lambda group: dist.broadcast(whole, 0, group=group),
        "allgather": lambda group: dist.all_gather_into_tensor(full, part, group=group),
        "reduce_scatter": lambda group: dist.reduce_scatter_tensor(part, full, group=group),
        "alltoall": lambda group: dist.all_to_all_single(other, full, group=group),
    }


def batch_of(call, group):
    """Calls in a batch, the same on all ranks."""
    call(group)
    dist.barrier(group)
    start = time.perf_counter()
    call(group)
    call(group)
    calls = torch.tensor([max(1, min(10_000, int(options.batch * 2 / (time.perf_counter() - start))))])
    dist.broadcast(calls, 0)
    return calls.item()


def alternate(figure, size, call):
    batches = {name: batch_of(call, group) for name, group in worlds.items()}
    for turn in range(options.rounds):
        for name in sorted(worlds, reverse=turn % 2 == 1):
            group = worlds[name]
            dist.barrier(group)
            start = time.perf_counter()
            for _ in range(batches[name]):
                call(group)
            seconds = (time.perf_counter() - start) / batches[name]
            if rank == 0:
                print(figure, size, name, seconds, flush=True)


def pairs():
    """100 floats with every other rank in turn, in groups made beforehand."""
    groups = {name: [dist.new_group([a, b], backend=name) for a in range(ranks) for b in range(a + 1, ranks)] for name in worlds}
    data = torch.ones(100)
    mine = {name: [group for group in some if dist.get_rank(group) >= 0] for name, some in groups.items()}

    def call(group):
        for one in mine["tern" if group is worlds["tern"] else "gloo"]:
            dist.all_reduce(data, group=one)

    alternate("pairs", 400, call)


def training():
    """A step of a model with 10 million weights and little computation."""
    models = {}
    for name, group in worlds.items():
        torch.manual_seed(0)
        model = torch.nn.Sequential(*(torch.nn.Linear(1250, 1250) for _ in range(6)), torch.nn.Linear(1250, 400))
        models[name] = torch.nn.parallel.DistributedDataParallel(model, process_group=group)
    data = torch.randn(4, 1250)

    def call(group):
        model = models["tern" if group is worlds["tern"] else "gloo"]
        model.zero_grad()
        model(data).sum().backward()

    alternate("ddp", 40_000_000, call)


def starts():
    """init_process_group and destroy_process_group with a new store each time."""
    place = f"/tmp/torch-tern-bench-{os.getppid()}-"
    for turn in range(2 * options.rounds):
        for name in sorted(worlds, reverse=turn % 2 == 1):
            path = f"{place}{name}{turn}"
            start = time.perf_counter()
            dist.init_process_group(name, init_method=f"file://{path}", rank=rank, world_size=ranks)
            dist.barrier()
            dist.destroy_process_group()
            if rank == 0 and turn > 0:
                print("init", 0, name, time.perf_counter() - start, flush=True)


wanted = options.figures.split(",")
if "collectives" in wanted:
    for size in map(int, options.sizes.split(",")):
        for figure, call in collectives(size).items():
            alternate(figure, size, call)
if "pairs" in wanted and ranks > 1:
    pairs()
if "ddp" in wanted:
    training()
dist.destroy_process_group()
if "init" in wanted:
    starts()
