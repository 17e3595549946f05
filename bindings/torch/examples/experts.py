# SPDX-License-Identifier: Apache-2.0
"""Mixture of experts, one per rank: a gate sends each token to an expert, and the result returns.

    mpirun -n 4 python experts.py
"""

import torch
import torch.distributed as dist

import torch_tern

torch.set_num_threads(1)
torch_tern.init()
dist.init_process_group("tern")
rank, ranks = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
gate = torch.nn.Linear(16, ranks)
torch.manual_seed(rank)
expert = torch.nn.Sequential(torch.nn.Linear(16, 64), torch.nn.ReLU(), torch.nn.Linear(64, 16))


class Exchange(torch.autograd.Function):
    """Sends rows to the ranks by these splits, and gradients in the reverse direction."""

    @staticmethod
    def forward(context, rows, sent, received):
        context.splits = sent, received
        output = rows.new_empty(sum(received), rows.shape[1])
        dist.all_to_all_single(output, rows.contiguous(), received, sent)
        return output

    @staticmethod
    def backward(context, gradient):
        sent, received = context.splits
        output = gradient.new_empty(sum(sent), gradient.shape[1])
        dist.all_to_all_single(output, gradient.contiguous(), sent, received)
        return output, None, None


def forward(tokens):
    scores = gate(tokens).softmax(1)
    weight, chosen = scores.max(1)
    order = chosen.argsort()
    sent = torch.bincount(chosen, minlength=ranks)
    received = torch.empty_like(sent)
    dist.all_to_all_single(received, sent)
    sent, received = sent.tolist(), received.tolist()
    answers = Exchange.apply(expert(Exchange.apply(tokens[order], sent, received)), received, sent)
    return torch.zeros_like(tokens).index_copy(0, order, answers) * weight.unsqueeze(1), sum(received)


optimizer = torch.optim.Adam([*gate.parameters(), *expert.parameters()], lr=3e-3)
generator = torch.Generator().manual_seed(rank)
first = None
for step in range(150):
    tokens = torch.randn(256, 16, generator=generator)
    output, load = forward(tokens)
    loss = (output - tokens.roll(1, dims=1).relu()).square().mean()
    optimizer.zero_grad()
    loss.backward()
    for parameter in gate.parameters():  # replicated gate, one expert per rank
        dist.all_reduce(parameter.grad, dist.ReduceOp.AVG)
    optimizer.step()
    first = first or loss.item()
loads = [None] * ranks
dist.all_gather_object(loads, load)
if rank == 0:
    print(f"experts on {ranks} ranks: loss {first:.3f} at first, {loss.item():.3f} after 150 steps; tokens per expert {loads}")
dist.destroy_process_group()
