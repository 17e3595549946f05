# SPDX-License-Identifier: Apache-2.0
"""A pipeline's activations travel during computation. Copy engines leave the whole GPU to the computation; kernels take a part.
Measures the slowdown of the computation by concurrent transfers.

    mpirun -n 2 python p2p_pipeline.py [--backend tern|nccl]        (one GPU per rank)
"""

import argparse
import time

import torch
import torch.distributed as dist

import torch_tern

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--backend", default="tern", choices=("tern", "nccl"))
parser.add_argument("--megabytes", type=int, default=64)
parser.add_argument("--size", type=int, default=8192, help="rows of the multiplied square matrices")
parser.add_argument("--steps", type=int, default=20)
options = parser.parse_args()
torch_tern.init()
has_gpus = torch.cuda.is_available()
dist.init_process_group(f"cpu:tern,cuda:{options.backend}" if has_gpus else "tern")
rank, ranks = dist.get_rank(), dist.get_world_size()


def measure(device):
    """Returns milliseconds of a step's computation: alone, and during a transfer in each direction."""
    weight = torch.randn(options.size, options.size, device=device, dtype=torch.bfloat16)
    data, result = torch.randn_like(weight), torch.empty_like(weight)
    sent = torch.ones(options.megabytes << 20, dtype=torch.uint8, device=device)
    got = torch.empty_like(sent)
    side = torch.cuda.Stream(device)
    right, left = (rank + 1) % ranks, (rank - 1) % ranks

    def step(transfers):
        works = []
        if transfers:
            with torch.cuda.stream(side):
                works = dist.batch_isend_irecv([dist.P2POp(dist.isend, sent, right), dist.P2POp(dist.irecv, got, left)])
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(8):
            torch.mm(weight, data, out=result)
        end.record()
        for work in works:
            work.wait()
        torch.cuda.synchronize(device)
        return begin.elapsed_time(end)

    times = {}
    for transfers in (False, True):
        for _ in range(3):
            step(transfers)
        dist.barrier()
        start = time.perf_counter()
        computing = sum(step(transfers) for _ in range(options.steps)) / options.steps
        times[transfers] = computing, (time.perf_counter() - start) / options.steps * 1e3
    assert got[0].item() == 1
    return times


if not has_gpus:
    if rank == 0:
        print("p2p_pipeline: no GPU found, nothing measured; each rank needs a GPU")
elif ranks < 2:
    print("p2p_pipeline: needs at least two ranks")
else:
    local = torch.device("cuda", rank % torch.cuda.device_count())
    torch.cuda.set_device(local)
    times = measure(local)
    (alone, _), (beside, whole) = times[False], times[True]
    if rank == 0:
        print(f"p2p_pipeline on {ranks} ranks, {options.backend}: computation {alone:.2f} ms alone, {beside:.2f} ms beside transfers of "
              f"{options.megabytes} MiB ({100 * (beside / alone - 1):+.1f} %), a step {whole:.2f} ms")
dist.destroy_process_group()
