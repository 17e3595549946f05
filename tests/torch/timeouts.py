# SPDX-License-Identifier: Apache-2.0
"""Time-outs: monitored barriers name the missing, waits end with an exception, groups die alone, hooks are called."""
# ranks: 3

import os
import tempfile
import time

# PyTorch's flight recorder has two seconds for its report before the calls end; flight_recorder.py has that.
os.environ["TORCH_FR_BUFFER_SIZE"] = "0"

import torch
import torch.distributed as dist

import world

rank, ranks = world.begin()
cpu = torch.device("cpu")

# Rank 1 comes too late: rank 0 names it, the others are told at once; the group lives.
dist.monitored_barrier()
started = time.monotonic()
if rank == 0:
    with world.raises(RuntimeError, "Rank 1 failed to pass monitoredBarrier in 300 ms"):
        dist.monitored_barrier(timeout=world.milliseconds(300))
elif rank == 2:
    with world.raises(RuntimeError, "successfully reached monitoredBarrier"):
        dist.monitored_barrier(timeout=world.milliseconds(5000))
assert time.monotonic() - started < 2
dist.barrier()
if rank == 0:
    with world.raises(RuntimeError, "Ranks 1, 2 failed to pass monitoredBarrier in 200 ms"):
        dist.monitored_barrier(timeout=world.milliseconds(200), wait_all_ranks=True)
dist.barrier()
dist.monitored_barrier()

# A wait for a call that another rank does not make.
for is_async in (True, False):
    group = dist.new_group(timeout=world.milliseconds(400))
    hooks = []
    backend = group._get_backend(cpu)
    if rank != 1:
        tensor = torch.ones(4)
        started = time.monotonic()
        with world.raises(dist.DistBackendError, "did not complete on rank"):
            if is_async:
                dist.all_reduce(tensor, group=group, async_op=True).wait()
            else:
                dist.all_reduce(tensor, group=group)
        assert 0.3 < time.monotonic() - started < 3
        with world.raises(dist.DistBackendError, "has ended"):
            dist.barrier(group)
    dist.barrier()

# Of several calls that need each other's results.
group = dist.new_group(timeout=world.milliseconds(400))
if rank == 0:
    with world.raises(dist.DistBackendError, "timeout of 400 ms"):
        dist.all_reduce(torch.eye(3).to_sparse(), group=group)
dist.barrier()

# By a future.
group = dist.new_group(timeout=world.milliseconds(400))
if rank == 2:
    future = dist.all_reduce(torch.ones(4), group=group, async_op=True).get_future()
    with world.raises(RuntimeError, "timeout of 400 ms"):
        future.wait()
dist.barrier()

# A receive that nothing answers, with a time of its own.
group = dist.new_group()
if rank == 0:
    work = dist.irecv(torch.ones(4), 1, group=group)
    with world.raises(dist.DistBackendError, "timeout of 300 ms"):
        work.wait(world.milliseconds(300))
dist.barrier()

# Abort ends the waits of other threads; the world goes on.
if hasattr(backend, "abort"):
    import threading
    group = dist.new_group()
    if rank == 0:
        work, errors = dist.irecv(torch.ones(4), 1, group=group), []

        def wait():
            try:
                work.wait()
            except dist.DistBackendError as error:
                errors.append(str(error))

        thread = threading.Thread(target=wait)
        thread.start()
        time.sleep(0.2)
        group._get_backend(cpu).abort()
        thread.join(5)
        assert errors and "aborted" in errors[0], errors
tensor = torch.ones(1)
dist.all_reduce(tensor)
assert tensor.item() == ranks

# Another world, in which ranks that have stuck requests still belong together with the others.
dist.barrier()
dist.destroy_process_group()
group = backend = work = None
place = os.path.join(tempfile.gettempdir(), f"torch-tern-late-{os.getppid()}")
world.begin(init_method=f"file://{place}", rank=rank, world_size=ranks)
tensor = torch.ones(1)
dist.all_reduce(tensor)
assert tensor.item() == ranks
if rank == 0:
    print("ok")
