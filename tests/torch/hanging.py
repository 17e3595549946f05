# SPDX-License-Identifier: Apache-2.0
"""A rank that hangs outside all calls, by torchrun: at the deadline the exception of the others says who waits for whom, the
groups are dead, what they held is not used again, and the job ends."""
# torchrun: 3

import os
import time

# PyTorch's flight recorder writes its report within the call whose time is over: rank 0 would be in it when rank 1's time comes.
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
        time.sleep(0.7 * rank)  # rank 0's time comes first
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
        time.sleep(1.5)  # in no call, when rank 1's time comes
        # Peers may still write there: the memory is not given to anything else.
        del tensor
        work = None
        if size > 4:
            others = [torch.empty(size) for _ in range(4)]
            assert address not in [one.data_ptr() for one in others], "memory under way was freed"
    dist.barrier()
if rank == 0:
    print("ok")
