# SPDX-License-Identifier: Apache-2.0
"""Futures: values, chains, callbacks that start and await collectives, many at once, completion hooks."""
# ranks: 2 4
# prterun: 2

import threading
import time

import torch
import torch.distributed as dist

import world

rank, ranks = world.begin()
total = float(sum(range(ranks)))


def own(size=4):
    return torch.full((size,), float(rank))


future = dist.all_reduce(own(), async_op=True).get_future()
world.same(future.wait()[0], torch.full((4,), total), "a future's value")

future = dist.all_reduce(own(), async_op=True).get_future().then(lambda done: done.value()[0] * 2)
world.same(future.wait(), torch.full((4,), 2 * total), "a chain")


def again(done):
    """A completion thread waits for a collective started in the callback, so another thread must complete the
    collective."""
    tensor = done.value()[0]
    return dist.all_reduce(tensor, async_op=True).get_future().wait()[0]


for _ in range(20):
    future = dist.all_reduce(own(), async_op=True).get_future().then(again)
    world.same(future.wait(), torch.full((4,), ranks * total), "a collective in a callback")

many = [dist.all_reduce(own(size), async_op=True) for size in (1, 10, 1000, 100_000) * 25]
futures = [work.get_future() for work in many]
for future in futures:
    assert future.wait()[0][0].item() == total
assert all(work.is_completed() and work.is_success() for work in many)

# Polled.
work = dist.all_reduce(own(200_000), async_op=True)
while not work.is_completed():
    pass
assert work.result()[0][-1].item() == total

# In another thread.
work, seen = dist.all_reduce(own(), async_op=True), []
thread = threading.Thread(target=lambda: (work.wait(), seen.append(work.result()[0][0].item())))
thread.start()
thread.join()
assert seen == [total], seen

# get_future() while another thread waits, for a message caused by the caller.
if rank < 2:
    works = [dist.irecv(torch.empty(1), 1 - rank, tag=7)]
    thread = threading.Thread(target=works[0].wait)
    thread.start()
    time.sleep(0.2)
    start = time.monotonic()
    future = works[0].get_future()
    assert time.monotonic() - start < 5, "get_future() returned only after the wait"
    dist.send(own(1), 1 - rank, tag=7)
    assert future.wait()[0].item() == 1 - rank
    thread.join()

# A refused call has no side effects.
with world.raises(ValueError, "tern"):
    dist.all_reduce(torch.ones(2), dist.ReduceOp.BOR, async_op=True)

groups = [dist.new_group() for _ in range(4)]
sums = [None] * 4


def run(number):
    for _ in range(50):
        tensor = own(1 + 1000 * number)
        dist.all_reduce(tensor, group=groups[number])
        sums[number] = tensor[0].item()


threads = [threading.Thread(target=run, args=(number,)) for number in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert sums == [total] * 4, sums
world.end()
