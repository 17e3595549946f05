# SPDX-License-Identifier: Apache-2.0
"""Timeouts: monitored barriers name missing ranks, waits end with an exception, only the group dies, hooks run."""
# ranks: 3

import os
import tempfile
import time

# The flight recorder would delay the end of calls by two seconds (flight_recorder.py).
os.environ["TORCH_FR_BUFFER_SIZE"] = "0"

import torch
import torch.distributed as dist

import world

rank, ranks = world.begin()
cpu = torch.device("cpu")

# Rank 1 is late: rank 0 names rank 1, the others get an error at once, and the group survives.
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

# A call of several dependent steps.
group = dist.new_group(timeout=world.milliseconds(400))
if rank == 0:
    with world.raises(dist.DistBackendError, "timeout of 400 ms"):
        dist.all_reduce(torch.eye(3).to_sparse(), group=group)
dist.barrier()

group = dist.new_group(timeout=world.milliseconds(400))
if rank == 2:
    future = dist.all_reduce(torch.ones(4), group=group, async_op=True).get_future()
    with world.raises(RuntimeError, "timeout of 400 ms"):
        future.wait()
dist.barrier()

# A receive without a message, with its own timeout.
group = dist.new_group()
if rank == 0:
    work = dist.irecv(torch.ones(4), 1, group=group)
    with world.raises(dist.DistBackendError, "timeout of 300 ms"):
        work.wait(world.milliseconds(300))
dist.barrier()

# abort() ends waits of other threads. The world survives.
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

# Also for ranks with pending requests.
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
