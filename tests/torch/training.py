# SPDX-License-Identifier: Apache-2.0
"""DistributedDataParallel for 50 steps: equal weights on all ranks, equal in two runs, and the loss of gloo."""
# ranks: 2 4

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
from torch.nn.parallel import DistributedDataParallel

import world

rank, ranks = world.begin()
gloo = dist.new_group(backend="gloo")


def train(group, steps, hook=None, bucket_cap_mb=0.2, **options):
    """Returns the weights after `steps` steps on data drawn per rank, and the average of the last loss."""
    torch.manual_seed(7)
    model = torch.nn.Sequential(torch.nn.Linear(20, 300), torch.nn.ReLU(), torch.nn.Linear(300, 300), torch.nn.Tanh(),
                                torch.nn.Linear(300, 1))
    model = DistributedDataParallel(model, process_group=group, bucket_cap_mb=bucket_cap_mb, **options)
    if hook:
        hook(model, group)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    generator = torch.Generator().manual_seed(rank)
    for _ in range(steps):
        data = torch.randn(16, 20, generator=generator)
        loss = (model(data) - data.sum(1, keepdim=True).sin()).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    last = loss.detach().clone()
    dist.all_reduce(last)
    return torch.cat([one.detach().flatten() for one in model.parameters()]), last.item() / ranks


def agreed(weights, what):
    every = [torch.empty_like(weights) for _ in range(ranks)]
    dist.all_gather(every, weights)
    for other in every:
        world.same(other, weights, what)


ours, loss = train(dist.group.WORLD, 50)
agreed(ours, "weights of all ranks")
again, _ = train(dist.group.WORLD, 50)
world.same(again, ours, "weights of two runs")
theirs, gloos_loss = train(gloo, 50)
assert abs(loss - gloos_loss) < 1e-6, (loss, gloos_loss)
if ranks == 2:
    world.same(ours, theirs, "gloo's weights")


def fp16(model, group):
    model.register_comm_hook(group, default_hooks.fp16_compress_hook)


def bf16(model, group):
    model.register_comm_hook(group, default_hooks.bf16_compress_hook)


def power_sgd(model, group):
    state = powerSGD_hook.PowerSGDState(group, matrix_approximation_rank=2, start_powerSGD_iter=3)
    model.register_comm_hook(state, powerSGD_hook.powerSGD_hook)


# PowerSGD communicates from callbacks, in no fixed order with several buckets. gloo aborts then.
for hook, megabytes in ((fp16, 0.2), (bf16, 0.2), (power_sgd, 100)):
    weights, hooked = train(dist.group.WORLD, 20, hook, megabytes)
    agreed(weights, f"weights with {hook.__name__}")
    _, by_gloo = train(gloo, 20, hook, megabytes)
    assert abs(hooked - by_gloo) < 1e-4, (hook.__name__, hooked, by_gloo)

weights, _ = train(dist.group.WORLD, 5, gradient_as_bucket_view=True, find_unused_parameters=True)
agreed(weights, "weights with views of buckets")
weights, _ = train(dist.group.WORLD, 5, static_graph=True)
agreed(weights, "weights of a static graph")
world.end()
