# SPDX-License-Identifier: Apache-2.0
"""Averages of 16-bit numbers with a sum out of range: every averaging call returns the right value."""
# ranks: 2 3 4

import torch
import torch.distributed as dist

import world

rank, ranks = world.begin()
AVG = dist.ReduceOp.AVG
# Multiples by 3 are exact, too.
LARGE = {torch.float16: 57344.0 if ranks == 3 else 60000.0, torch.bfloat16: 1.5 * 2.0**127}
for dtype, value in LARGE.items():
    for size in (4, 30_000):
        large = torch.full((size,), value, dtype=dtype)
        wide = torch.full((ranks * size,), value, dtype=dtype)

        def check(got, what):
            assert got.dtype == dtype and torch.equal(got, large[:got.numel()]), f"{what} of {dtype}, {size} elements: {got[:4]}"

        tensor = large.clone()
        dist.all_reduce(tensor, AVG)
        check(tensor, "allreduce")
        tensor = large.clone()
        dist.all_reduce(tensor, AVG, async_op=True).wait()
        check(tensor, "asynchronous allreduce")
        tensor = wide.clone().view(-1, ranks).t()[0]
        assert not tensor.is_contiguous()
        dist.all_reduce(tensor, AVG)
        check(tensor, "allreduce of a view")
        tensor = large.clone()
        dist.reduce(tensor, 0, AVG)
        check(tensor, "reduce") if rank == 0 else None
        tensor, source = torch.empty_like(large), wide.clone()
        dist.reduce_scatter_tensor(tensor, source, AVG)
        check(tensor, "reduce_scatter_tensor")
        assert torch.equal(source, wide), "the input of reduce_scatter_tensor has changed"
        dist.reduce_scatter(tensor, list(source.chunk(ranks)), AVG)
        check(tensor, "reduce_scatter")
        assert torch.equal(source, wide), "the input of reduce_scatter has changed"
        pair = [large.clone(), large.clone()]
        dist.all_reduce_coalesced(pair, AVG)
        check(pair[0], "the first of a coalesced allreduce")
        check(pair[1], "the last of a coalesced allreduce")
        sparse = large.to_sparse()
        dist.all_reduce(sparse, AVG)
        check(sparse.to_dense(), "sparse allreduce")

# If the sum is in range, an average equals the sum divided at the end, to the last bit.
for dtype in world.FLOATS:
    values = [torch.arange(-5, 6, dtype=torch.float64).mul(0.375 * (one + 1)).to(dtype) for one in range(ranks)]
    wanted = sum(one.double() for one in values).to(dtype) / ranks
    tensor = values[rank].clone()
    dist.all_reduce(tensor, AVG)
    world.same(tensor, wanted, f"an average of {dtype}")
if rank == 0:
    print("ok")
