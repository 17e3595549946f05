# SPDX-License-Identifier: Apache-2.0
"""dist.split_group: members in list order, unlisted ranks, splits of splits, repeated and concurrent equal splits, a
separate timeout and device; DeviceMesh on top. Groups outlive their parent."""
# ranks: 2 3 4

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh

import world

rank, ranks = world.begin(timeout=world.milliseconds(60000))


def total(group):
    tensor = torch.tensor([float(rank + 1)])
    dist.all_reduce(tensor, group=group)
    return tensor.item()


# Older versions of PyTorch require a GPU for split_group.
try:
    halves = dist.split_group(None, [list(range(0, ranks, 2)), list(range(1, ranks, 2))])
except (AttributeError, RuntimeError) as error:
    older = tuple(map(int, torch.__version__.split(".")[:2])) < (2, 15)
    assert older and (isinstance(error, AttributeError) or "No device associated" in str(error)), error
    pair = dist.new_group([0, 1])
    assert rank > 1 or total(pair) == 3
    world.end()
    raise SystemExit

mine = list(range(rank % 2, ranks, 2))
assert dist.get_process_group_ranks(halves) == mine and dist.get_backend(halves) == "tern"
assert total(halves) == sum(one + 1 for one in mine)
assert halves.group_name != dist.group.WORLD.group_name

# Members in list order. Unlisted ranks get NON_GROUP_MEMBER, and take no part.
order = list(range(ranks - 1, -1, -1))
backwards = dist.split_group(None, [order])
assert dist.get_rank(backwards) == order.index(rank) and dist.get_process_group_ranks(backwards) == order
tensor = torch.tensor([float(rank)])
dist.broadcast(tensor, group_src=0, group=backwards)
assert tensor.item() == ranks - 1
gathered = torch.empty(ranks)
dist.all_gather_into_tensor(gathered, torch.tensor([float(rank)]), group=backwards)
world.same(gathered, torch.tensor(order, dtype=torch.float32), "gathered in the list's order")
some = dist.split_group(None, [[ranks - 1]])
if rank == ranks - 1:
    assert total(some) == ranks
else:
    assert some == dist.GroupMember.NON_GROUP_MEMBER

# The parent may end first.
whole = dist.split_group(None, [order])
inner = dist.split_group(whole, [[0, 1]])
if rank in order[:2]:
    assert dist.get_process_group_ranks(inner) == order[:2]
dist.destroy_process_group(whole)
if rank in order[:2]:
    assert total(inner) == order[0] + order[1] + 2

# Calls of different groups do not mix.
same = [dist.split_group(None, [order]) for _ in range(5)]
works, tensors = [], [torch.full((1000 + turn,), float(turn)) for turn in range(5)]
for turn, group in enumerate(same):
    works.append(dist.all_reduce(tensors[turn], group=group, async_op=True))
for turn in (3, 1, 4, 0, 2):
    works[turn].wait()
    world.same(tensors[turn], torch.full((1000 + turn,), float(turn * ranks)), f"split {turn}")
assert len({group.group_name for group in same}) == 5
for group in same:
    assert group._get_backend(torch.device("cpu"))._get_sequence_number_for_group() == 1
    dist.destroy_process_group(group)

# A separate timeout ends only this group.
short = dist.split_group(None, [order], timeout=world.milliseconds(400))
if rank == 0:
    with world.raises(dist.DistBackendError, "timeout of 400 ms"):
        dist.all_reduce(torch.ones(1), group=short)
dist.barrier()
assert total(None) == ranks * (ranks + 1) // 2

# PyTorch or Tern reports wrong arguments, and the group continues.
with world.raises((RuntimeError, ValueError), "empty"):
    dist.split_group(None, [[]])
backend = dist.group.WORLD._get_backend(torch.device("cpu"))
assert backend.supports_splitting
with world.raises(ValueError, f"split names rank {ranks}"):
    dist.split_group(None, [[rank, ranks]])
assert total(None) == ranks * (ranks + 1) // 2

# A mesh with a dimension per factor. PyTorch chooses split or new groups.
if ranks == 4:
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("rows", "columns"))
    assert total(mesh["rows"].get_group()) == 2 * (rank % 2) + 4
    assert total(mesh["columns"].get_group()) == 4 * (rank // 2) + 3
    assert total(mesh["rows", "columns"]._flatten().get_group()) == 10
world.end()
