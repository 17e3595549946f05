# SPDX-License-Identifier: Apache-2.0
"""PowerGossip: no rank averages with all others. In each step every rank meets one neighbour, and the pair exchanges its
weights' difference as a product of two vectors, found by a step of power iteration.

    mpirun -n 4 python power_gossip.py
"""

import torch
import torch.distributed as dist

import torch_tern

torch.set_num_threads(1)
torch_tern.init()
dist.init_process_group("tern")
rank, ranks = dist.get_rank(), dist.get_world_size()


def exchange(tensor, peer):
    """The peer's tensor for mine."""
    theirs = torch.empty_like(tensor)
    for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, tensor, peer), dist.P2POp(dist.irecv, theirs, peer)]):
        work.wait()
    return theirs


def gossip(weights, directions, peer, step):
    """Moves both ends of the pair towards each other by a rank-one part of their difference."""
    sign = 1.0 if rank < peer else -1.0
    for weight, state in zip(weights, directions):
        matrix = weight.view(weight.shape[0], -1)
        left = step % 2 == 0  # power iteration from both sides in turn
        vector = state[peer]
        own = matrix.t() @ vector[0] if left else matrix @ vector[1]
        other = exchange(own, peer)
        difference = sign * (other - own)  # the same on both ends
        known = vector[0] if left else vector[1]  # of length 1
        part = torch.outer(known, difference) if left else torch.outer(difference, known)
        matrix.add_(part, alpha=0.5 * sign)
        vector[1 if left else 0] = difference / difference.norm().clamp_min(1e-12)


def neighbour(step):
    """The ring's edges in two colours: even ones, then odd ones."""
    peer = rank + 1 if (rank + step) % 2 == 0 else rank - 1
    if ranks % 2 and not 0 <= peer < ranks:
        return None  # a ring of odd length has a rank without a partner
    return peer % ranks


torch.manual_seed(0)
goal = torch.randn(40, 30)
generator = torch.Generator().manual_seed(rank + 1)
weight = torch.randn(40, 30, generator=generator)
directions = [{}]
for peer in range(ranks):
    shared = torch.Generator().manual_seed(1000 + min(rank, peer) * ranks + max(rank, peer))
    directions[0][peer] = [torch.nn.functional.normalize(torch.randn(size, generator=shared), dim=0) for size in (40, 30)]
for step in range(400):
    data = torch.randn(16, 40, generator=generator)
    weight -= 0.02 * data.t() @ (data @ (weight - goal)) / 16 * (0 if step > 200 else 1)
    peer = neighbour(step)
    if peer is not None and peer != rank:
        gossip([weight], directions, peer, step)
mean = weight.clone()
dist.all_reduce(mean, dist.ReduceOp.AVG)
spread = (weight - mean).norm() / mean.norm()
dist.all_reduce(spread, dist.ReduceOp.MAX)
if rank == 0:
    sent = 400 * 35 * 4
    print(f"power_gossip on {ranks} ranks: distance to the goal {((mean - goal).norm() / goal.norm()).item():.3f}, ranks differ by "
          f"{spread.item():.1e}, {sent / 1e3:.0f} kB sent a rank (whole weights: {400 * weight.nbytes / 1e3:.0f})")
dist.destroy_process_group()
