# SPDX-License-Identifier: Apache-2.0
"""Active messages: types, shapes, empty messages, order per sender, large among small messages, replies from functions,
refusals."""
# ranks: 2 4

import torch
import torch.distributed as dist

import torch_tern
import world

rank, ranks = world.begin()
pipe = torch_tern.pipe.Pipe()
seen, counts = [], {"end": 0, "echo": 0, "strided": 0}
SHAPES = ((), (0,), (1,), (3, 0, 2), (5, 7), (2, 3, 4, 5), (400_000,))


def note(tensor, source, number, dtype, shape):
    wanted = world.filled(getattr(torch, dtype), shape, source, number)
    world.same(tensor, wanted, f"message {number} of rank {source}")
    seen.append((source, number))


def end(tensor, source):
    assert tensor is None
    counts["end"] += 1


def ask(tensor, source, depth):
    if depth:
        pipe.send(source, "ask", tensor + 1, depth=depth - 1)
    else:
        counts["echo"] += int(tensor[0])


def strided(tensor, source):
    """Needs its own name, because a fast rank sends the message while others await their last notes."""
    world.same(tensor, world.filled(torch.float32, (5, 7), source, 9), "a message of strides")
    counts["strided"] += 1


pipe.on("note", note)
pipe.on("strided", strided)
pipe.on("end", end)
pipe.on("ask", ask)
kinds = [(dtype, shape) for dtype in world.ALL for shape in SHAPES]
for number, (dtype, shape) in enumerate(kinds):
    for to in range(ranks):
        pipe.send(to, "note", world.filled(dtype, shape, rank, number), number=number, dtype=str(dtype).split(".")[1], shape=shape)
    pipe.poll()
for to in range(ranks):
    pipe.send(to, "ask", torch.zeros(1), depth=4)
while counts["echo"] < 4 * ranks or len(seen) < ranks * len(kinds):
    pipe.poll()
for source in range(ranks):
    assert [number for one, number in seen if one == source] == list(range(len(kinds))), f"order of rank {source}"
pipe.send((rank + 1) % ranks, "strided", world.filled(torch.float32, (5, 7), rank, 9).t().contiguous().t())
for to in range(ranks):
    pipe.send(to, "end")
while counts["end"] < ranks or not counts["strided"]:
    pipe.poll()
pipe.flush()
assert pipe.poll() == 0

with world.raises(ValueError, "dest is"):
    pipe.send(ranks, "end")
pipe.send(rank, "nonsense")
pipe.send(rank, "end")
try:
    while True:
        pipe.poll()
except KeyError as error:
    assert "nonsense" in str(error) and "ask" in str(error), error
while counts["end"] <= ranks:  # arrived after the nonsense, perhaps together
    pipe.poll()
if ranks > 2:
    group = dist.new_group([0, 2])
    if rank in (0, 2):
        other = torch_tern.pipe.Pipe(group)
        got = []
        other.on("hello", lambda tensor, source: got.append((source, tensor.item())))
        other.send(1 - dist.get_rank(group), "hello", torch.tensor(float(rank)))
        while not got:
            other.poll()
        assert got == [(1 - dist.get_rank(group), 2.0 - rank)], got
        other.flush()
    # Groups with a common rank, which has more pipes.
    for members in ((0, 1), (1, 2)):
        group = dist.new_group(list(members))
        if rank in members:
            other, got = torch_tern.pipe.Pipe(group), []
            other.on("hello", lambda tensor, source: got.append(source))
            other.send(1 - dist.get_rank(group), "hello")
            while not got:
                other.poll()
            other.flush()
dist.barrier()
world.end()
