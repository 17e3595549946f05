# SPDX-License-Identifier: Apache-2.0
"""PowerGossip as a communication hook of DDP: no rank averages with all others. In each step a rank meets one neighbour. During
backward the pair exchanges the difference of the weights as a product of two vectors, found by a step of power iteration.

    mpirun -n 4 python power_gossip.py
"""

import torch
import torch.distributed as dist
from torch.nn.functional import normalize
from torch.nn.parallel import DistributedDataParallel

import torch_tern

torch.set_num_threads(1)
torch_tern.init()
dist.init_process_group("tern")
rank, ranks = dist.get_rank(), dist.get_world_size()
RATE, STEPS = 0.05, 600


class Gossip:
    """The state of pairs between steps. `rate`: the learning rate of SGD."""

    def __init__(self, rate):
        self.rate, self.step, self.meetings, self.vectors, self.sent = rate, 0, [0] * ranks, {}, 0

    def neighbour(self):
        """Colours the ring's edges, even edges before odd edges. Returns None if a ring of odd length leaves this rank without a partner."""
        peer = rank + 1 if (rank + self.step) % 2 == 0 else rank - 1
        if ranks % 2 and not 0 <= peer < ranks:
            return None
        return peer % ranks if peer % ranks != rank else None

    def vectors_of(self, weight, peer):
        """Returns unit vectors, equal on both ends."""
        if (weight, peer) not in self.vectors:
            generator = torch.Generator().manual_seed(1000 + min(rank, peer) * ranks + max(rank, peer))
            shape = weight.view(len(weight), -1).shape
            self.vectors[weight, peer] = [normalize(torch.randn(size, generator=generator), dim=0) for size in shape]
        return self.vectors[weight, peer]


def hook(state, bucket):
    """Keeps each rank's gradients, and adds a rank-one part of the pair's difference, to move both ends half-way towards each other."""
    peer = state.neighbour()
    state.step += bucket.is_last()
    if peer is None:
        done = torch.futures.Future()
        done.set_result(bucket.buffer())
        return done
    left = state.meetings[peer] % 2 == 0  # power iteration alternates between the sides
    state.meetings[peer] += bucket.is_last()
    weights, gradients = bucket.parameters(), bucket.gradients()
    matrices = [weight.detach().view(len(weight), -1) for weight in weights]
    known = [state.vectors_of(weight, peer)[0 if left else 1] for weight in weights]
    own = [matrix.t() @ vector if left else matrix @ vector for matrix, vector in zip(matrices, known)]
    flat = torch.cat(own)
    theirs = torch.empty_like(flat)
    sent = dist.isend(flat, peer)
    state.sent += flat.nbytes

    def correct(_):
        sent.wait()
        for weight, gradient, vector, mine, other in zip(weights, gradients, known, own, theirs.split([len(one) for one in own])):
            difference = mine - other
            part = torch.outer(vector, difference) if left else torch.outer(difference, vector)
            gradient.add_(part.view_as(gradient), alpha=0.5 / state.rate)
            state.vectors_of(weight, peer)[1 if left else 0] = normalize(difference if rank < peer else -difference, dim=0)
        return bucket.buffer()

    return dist.irecv(theirs, peer).get_future().then(correct)


torch.manual_seed(0)
goal = torch.nn.Linear(20, 10)
model = DistributedDataParallel(torch.nn.Linear(20, 10))
state = Gossip(RATE)
model.register_comm_hook(state, hook)
generator = torch.Generator().manual_seed(rank + 1)
with torch.no_grad():  # different start values per rank
    for weight in model.parameters():
        weight.copy_(torch.randn(weight.shape, generator=generator))
seen = torch.zeros(20)
seen[rank::ranks] = 1  # each rank sees a part of the inputs and learns the rest by gossip
optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
for _ in range(STEPS):
    data = torch.randn(16, 20, generator=generator) * seen
    loss = (model(data) - goal(data).detach()).square().sum(1).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
weight, wanted = model.module.weight.detach(), goal.weight.detach()
distance = (weight - wanted).norm() / wanted.norm()
dist.all_reduce(distance, dist.ReduceOp.MAX)
if rank == 0:
    whole = STEPS * sum(one.nbytes for one in model.parameters())
    print(f"power_gossip on {ranks} ranks, each of which sees 1/{ranks} of the inputs: after {STEPS} steps none is further than "
          f"{distance.item():.3f} from the goal; {state.sent / 1e3:.0f} kB sent a rank (whole weights: {whole / 1e3:.0f})")
dist.destroy_process_group()
