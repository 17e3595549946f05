# SPDX-License-Identifier: Apache-2.0
"""Exits in any order: with and without destroy_process_group, of groups and the world, with live Works and futures, and
of one rank after another."""
# program: starts its ranks itself

import subprocess
import sys
import time

ENDS = ("destroy", "nothing", "groups_first", "world_first", "works_live", "sys_exit", "late_ranks", "works_unseen", "works_late")


def work(how):
    import torch
    import torch.distributed as dist

    import world

    rank, ranks = world.begin()
    groups = [dist.new_group() for _ in range(3)]
    kept = [dist.all_reduce(torch.ones(1000), group=group, async_op=True) for group in groups]
    futures = [one.get_future() for one in kept]
    for one in futures:
        one.wait()
    if how == "groups_first":
        for group in groups:
            dist.destroy_process_group(group)
        dist.destroy_process_group()
    elif how in ("destroy", "works_live", "late_ranks"):
        if how == "late_ranks":
            time.sleep(0.4 * rank)
        if how != "works_live":
            kept.clear()
            futures.clear()
        dist.destroy_process_group()
    elif how == "world_first":
        world_group = dist.group.WORLD
        dist.destroy_process_group()
        del world_group
        groups.clear()
    elif how in ("works_unseen", "works_late"):  # Works without a wait stay alive
        if how == "works_late":
            time.sleep(0.3 * rank)
        kept += [dist.all_reduce(torch.ones(10), group=group, async_op=True) for group in groups]
    if how == "sys_exit":
        sys.exit(0)
    globals()["alive"] = (kept, futures, groups)


if len(sys.argv) > 1:
    work(sys.argv[1])
else:
    for how in ENDS:
        done = subprocess.run(["mpirun", "-n", "3", "--timeout", "60", sys.executable, "-W", "ignore", __file__, how],
                              capture_output=True, text=True)
        assert done.returncode == 0, f"{how}: exit code {done.returncode}\n{done.stdout}{done.stderr}"
        for words in ("without MPI_Finalize", "Traceback", "leaked"):
            assert words not in done.stderr, f"{how}:\n{done.stderr}"
    print("ok")
