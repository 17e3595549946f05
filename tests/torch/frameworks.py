# SPDX-License-Identifier: Apache-2.0
"""PyTorch's users of a backend: FSDP2, DTensor, DeviceMesh, functional collectives, distributed checkpoints, join."""
# ranks: 2 4

import shutil
import tempfile

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
import torch.distributed.checkpoint as checkpoint
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Replicate, Shard, distribute_tensor

import world

rank, ranks = world.begin()
mesh = init_device_mesh("cpu", (ranks,))

# Functional collectives, as called by compiled code.
total = functional.all_reduce(torch.full((4,), float(rank)), "sum", mesh)
world.same(functional.wait_tensor(total), torch.full((4,), float(sum(range(ranks)))), "functional all_reduce")
every = functional.all_gather_tensor(torch.full((2,), float(rank)), 0, mesh)
world.same(functional.wait_tensor(every), torch.arange(float(ranks)).repeat_interleave(2), "functional all_gather")
part = functional.reduce_scatter_tensor(torch.arange(2.0 * ranks), "avg", 0, mesh)
world.same(functional.wait_tensor(part), torch.arange(2.0) + 2 * rank, "functional reduce_scatter")
several = functional.all_reduce_coalesced([torch.ones(3), torch.ones(70_000)], "sum", mesh)
assert [functional.wait_tensor(one)[-1].item() for one in several] == [ranks, ranks]
several = functional.all_gather_into_tensor_coalesced([torch.ones(2), torch.full((3,), float(rank))], mesh)
_, gathered = map(functional.wait_tensor, several)
world.same(gathered, torch.arange(float(ranks)).repeat_interleave(3), "coalesced all_gather")
several = functional.reduce_scatter_tensor_coalesced([torch.ones(ranks), torch.ones(2 * ranks)], "sum", [0, 0], mesh)
_, part = map(functional.wait_tensor, several)
world.same(part, torch.full((2,), float(ranks)), "coalesced reduce_scatter")

whole = torch.arange(float(8 * ranks)).reshape(2 * ranks, 4)
sharded = distribute_tensor(whole, mesh, [Shard(0)])
world.same(sharded.redistribute(mesh, [Replicate()]).to_local(), whole, "a redistributed tensor")
world.same((sharded * 2).full_tensor(), whole * 2, "a product of shards")
if ranks == 4:
    square = init_device_mesh("cpu", (2, 2), mesh_dim_names=("data", "model"))
    tensor = torch.full((1,), float(rank))
    dist.all_reduce(tensor, group=square["data"].get_group())
    assert tensor.item() == 2 * (rank % 2) + 2, tensor


def build():
    torch.manual_seed(3)
    return torch.nn.Sequential(torch.nn.Linear(12, 32), torch.nn.ReLU(), torch.nn.Linear(32, 8))


# Five sharded steps equal the steps of a single process on all data.
model, alone = build(), build()
for layer in model:
    if isinstance(layer, torch.nn.Linear):
        fully_shard(layer, mesh=mesh)
fully_shard(model, mesh=mesh)
optimizers = [torch.optim.SGD(one.parameters(), lr=0.1) for one in (model, alone)]
generator = torch.Generator().manual_seed(1)
for _ in range(5):
    data = torch.randn(4 * ranks, 12, generator=generator)
    for one, inputs in ((model, data.chunk(ranks)[rank]), (alone, data)):
        one(inputs).square().mean().backward()
    for optimizer in optimizers:
        optimizer.step()
        optimizer.zero_grad()
for (name, shard), one in zip(model.named_parameters(), alone.parameters()):
    assert torch.allclose(shard.full_tensor(), one, atol=1e-6), name

place = [tempfile.mkdtemp() if rank == 0 else None]
dist.broadcast_object_list(place)
state = model.state_dict()
checkpoint.save(state, checkpoint_id=place[0])
wanted = {name: value.full_tensor().clone() for name, value in state.items()}
for value in model.parameters():
    value.detach().zero_()
state = model.state_dict()
checkpoint.load(state, checkpoint_id=place[0])
for name, value in state.items():
    world.same(value.full_tensor(), wanted[name], f"checkpoint of {name}")
dist.barrier()
if rank == 0:
    shutil.rmtree(place[0])
world.end()
