# SPDX-License-Identifier: Apache-2.0
"""mpi4py in the same process: both use one MPI, in either order, and their messages do not mix. Meanwhile, worlds of
torch.distributed start and end, and workers fork. Either library may end first."""
# mpi4py: 2 4

import os
import sys
import tempfile

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, TensorDataset

import world

first = sys.argv[1:] == ["mpi4py_first"]
if first:
    from mpi4py import MPI
rank, ranks = world.begin()
if not first:
    from mpi4py import MPI
comm = MPI.COMM_WORLD
assert (comm.rank, comm.size) == (rank, ranks), (comm.rank, comm.size, rank, ranks)


def both(turn):
    """Concurrent calls of both."""
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


for turn in range(20):
    both(turn)
tensor = torch.ones(4)
comm.Allreduce(MPI.IN_PLACE, tensor.numpy(), op=MPI.SUM)  # mpi4py accepts a tensor's memory as a buffer
assert tensor[0].item() == ranks

for (batch,) in DataLoader(TensorDataset(torch.arange(64.0)), batch_size=8, num_workers=2, multiprocessing_context="fork"):
    dist.all_reduce(batch)
    assert comm.allreduce(1) == ranks
child = os.fork()
if child == 0:
    try:
        dist.all_reduce(torch.ones(1))
    except dist.DistBackendError as error:
        os._exit(0 if "forked" in str(error) else 2)
    os._exit(3)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, "a forked process could communicate"

dist.destroy_process_group()
assert comm.allreduce(1) == ranks  # MPI still works
place = comm.bcast(os.path.join(tempfile.gettempdir(), f"torch-tern-mpi4py-{os.getpid()}-"))
for turn in range(10):  # the last rank's store removes the file
    world.begin(init_method=f"file://{place}{turn}", rank=rank, world_size=ranks)
    both(turn)
    dist.barrier()
    dist.destroy_process_group()
world.begin(init_method=f"file://{place}last", rank=rank, world_size=ranks)
both(1)
dist.barrier()
if rank == 0:
    print("ok")
if "mpi_ends_first" in sys.argv:
    MPI.Finalize()  # open objects of torch.distributed are closed at exit
