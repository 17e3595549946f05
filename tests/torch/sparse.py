# SPDX-License-Identifier: Apache-2.0
"""Sparse tensors: overlapping entries, different numbers of entries, no entries, rows as entries."""
# ranks: 2 3

import torch
import torch.distributed as dist

import world

torch.sparse.check_sparse_tensor_invariants.enable()
rank, ranks = world.begin()


def rows(of_rank):
    """A sparse matrix of 6 rows with `of_rank` entries of two elements."""
    indices = torch.arange(of_rank).reshape(1, -1)
    return torch.sparse_coo_tensor(indices, torch.ones(of_rank, 2) * (of_rank + 1), (6, 2))


def cells(of_rank):
    return torch.sparse_coo_tensor([[0, 1, 1], [2, 0, of_rank]], [1.0, 2.0, 3.0 + of_rank], (2, 4))


for make in (rows, cells):
    for is_async in (False, True):
        tensor = make(rank)
        work = dist.all_reduce(tensor, async_op=is_async)
        if is_async:
            work.wait()
        assert tensor.is_sparse
        world.same(tensor.to_dense(), sum(make(other).to_dense() for other in range(ranks)), make.__name__)

with world.raises(ValueError, "summed or averaged"):
    dist.all_reduce(cells(rank), dist.ReduceOp.MAX)
world.end()
