# SPDX-License-Identifier: Apache-2.0
"""Ranks with different types, operations, roots or sizes. With TERN_CHECK=collective or TORCH_DISTRIBUTED_DEBUG=DETAIL,
all ranks get an error of one type with the calls of both ranks, in the caller's types and sizes. No data moves, and the
group continues. Matching calls pass. Without a check, different sizes give an error with the caller's sizes and the
switch."""
# program: starts its ranks itself

import os
import subprocess
import sys

ENOUGH = "the calls were told apart"


def cases():
    import torch
    import torch.distributed as dist

    SUM, MAX = dist.ReduceOp.SUM, dist.ReduceOp.MAX
    short = {0: torch.float32, 1: torch.int32}
    return {
        "type": (lambda rank, group: dist.all_reduce(torch.ones(10, dtype=short[rank]), group=group),
                 "rank 0 calls allreduce of 10 Float by SUM, but rank 1 calls allreduce of 10 Int by SUM"),
        "type of bytes": (lambda rank, group: dist.broadcast(torch.ones(10, dtype=short[rank]), 0, group=group),
                          "rank 0 calls broadcast of 10 Float with root 0, but rank 1 calls broadcast of 10 Int with root 0"),
        "operation": (lambda rank, group: dist.all_reduce(torch.ones(10), MAX if rank else SUM, group=group),
                      "rank 0 calls allreduce of 10 Float by SUM, but rank 1 calls allreduce of 10 Float by MAX"),
        "root": (lambda rank, group: dist.broadcast(torch.ones(10), rank, group=group),
                 "rank 0 calls broadcast of 10 Float with root 0, but rank 1 calls broadcast of 10 Float with root 1"),
        "size": (lambda rank, group: dist.all_reduce(torch.ones(10 + rank), group=group),
                 "rank 0 calls allreduce of 10 Float by SUM, but rank 1 calls allreduce of 11 Float by SUM"),
        "asynchronous": (lambda rank, group: dist.all_reduce(torch.ones(10 + 50_000 * rank), group=group, async_op=True).wait(),
                         "rank 0 calls allreduce of 10 Float by SUM, but rank 1 calls allreduce of 50010 Float by SUM"),
        "sum and scatter": (lambda rank, group: dist.reduce_scatter_tensor(torch.ones(3 + rank), torch.ones(6 + 2 * rank),
                                                                           group=group),
                            "rank 0 calls reduce_scatter of 6 Float by SUM, but rank 1 calls reduce_scatter of 8 Float by SUM"),
        "call": (lambda rank, group: dist.barrier(group) if rank else dist.broadcast(torch.ones(10), 0, group=group),
                 "rank 0 calls broadcast of 10 Float with root 0, but rank 1 calls barrier"),
    }


def right_calls(group):
    import torch
    import torch.distributed as dist

    dist.all_reduce(torch.ones(3), group=group)
    dist.all_gather([torch.empty(1), torch.empty(2)], torch.ones(1 + dist.get_rank()), group=group)
    rows = [2, 1] if dist.get_rank() == 0 else [2, 2]
    dist.all_to_all_single(torch.empty(4 if dist.get_rank() == 0 else 3), torch.ones(sum(rows)),
                           [2, 2] if dist.get_rank() == 0 else [1, 2], rows, group=group)
    dist.all_reduce_coalesced([torch.ones(3), torch.ones(50_000)], group=group)
    dist.barrier(group)
    dist.all_reduce(torch.ones(5), dist.ReduceOp.AVG, group=group, async_op=True).wait()


def work(switch):
    import torch.distributed as dist

    import world

    rank, _ = world.begin(timeout=world.milliseconds(20000))
    group = dist.new_group()
    right_calls(group)
    for name, (call, words) in cases().items():
        if switch == "none":
            group = dist.new_group()
            if name not in ("size", "asynchronous", "sum and scatter"):
                continue
            own = words.split(", but ")[rank].split(" calls ")[1]
            words = f"This rank calls {own}; TERN_CHECK=collective"
        try:
            call(rank, group)
        except dist.DistBackendError as error:
            assert words in str(error), f"{name}: the sentence lacks \"{words}\": {error}"
        except RuntimeError as error:  # PyTorch's own comparison knows types, shapes and calls
            assert switch == "DETAIL" and "Detected mismatch between collectives on ranks" in str(error), f"{name}: {error}"
            assert name not in ("operation", "root"), f"{name}: PyTorch detected the mismatch"
        else:
            raise AssertionError(f"{name}: no error")
        if switch != "none":
            right_calls(group)
    if rank == 0:
        print(ENOUGH)


if len(sys.argv) > 1:
    work(sys.argv[1])
else:
    for switch, variable in (("check", {"TERN_CHECK": "collective"}), ("DETAIL", {"TORCH_DISTRIBUTED_DEBUG": "DETAIL"}), ("none", {})):
        done = subprocess.run(["mpirun", "-n", "2", "--timeout", "100", sys.executable, "-W", "ignore", __file__, switch],
                              capture_output=True, text=True, env=dict(os.environ, **variable))
        assert done.returncode == 0 and ENOUGH in done.stdout, f"{switch}:\n{done.stdout}{done.stderr}"
    print("ok")
