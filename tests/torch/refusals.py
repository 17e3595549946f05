# SPDX-License-Identifier: Apache-2.0
"""Errors of wrong calls name the call, the values and the ranks. Wrong arguments are ValueErrors, and the group
continues. Different sizes are errors on ranks that detect the difference, and no rank hangs."""
# ranks: 2

import torch
import torch.distributed as dist

import world

rank, ranks = world.begin(timeout=world.milliseconds(20000))
other = 1 - rank

with world.raises(ValueError, "dest is 7, but the communicator has ranks 0..1"):
    dist.send(torch.ones(3), 7)
with world.raises(ValueError, "tag is -5"):
    dist.send(torch.ones(3), other, tag=-5)
with world.raises(ValueError, "takes a contiguous tensor"):
    dist.send(torch.ones(3, 3).t(), other)
with world.raises(ValueError, "different types"):
    dist.all_gather_into_tensor(torch.empty(6), torch.empty(3, dtype=torch.float64))
with world.raises(ValueError, "output has 5"):
    dist.all_gather_into_tensor(torch.empty(5), torch.empty(3))
with world.raises(ValueError, "ranks cannot share equally"):
    dist.all_to_all_single(torch.empty(3), torch.empty(3))
with world.raises(ValueError, "sum up to 5 rows, but it has 4"):
    dist.all_to_all_single(torch.empty(4), torch.empty(4), [2, 2], [2, 3])
with world.raises(ValueError, "summed or averaged"):
    dist.all_reduce(torch.eye(3).to_sparse(), dist.ReduceOp.MAX)

# A group without this rank: PyTorch skips the call.
alone = dist.new_group([0])
tensor = torch.full((3,), 5.0)
dist.all_reduce(tensor, group=alone)
world.same(tensor, torch.full((3,), 5.0), "a sum of a rank alone, or of none")

group = dist.new_group()
if rank == 0:
    dist.send(torch.ones(5), 1, group=group)
else:
    with world.raises(dist.DistBackendError, "the message from rank 0 with tag 0 has 20 bytes, but the receive has room for 12"):
        dist.recv(torch.ones(3), 0, group=group)

# Also differences so large that ranks select different algorithms.
CALLS = {
    "allreduce": lambda size, group: dist.all_reduce(torch.ones(size), group=group),
    "asynchronous allreduce": lambda size, group: dist.all_reduce(torch.ones(size), group=group, async_op=True).wait(),
    "allgather": lambda size, group: dist.all_gather_into_tensor(torch.ones(2 * size), torch.ones(size), group=group),
    "reduce_scatter": lambda size, group: dist.reduce_scatter_tensor(torch.ones(size), torch.ones(2 * size), group=group),
    "alltoall": lambda size, group: dist.all_to_all_single(torch.ones(2 * size), torch.ones(2 * size), group=group)}
for name, call in CALLS.items():
    for more in (1, 50_000):
        group = dist.new_group()
        try:
            call(4 + more * rank, group)
        except dist.DistBackendError as error:
            text = str(error)
        else:
            raise AssertionError(f"{name} of 4 and {4 + more} elements was accepted")
        if name != "asynchronous allreduce":
            words = "passes" if more == 1 else "different sizes"
            assert words in text and f"rank {other}" in text, f"{name} with a size difference of {more}: {text}"

tensor = torch.ones(2)
dist.all_reduce(tensor)
world.same(tensor, torch.full((2,), float(ranks)), "a call after refused ones")
if rank == 0:
    print("ok")
