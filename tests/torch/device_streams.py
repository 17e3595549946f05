# SPDX-License-Identifier: Apache-2.0
"""CUDA tensors with enqueued collectives, on the software driver: neither the call nor wait() blocks the host. A graph
captures collectives, and replays them with new data. Messages and CPU calls continue. A missing rank ends the others'
group by a timeout. (guard/guard.cc replaces c10's CUDA.)"""
# softcuda: 2 4

import time

import torch
import torch.distributed as dist

import soft
import world

rank, ranks = world.begin()
total = float(sum(range(1, ranks + 1)))
kept = []  # freeing memory waits for the device and its gates
right, left = (rank + 1) % ranks, (rank - 1) % ranks


def own(size, value=None):
    return torch.full((size,), float(rank + 1 if value is None else value))


def gated(size=1000):
    """A tensor whose values the current stream writes after soft.open_gates(). A host wait would hang."""
    tensor = soft.to_device(torch.full((size,), -1.0))
    soft.write_gated(tensor, own(size))
    kept.append(tensor)
    return tensor


def late(size=1000):
    """A tensor whose values the current stream writes after the host has started the call."""
    tensor = soft.to_device(torch.full((size,), -1.0))
    soft.write_late(tensor, own(size), 20)
    kept.append(tensor)
    return tensor


def has(tensor, wanted, what):
    soft.open_gates()
    world.same(soft.to_host(tensor), wanted, what)


torch.cuda.get_device_capability = lambda device=None: (8, 0)  # torch.distributed asks, without a GPU here
soft.use_stream(soft.new_stream())

# The first call of a group prepares the stream, so only later calls can be captured. Messages never
# can.
tensor = soft.to_device(own(4))
soft.begin_capture()
with world.raises(RuntimeError, "Make one before the capture"):
    dist.all_reduce(tensor)
with world.raises(RuntimeError, "sends and receives have no stream"):
    dist.isend(tensor, right)
assert soft.end_capture(), "the capture was broken"
dist.all_reduce(tensor)
has(tensor, own(4, total), "a sum after a capture")
kept.append(tensor)

for size in (0, 1, 1000, 300_000):
    tensor = gated(size)
    work = dist.all_reduce(tensor, async_op=True)
    assert not work.is_completed(), "the call was complete before its data was there"
    work.wait()
    has(tensor, own(size, total), f"an asynchronous sum of {size}")
    kept.append(work)
    for _ in range(1000):
        if work.is_completed():
            break
        time.sleep(0.01)
    assert work.is_completed(), "a call that the stream has passed is not complete"
    tensor = gated(size)
    dist.all_reduce(tensor)
    has(tensor, own(size, total), f"a synchronous sum of {size}")

# Another stream and a future's stream wait for the call.
tensor = gated()
work = dist.all_reduce(tensor, async_op=True)
soft.use_stream(soft.new_stream())
work.wait()
has(tensor, own(1000, total), "a sum that another stream waits for")
soft.use_stream(soft.new_stream())
tensor = gated()
future = dist.all_reduce(tensor, async_op=True).get_future()
soft.use_stream(soft.new_stream())
has(future.wait()[0], own(1000, total), "a future's sum")

# A slow kernel in the group's stream computes the quotient.
tensor = late()
dist.all_reduce(tensor, dist.ReduceOp.AVG)
has(tensor, own(1000, total / ranks), "an average")
work = dist.all_reduce(soft.to_device(own(5)), dist.ReduceOp.AVG, async_op=True)
soft.use_stream(soft.new_stream())
has(work.get_future().wait()[0], own(5, total / ranks), "an average by a future")

for size in (1, 1000, 100_000):
    wanted = torch.cat([own(size, one + 1) for one in range(ranks)])
    tensor, root = late(size), ranks - 1
    dist.broadcast(tensor, root)
    has(tensor, own(size, ranks), "a broadcast")
    tensor = late(size)
    dist.reduce(tensor, root)
    if rank == root:
        has(tensor, own(size, total), "a reduce")
    every, part = soft.to_device(torch.zeros(size * ranks)), soft.to_device(torch.zeros(size))
    dist.all_gather_into_tensor(every, late(size))
    has(every, wanted, "an allgather")
    dist.reduce_scatter_tensor(part, every)
    has(part, own(size, ranks * (rank + 1)), "a reduce-scatter")
    dist.all_to_all_single(every, soft.to_device(own(size * ranks)))
    has(every, wanted, "an alltoall")
    splits = [size + other for other in range(ranks)]  # rows per target; this rank's share of each source
    got = soft.to_device(torch.zeros((size + rank) * ranks))
    dist.all_to_all_single(got, soft.to_device(own(sum(splits))), [size + rank] * ranks, splits)
    has(got, torch.cat([own(size + rank, one + 1) for one in range(ranks)]), "an alltoall by splits")
    # Messages follow their streams in parallel. CPU calls do not wait.
    sent, got, small = late(size), soft.to_device(torch.zeros(size)), own(3)
    works = dist.batch_isend_irecv([dist.P2POp(dist.isend, sent, right), dist.P2POp(dist.irecv, got, left)])
    tensor = late(size)
    works.append(dist.all_reduce(tensor, async_op=True))
    dist.all_reduce(small)
    for work in works:
        work.wait()
    world.same(small, own(3, total), "a sum of the CPU")
    has(got, own(size, left + 1), "a message")
    has(tensor, own(size, total), "a sum beside a message")

# A graph replays captured calls with the data of each launch.
soft.use_stream(soft.new_stream())
tensor, every = soft.to_device(own(1000)), soft.to_device(torch.zeros(1000 * ranks))
soft.begin_capture()
dist.all_reduce(tensor, async_op=True).wait()
dist.all_gather_into_tensor(every, tensor)
future = dist.all_reduce(tensor, async_op=True).get_future()
graph = soft.end_capture()
assert graph, "the capture was broken"
for turn in range(1, 4):
    soft.set(tensor, own(1000, turn * (rank + 1)))
    soft.launch(graph)
    has(every, own(1000 * ranks, turn * total), f"launch {turn}")
    has(tensor, own(1000, ranks * turn * total), f"launch {turn}, the second sum")
    other = late(10)
    dist.all_reduce(other)
    has(other, own(10, total), f"a sum after launch {turn}")

# A missing rank: the others' streams continue, and the group dies.
group = dist.new_group(timeout=world.milliseconds(3000))
tensor = soft.to_device(own(4))
dist.all_reduce(tensor, group=group)
soft.synchronize()
if rank == 0:
    start = time.monotonic()
    work = dist.all_reduce(tensor, group=group, async_op=True)
    work.wait()
    assert time.monotonic() - start < 2, "wait() has waited for the stream"
    soft.synchronize()  # until the timeout
    with world.raises(dist.DistBackendError, "timeout of 3000 ms"):
        dist.all_reduce(tensor, group=group)
    work = None
dist.barrier()

# A call with its own timeout.
group = dist.new_group()
tensor = soft.to_device(own(4))
dist.all_reduce(tensor, group=group)
if rank == 0:
    work = dist.all_reduce(tensor, group=group, async_op=True)
    with world.raises(dist.DistBackendError, "timeout of 300 ms"):
        work.wait(world.milliseconds(300))
dist.barrier()
if rank == 0:
    print("ok")
