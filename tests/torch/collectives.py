# SPDX-License-Identifier: Apache-2.0
"""Every collective with every type, size and operation, blocking, with a wait, and by a future, against a model."""
# ranks: 1 2 3 4 8
# torchrun: 2

import torch
import torch.distributed as dist
from torch.distributed import ReduceOp

import world

OPERATIONS = {
    ReduceOp.SUM: lambda a, b: a + b, ReduceOp.PRODUCT: lambda a, b: a * b, ReduceOp.MIN: torch.minimum,
    ReduceOp.MAX: torch.maximum, ReduceOp.BAND: torch.bitwise_and, ReduceOp.BOR: torch.bitwise_or,
    ReduceOp.BXOR: torch.bitwise_xor}
BOOL = {ReduceOp.SUM: torch.logical_or, ReduceOp.PRODUCT: torch.logical_and, ReduceOp.MIN: torch.logical_and,
        ReduceOp.MAX: torch.logical_or, ReduceOp.BAND: torch.logical_and, ReduceOp.BOR: torch.logical_or,
        ReduceOp.BXOR: torch.logical_xor}
BITS = (ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR)
rank, ranks = world.begin()
SIZES = (0, 1, 7, 1000, 40_000) if ranks <= 4 else (0, 5, 9000)


def call(way, function, *arguments, **options):
    if way == "blocking":
        function(*arguments, **options)
    elif way == "wait":
        function(*arguments, async_op=True, **options).wait()
    else:
        function(*arguments, async_op=True, **options).get_future().wait()


def reduced(dtype, size, op):
    step = (BOOL if dtype == torch.bool else OPERATIONS)[op]
    result = world.filled(dtype, size, 0)
    for other in range(1, ranks):
        result = step(result, world.filled(dtype, size, other))
    return result.to(dtype)


def operations_of(dtype):
    if dtype.is_complex:
        return (ReduceOp.SUM,)  # PyTorch refuses the others before the backend
    return [op for op in OPERATIONS if not (dtype.is_floating_point and op in BITS)]


def reductions(way):
    for dtype in world.FLOATS + world.INTEGERS + world.COMPLEX + (torch.bool,):
        for size in SIZES:
            for op in operations_of(dtype):
                wanted = reduced(dtype, size, op)
                what = f"{way} {op} of {size} {dtype}"
                tensor = world.filled(dtype, size, rank)
                call(way, dist.all_reduce, tensor, op)
                world.same(tensor, wanted, "all_reduce " + what)
                tensor, root = world.filled(dtype, size, rank), ranks - 1
                call(way, dist.reduce, tensor, root, op)
                world.same(tensor, wanted if rank == root else world.filled(dtype, size, rank), "reduce " + what)
                if size:
                    scattered(way, dtype, size, op, wanted, what)


def scattered(way, dtype, size, op, wanted, what):
    """Each part of a rank's input is the same vector, so each part of the result is `wanted`."""
    own = world.filled(dtype, size, rank)
    output = torch.empty_like(own)
    call(way, dist.reduce_scatter, output, [own.clone() for _ in range(ranks)], op)
    world.same(output, wanted, "reduce_scatter " + what)
    output = torch.empty_like(own)
    call(way, dist.reduce_scatter_tensor, output, own.repeat(ranks), op)
    world.same(output, wanted, "reduce_scatter_tensor " + what)


def moves(way):
    for dtype in world.ALL:
        for size in SIZES:
            every = [world.filled(dtype, size, other) for other in range(ranks)]
            what = f"{way} of {size} {dtype}"
            tensor, root = every[rank].clone(), ranks // 2
            call(way, dist.broadcast, tensor, root)
            world.same(tensor, every[root], "broadcast " + what)
            parts = [torch.empty_like(every[0]) for _ in range(ranks)]
            call(way, dist.all_gather, parts, every[rank])
            for part, wanted in zip(parts, every):
                world.same(part, wanted, "all_gather " + what)
            flat = torch.empty(size * ranks, dtype=dtype)
            call(way, dist.all_gather_into_tensor, flat, every[rank])
            world.same(flat, torch.cat([e.view(torch.uint8) for e in every]).view(dtype)
                       if dtype in world.FLOAT8 else torch.cat(every), "all_gather_into_tensor " + what)
            rooted(way, every, root, what)
            exchanged(way, dtype, size, what)


def rooted(way, every, root, what):
    parts = [torch.empty_like(every[0]) for _ in range(ranks)] if rank == root else None
    call(way, dist.gather, every[rank], parts, dst=root)
    for part, wanted in zip(parts or (), every):
        world.same(part, wanted, "gather " + what)
    output = torch.empty_like(every[0])
    call(way, dist.scatter, output, [e.clone() for e in every] if rank == root else None, src=root)
    world.same(output, every[rank], "scatter " + what)


def exchanged(way, dtype, size, what):
    """Rank a sends the vector of salt b to rank b."""
    sent = [world.filled(dtype, size, rank, salt=other + 1) for other in range(ranks)]
    wanted = [world.filled(dtype, size, other, salt=rank + 1) for other in range(ranks)]
    parts = [torch.empty_like(part) for part in wanted]
    call(way, dist.all_to_all, parts, sent)
    for part, right in zip(parts, wanted):
        world.same(part, right, "all_to_all " + what)
    raw = torch.uint8 if dtype in world.FLOAT8 else dtype
    output = torch.empty(size * ranks, dtype=dtype)
    call(way, dist.all_to_all_single, output, torch.cat([s.view(raw) for s in sent]).view(dtype))
    world.same(output, torch.cat([w.view(raw) for w in wanted]).view(dtype), "all_to_all_single " + what)


def uneven():
    sent = [torch.full((rank + other + 1,), float(10 * rank + other)) for other in range(ranks)]
    wanted = [torch.full((rank + other + 1,), float(10 * other + rank)) for other in range(ranks)]
    parts = [torch.empty_like(part) for part in wanted]
    dist.all_to_all(parts, sent)
    splits = [part.numel() for part in sent]
    output = torch.empty(sum(splits), 2)
    rows = torch.cat(sent).unsqueeze(1).repeat(1, 2)
    dist.all_to_all_single(output, rows, [part.numel() for part in wanted], splits)
    world.same(output, torch.cat(wanted).unsqueeze(1).repeat(1, 2), "all_to_all_single by splits")
    for part, right in zip(parts, wanted):
        world.same(part, right, "all_to_all of uneven lists")
    every = [torch.arange(float(other)) for other in range(ranks)]
    parts = [torch.empty_like(part) for part in every]
    dist.all_gather(parts, every[rank])
    for part, right in zip(parts, every):
        world.same(part, right, "all_gather of uneven lists")
    output = torch.empty(rank)
    dist.reduce_scatter(output, every)
    world.same(output, ranks * every[rank], "reduce_scatter of uneven lists")


def averages():
    for dtype in world.FLOATS + world.COMPLEX:
        tensor = torch.full((9,), float(rank), dtype=dtype)
        dist.all_reduce(tensor, ReduceOp.AVG)
        mean = torch.full((9,), sum(range(ranks)), dtype=dtype).div_(ranks)
        world.same(tensor, mean, f"average of {dtype}")
        output = torch.empty(3, dtype=dtype)
        dist.reduce_scatter_tensor(output, torch.full((3 * ranks,), float(rank), dtype=dtype), ReduceOp.AVG)
        world.same(output, mean[:3], f"average of {dtype} by reduce_scatter")
    factor = dist._make_nccl_premul_sum(float(rank + 1))
    tensor, source = torch.full((5,), 2.0), torch.full((5 * ranks,), 2.0)
    dist.all_reduce(tensor, factor)
    total = torch.full((5,), 2.0 * sum(range(1, ranks + 1)))
    world.same(tensor, total, "sum of multiples")
    output = torch.empty(5)
    dist.reduce_scatter_tensor(output, source, factor)
    world.same(output, total, "sum of multiples by reduce_scatter")
    world.same(source, torch.full((5 * ranks,), 2.0), "the input of reduce_scatter")


def layouts():
    base = torch.arange(24.0).reshape(4, 6) + rank
    tensor = base.clone().t()
    dist.all_reduce(tensor)
    world.same(tensor, sum((torch.arange(24.0).reshape(4, 6) + r).t() for r in range(ranks)), "transposed")
    tensor = base.clone()
    dist.broadcast(tensor[:, ::2], 0)
    wanted = base.clone()
    wanted[:, ::2] = (torch.arange(24.0).reshape(4, 6))[:, ::2]
    world.same(tensor, wanted, "every other column")
    flat = torch.empty(ranks * 24)
    dist.all_gather_into_tensor(flat, base.t())
    world.same(flat, torch.cat([(torch.arange(24.0).reshape(4, 6) + r).t().flatten() for r in range(ranks)]), "strided input")
    parts = list(torch.zeros(ranks, 24).unbind(0))
    dist.all_gather(parts, base.flatten())
    world.same(parts[-1], torch.arange(24.0) + ranks - 1, "parts that lie one after the other")
    inside = torch.zeros(ranks * 4)
    inside[rank * 4:rank * 4 + 4] = rank
    dist.all_gather_into_tensor(inside, inside[rank * 4:rank * 4 + 4])
    world.same(inside, torch.arange(float(ranks)).repeat_interleave(4), "an input inside the output")
    parameter = torch.nn.Parameter(torch.ones(3))
    dist.all_reduce(parameter.data)
    dist.broadcast(parameter.detach(), 0)
    world.same(parameter.detach(), torch.full((3,), float(ranks)), "a parameter")


def refusals():
    with world.raises(ValueError, "needs a floating-point type"):
        dist.all_reduce(torch.ones(2, dtype=torch.int32), ReduceOp.AVG)
    with world.raises(ValueError, "bitwise operations need an integer type"):
        dist.all_reduce(torch.ones(2), ReduceOp.BAND)
    for dtype in world.FLOAT8:
        with world.raises(ValueError, "can be moved, not reduced"):
            dist.all_reduce(torch.ones(2).to(dtype))
    with world.raises(ValueError, "output has 5"):
        dist.all_gather_into_tensor(torch.empty(5), torch.empty(7))
    tensor = torch.ones(2)
    dist.all_reduce(tensor)
    world.same(tensor, torch.full((2,), float(ranks)), "a call after refused ones")


for name in ("blocking", "wait", "future"):
    reductions(name)
    moves(name)
uneven()
averages()
layouts()
refusals()
world.end()
