# SPDX-License-Identifier: Apache-2.0
"""A program without an import of torch_tern: recent versions of PyTorch find the backend by the entry point."""
# ranks: 2

import os
import sys
import tempfile

import torch
import torch.distributed as dist

rank, ranks = int(os.environ["OMPI_COMM_WORLD_RANK"]), int(os.environ["OMPI_COMM_WORLD_SIZE"])
place = os.path.join(tempfile.gettempdir(), f"torch-tern-entry-{os.getppid()}")
try:
    dist.init_process_group("tern", init_method=f"file://{place}", rank=rank, world_size=ranks)
except ValueError as error:
    assert tuple(map(int, torch.__version__.split(".")[:2])) < (2, 15), error
    print("ok")
    sys.exit()
tensor = torch.ones(3)
dist.all_reduce(tensor)
assert tensor[0].item() == ranks
dist.destroy_process_group()
if rank == 0:
    print("ok")
