# SPDX-License-Identifier: Apache-2.0
"""A program started alone or with a wrong environment, and an end without destroy_process_group."""
# ranks: 1 2
# srun: 2

import os

import torch
import torch.distributed as dist

import torch_tern

torch_tern.init()
rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
of_launcher = [os.environ.get(name) or os.environ[other] for name, other in (
    ("OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS"), ("OMPI_COMM_WORLD_RANK", "SLURM_PROCID"))]
assert [str(ranks), str(rank)] == of_launcher, (ranks, rank, of_launcher)
assert int(os.environ["LOCAL_RANK"]) == rank and int(os.environ["LOCAL_WORLD_SIZE"]) == ranks
if ranks > 1:
    # RANK contradicts MPI's rank.
    os.environ["RANK"] = str((rank + 1) % ranks)
    try:
        dist.init_process_group("tern")
    except dist.DistBackendError as error:
        assert "torch_tern.init()" in str(error), error
    else:
        raise AssertionError("a wrong rank was accepted")
    for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"):
        del os.environ[name]
    torch_tern.init()
dist.init_process_group("tern")
work = dist.all_reduce(torch.ones(1), async_op=True)  # never waited for
tensor = torch.ones(1)
dist.all_reduce(tensor)
assert tensor.item() == ranks
if rank == 0:
    print("ok")
