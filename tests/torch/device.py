# SPDX-License-Identifier: Apache-2.0
"""CUDA tensors with calls started by the host, on the software driver: a call follows its stream without blocking, CPU
calls keep their order, streams wait for the final steps, and a capture refuses a call and continues. (guard/guard.cc
replaces c10's CUDA.)"""
# softcuda: 2 4

import os
import time

import torch
import torch.distributed as dist

import soft
import world

os.environ["TORCH_TERN_ENQUEUE"] = "0"  # device_streams.py tests enqueued calls
rank, ranks = world.begin()
total = float(sum(range(1, ranks + 1)))
LATE = 150  # milliseconds


def own(size, value=None):
    return torch.full((size,), float(rank + 1 if value is None else value))


def late(size=1000):
    """A tensor whose values the current stream writes after the host has started the call."""
    tensor = soft.to_device(torch.full((size,), -1.0))
    soft.write_late(tensor, own(size), LATE)
    return tensor


def has(tensor, wanted, what):
    world.same(soft.to_host(tensor), wanted, what)


torch.cuda.get_device_capability = lambda device=None: (8, 0)  # torch.distributed asks, without a GPU here
soft.use_stream(soft.new_stream())
for size in (1, 1000, 300_000):
    tensor, start = late(size), time.monotonic()
    work = dist.all_reduce(tensor, async_op=True)
    spent = time.monotonic() - start
    assert spent < LATE / 1000 and not work.is_completed(), f"the call took {spent} s, complete: {work.is_completed()}"
    work.wait()
    has(tensor, own(size, total), f"an asynchronous sum of {size}")
    tensor = work = None  # freeing memory waits for the device
tensor = late()
dist.all_reduce(tensor)
has(tensor, own(1000, total), "a synchronous sum")
has(dist.all_reduce(late(), async_op=True).get_future().wait()[0], own(1000, total), "a future's sum")

# Half of the ranks have device data.
tensor, small = late() if rank % 2 else own(1000), own(3)
works = [dist.all_reduce(tensor, async_op=True), dist.all_reduce(small, async_op=True)]
dist.barrier()
for work in works:
    work.wait()
world.same(soft.to_host(tensor) if rank % 2 else tensor, own(1000, total), "a sum of mixed memory")
world.same(small, own(3, total), "a sum behind one of the device")

# A slow kernel in another stream computes the quotient.
tensor = late()
dist.all_reduce(tensor, dist.ReduceOp.AVG)
has(tensor, own(1000, total / ranks), "an average")
soft.use_stream(soft.new_stream())
work = dist.all_reduce(soft.to_device(own(5)), dist.ReduceOp.AVG, async_op=True)
soft.use_stream(soft.new_stream())  # another stream waits
has(work.get_future().wait()[0], own(5, total / ranks), "an average by a future")

for size in (1, 1000, 100_000):
    tensor = soft.to_device(own(size))
    dist.broadcast(tensor, ranks - 1)
    has(tensor, own(size, ranks), "a broadcast")
    every = soft.to_device(torch.zeros(size * ranks))
    dist.all_gather_into_tensor(every, soft.to_device(own(size)))
    wanted = torch.cat([own(size, one + 1) for one in range(ranks)])
    has(every, wanted, "an allgather")
    part = soft.to_device(torch.zeros(size))
    dist.reduce_scatter_tensor(part, every)
    has(part, own(size, ranks * (rank + 1)), "a reduce-scatter")
    other = soft.to_device(torch.zeros(size * ranks))
    dist.all_to_all_single(other, soft.to_device(own(size * ranks)))
    has(other, wanted, "an alltoall")
    sent, got = late(size), soft.to_device(torch.zeros(size))
    works = dist.batch_isend_irecv([dist.P2POp(dist.isend, sent, (rank + 1) % ranks),
                                    dist.P2POp(dist.irecv, got, (rank - 1) % ranks)])
    for work in works:
        work.wait()
    has(got, own(size, (rank - 1) % ranks + 1), "a message")

# A graph cannot contain the call: the call throws, and the capture continues.
soft.use_stream(soft.new_stream())
tensor = soft.to_device(own(4))
soft.begin_capture()
with world.raises(RuntimeError, "captured into a graph"):
    dist.all_reduce(tensor)
with world.raises(RuntimeError, "captured into a graph"):
    dist.isend(tensor, (rank + 1) % ranks)
assert soft.end_capture(), "the capture was broken"
dist.all_reduce(tensor)
has(tensor, own(4, total), "a sum after a capture")

# Data arrives too late.
group = dist.new_group(timeout=world.milliseconds(300))
if rank == 0:
    tensor = soft.to_device(own(4))
    soft.write_late(tensor, own(4), 2000)
    with world.raises(dist.DistBackendError, "timeout of 300 ms"):
        dist.all_reduce(tensor, group=group, async_op=True).wait()
dist.barrier()
if rank == 0:
    print("ok")
