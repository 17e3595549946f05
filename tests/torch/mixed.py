# SPDX-License-Identifier: Apache-2.0
"""A rank calls a collective with async_op, the others without, or the reverse: the calls match, as in gloo and NCCL."""
# ranks: 2 3

import torch
import torch.distributed as dist

import world

rank, ranks = world.begin(timeout=world.milliseconds(20000))
ROOT = ranks - 1


def own(size, of_rank=rank):
    return world.filled(torch.float32, size, of_rank, size)


def total(size):
    return sum(own(size, of_rank) for of_rank in range(ranks))


def every(size):
    return torch.cat([own(size, of_rank) for of_rank in range(ranks)])


def all_reduce(size, options):
    tensor = own(size)
    return dist.all_reduce(tensor, **options), tensor, total(size)


def reduce(size, options):
    tensor = own(size)
    return dist.reduce(tensor, ROOT, **options), tensor, total(size) if rank == ROOT else tensor


def broadcast(size, options):
    tensor = own(size)
    return dist.broadcast(tensor, ROOT, **options), tensor, own(size, ROOT)


def all_gather(size, options):
    tensor = torch.empty(ranks * size)
    return dist.all_gather(list(tensor.chunk(ranks)), own(size), **options), tensor, every(size)


def all_gather_into_tensor(size, options):
    tensor = torch.empty(ranks * size)
    return dist.all_gather_into_tensor(tensor, own(size), **options), tensor, every(size)


def gather(size, options):
    tensor = torch.zeros(ranks * size)
    parts = list(tensor.chunk(ranks)) if rank == ROOT else None
    return dist.gather(own(size), parts, ROOT, **options), tensor, every(size) if rank == ROOT else tensor


def scatter(size, options):
    tensor = torch.empty(size)
    parts = list(own(ranks * size).chunk(ranks)) if rank == ROOT else None
    return dist.scatter(tensor, parts, ROOT, **options), tensor, own(ranks * size, ROOT).chunk(ranks)[rank]


def reduce_scatter_tensor(size, options):
    tensor = torch.empty(size)
    return dist.reduce_scatter_tensor(tensor, own(ranks * size), **options), tensor, total(ranks * size).chunk(ranks)[rank]


def reduce_scatter(size, options):
    tensor = torch.empty(size)
    parts = list(own(ranks * size).chunk(ranks))
    return dist.reduce_scatter(tensor, parts, **options), tensor, total(ranks * size).chunk(ranks)[rank]


def all_to_all_single(size, options):
    tensor = torch.empty(ranks * size)
    wanted = torch.cat([own(ranks * size, of_rank).chunk(ranks)[rank] for of_rank in range(ranks)])
    return dist.all_to_all_single(tensor, own(ranks * size), **options), tensor, wanted


def barrier(_, options):
    return dist.barrier(**options), torch.ones(1), torch.ones(1)


def sparse(size, options):
    tensor = own(size).to_sparse()
    return dist.all_reduce(tensor, **options), tensor, total(size).to_sparse()


CALLS = (all_reduce, reduce, broadcast, all_gather, all_gather_into_tensor, gather, scatter, reduce_scatter_tensor, reduce_scatter,
         all_to_all_single, barrier, sparse)
for call in CALLS:
    for size in (3, 50_000):
        for turn in range(ranks):
            for are_others_async in (False, True):
                is_async = (rank == turn) != are_others_async
                work, got, wanted = call(size, {"async_op": is_async})
                if is_async:
                    work.wait()
                if got.is_sparse:
                    got, wanted = got.to_dense(), wanted.to_dense()
                world.same(got, wanted, f"{call.__name__} of {size}, rank {turn} {'without' if are_others_async else 'with'} async_op")

tensors = [own(size) for size in range(1, 60)]
works = [dist.all_reduce(one, async_op=rank % 2 == 0) for one in tensors]
for one, work in zip(tensors, works):
    if work is not None:
        work.wait()
    world.same(one, total(one.numel()), f"one of many, {one.numel()} elements")
if rank == 0:
    print("ok")
