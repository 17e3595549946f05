# SPDX-License-Identifier: Apache-2.0
"""Forked processes, for example DataLoader's workers, exit normally, and get an error if they communicate."""
# ranks: 2

import os

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, TensorDataset

import world

rank, ranks = world.begin()
dist.all_reduce(torch.ones(10), async_op=True).get_future().wait()  # starts the threads
data = TensorDataset(torch.arange(64.0))
for _ in range(2):
    total = torch.zeros(1)
    for (batch,) in DataLoader(data, batch_size=8, num_workers=2, multiprocessing_context="fork"):
        part = batch.sum().reshape(1)
        dist.all_reduce(part)
        total += part
    world.same(total, torch.tensor([ranks * 2016.0]), "batches of forked workers")

child = os.fork()
if child == 0:
    try:
        dist.all_reduce(torch.ones(1))
    except dist.DistBackendError as error:
        os._exit(0 if "forked" in str(error) else 2)
    os._exit(3)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, "a forked process could communicate"
tensor = torch.ones(1)
dist.all_reduce(tensor)
assert tensor.item() == ranks
world.end()
