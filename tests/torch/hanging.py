# SPDX-License-Identifier: Apache-2.0
"""A rank hangs outside all calls, under torchrun: at the timeout, the exception of the other ranks names the waiting
ranks, the groups are dead, their buffers are never reused, and the job ends."""
# torchrun: 3

import os
import time

# The flight recorder writes its report inside the timed-out call. Rank 0 would still be inside at
# rank 1's timeout.
os.environ["TORCH_FR_BUFFER_SIZE"] = "0"

import torch
import torch.distributed as dist

import world

rank, ranks = world.begin(timeout=world.milliseconds(60000))
barrier_done = torch.ones(1)
dist.all_reduce(barrier_done)
for size, is_async in ((4, False), (2_000_000, False), (4, True), (2_000_000, True)):
    group = dist.new_group(timeout=world.milliseconds(1500))
    if rank == 2:
        time.sleep(3.2)
    else:
        time.sleep(0.7 * rank)  # rank 0's timeout comes first
        tensor = torch.ones(size)
        address, start = tensor.data_ptr(), time.monotonic()
        with world.raises(dist.DistBackendError, "rank 2 is in no call; its last call was allreduce number 0 of group \"0\""
                          if size == 4 and not is_async else "rank 2 is in no call; its last call was barrier"):
            work = dist.all_reduce(tensor, group=group, async_op=is_async)
            if is_async:
                work.wait()
        assert time.monotonic() - start < 6
        with world.raises(dist.DistBackendError,
                          "rank 1 waits in allreduce" if rank == 0 else "rank 0 is in no call; its last call was allreduce"):
            dist.barrier(group)
        time.sleep(1.5)  # outside all calls at rank 1's timeout
        # Peers may still write into the memory, so the allocator must not reuse the block.
        del tensor
        work = None
        if size > 4:
            others = [torch.empty(size) for _ in range(4)]
            assert address not in [one.data_ptr() for one in others], "memory of a pending call was freed"
    dist.barrier()
if rank == 0:
    print("ok")
