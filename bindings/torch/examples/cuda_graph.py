# SPDX-License-Identifier: Apache-2.0
"""A training step in a CUDA graph, including the allreduce of the gradients. Before each replay, fresh data is copied into the
graph's input buffer.

    mpirun -n 2 python cuda_graph.py                                 (one GPU per rank, or one for all)
"""

import time

import torch
import torch.distributed as dist

import torch_tern

torch_tern.init()
dist.init_process_group("tern")
rank, ranks = dist.get_rank(), dist.get_world_size()
STEPS = 200


def train(device):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 1)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    batch, wanted = torch.empty(128, 64, device=device), torch.empty(128, 1, device=device)
    generator = torch.Generator(device).manual_seed(rank)

    def refresh():
        batch.normal_(generator=generator)
        wanted.copy_(batch.sum(1, keepdim=True).sin())

    def step():
        loss = (model(batch) - wanted).square().mean()
        loss.backward()
        for work in [dist.all_reduce(one.grad, dist.ReduceOp.AVG, async_op=True) for one in model.parameters()]:
            work.wait()
        optimizer.step()
        optimizer.zero_grad(set_to_none=False)
        return loss

    stream = torch.cuda.Stream(device)
    with torch.cuda.stream(stream):  # lazy allocations and the group's stream must precede the capture
        for _ in range(3):
            refresh()
            step()
    torch.cuda.synchronize(device)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        loss = step()
    losses, start = [], time.perf_counter()
    for _ in range(STEPS):
        refresh()
        graph.replay()
        losses.append(loss.detach().clone())
    torch.cuda.synchronize(device)
    return losses[0].item(), losses[-1].item(), (time.perf_counter() - start) / STEPS * 1e3


if not torch.cuda.is_available():
    if rank == 0:
        print("cuda_graph: no GPU found, no graph captured")
else:
    device = torch.device("cuda", rank % torch.cuda.device_count())
    torch.cuda.set_device(device)
    begin, end, spent = train(device)
    if rank == 0:
        print(f"cuda_graph on {ranks} ranks: loss {begin:.3f} at first, {end:.3f} after {STEPS} replays with fresh data, {spent:.2f} ms each")
dist.destroy_process_group()
