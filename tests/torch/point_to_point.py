# SPDX-License-Identifier: Apache-2.0
"""Send, receive, any source, tags, batches, objects; messages of dropped Works arrive; coalescing with one Work."""
# ranks: 2 4
# prterun: 2
# srun: 2

import torch
import torch.distributed as dist

import world

rank, ranks = world.begin()
right, left = (rank + 1) % ranks, (rank - 1) % ranks

for dtype in world.ALL:
    for size in (0, 1, 1000, 300_000):
        wanted, got = world.filled(dtype, size, left), torch.empty(size, dtype=dtype)
        sending = dist.isend(world.filled(dtype, size, rank), right)
        assert dist.recv(got, left) == left
        sending.wait()
        world.same(got, wanted, f"a message of {size} {dtype}")

works = [dist.isend(torch.full((3,), float(tag)), right, tag=tag) for tag in range(5)]
for tag in reversed(range(5)):
    got = torch.empty(3)
    dist.recv(got, left, tag=tag)
    world.same(got, torch.full((3,), float(tag)), f"tag {tag}")
for work in works:
    work.wait()

if rank == 0:
    seen = set()
    for _ in range(ranks - 1):
        got = torch.empty(2)
        source = dist.recv(got)
        world.same(got, torch.full((2,), float(source)), "from any source")
        seen.add(source)
    assert seen == set(range(1, ranks)), seen
else:
    dist.send(torch.full((2,), float(rank)), 0)
dist.barrier()

# A batch starts all operations before the first wait.
for size in (4, 400_000):
    got = torch.empty(size)
    for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, torch.full((size,), float(rank)), right),
                                        dist.P2POp(dist.irecv, got, left)]):
        work.wait()
    world.same(got, torch.full((size,), float(left)), f"a batch of {size}")

# A dropped Work: the tensor lives until the message is sent.
for _ in range(20):
    dist.isend(torch.full((50_000,), float(rank)), right)
for _ in range(20):
    got = torch.empty(50_000)
    dist.recv(got, left)
    world.same(got, torch.full((50_000,), float(left)), "a dropped send")

tensors = [torch.full((size,), float(rank)) for size in (1, 50, 100_000)]
with dist._coalescing_manager(async_ops=True) as manager:
    for tensor in tensors:
        dist.all_reduce(tensor)
manager.wait()
with dist._coalescing_manager(device=torch.device("cpu"), async_ops=True) as manager:
    dist.broadcast(tensors[0], 0)
    dist.broadcast(tensors[2], 0)
manager.wait()
for tensor in tensors:
    world.same(tensor, torch.full(tensor.shape, float(sum(range(ranks)))), "coalesced")

objects = [{"from": rank, "text": "x" * 1000 * rank}] if rank == 0 else [None]
dist.broadcast_object_list(objects, 0)
assert objects[0]["from"] == 0
gathered = [None] * ranks
dist.all_gather_object(gathered, ("rank", rank, "y" * rank))
assert gathered[ranks - 1] == ("rank", ranks - 1, "y" * (ranks - 1))

with world.raises(ValueError, "contiguous"):
    dist.send(torch.ones(4, 4).t(), right)
world.end()
