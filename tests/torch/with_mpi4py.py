# SPDX-License-Identifier: Apache-2.0
"""mpi4py in the same process: both use one MPI, in either order, and their messages do not meet."""
# mpi4py: 2 4

import sys

import torch
import torch.distributed as dist

import world

first = sys.argv[1:] == ["mpi4py_first"]
if first:
    from mpi4py import MPI
rank, ranks = world.begin()
if not first:
    from mpi4py import MPI
comm = MPI.COMM_WORLD
assert (comm.rank, comm.size) == (rank, ranks), (comm.rank, comm.size, rank, ranks)
for turn in range(20):
    ours = dist.all_reduce(torch.full((1000,), float(rank + turn)), async_op=True)
    assert comm.allreduce(rank * turn) == sum(range(ranks)) * turn
    theirs = comm.irecv(source=(rank - 1) % ranks, tag=turn)
    got = torch.empty(3)
    sent = dist.isend(torch.full((3,), float(rank)), (rank + 1) % ranks, tag=turn)
    comm.send(("from", rank), dest=(rank + 1) % ranks, tag=turn)
    dist.recv(got, (rank - 1) % ranks, tag=turn)
    assert theirs.wait() == ("from", (rank - 1) % ranks) and got[0].item() == (rank - 1) % ranks
    sent.wait()
    ours.wait()
    assert ours.result()[0][0].item() == sum(range(ranks)) + ranks * turn
tensor = torch.ones(4)
comm.Allreduce(MPI.IN_PLACE, tensor.numpy(), op=MPI.SUM)  # a tensor's memory is a buffer of mpi4py
assert tensor[0].item() == ranks
dist.destroy_process_group()
assert comm.allreduce(1) == ranks  # MPI goes on
if rank == 0:
    print("ok")
