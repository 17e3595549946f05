# SPDX-License-Identifier: Apache-2.0
"""A rank is killed at a random moment, without a launcher that would end the others: these end by their time-out, and say who it
was. What it was doing differs: small and large collectives, messages, futures; TURNS in the environment asks for more of them."""
# program: starts its ranks itself

import os
import random
import subprocess
import sys
import tempfile
import time

RANKS, TIMEOUT, GRACE = 3, 3, 5


def work(rank, place):
    import torch
    import torch.distributed as dist

    import world

    world.begin(init_method=f"file://{place}/store", rank=rank, world_size=RANKS, timeout=world.milliseconds(1000 * TIMEOUT))
    open(f"{place}/ready{rank}", "w").close()
    small, large, got = torch.ones(10), torch.ones(2_000_000), torch.empty(50_000)
    try:
        while True:
            for tensor in (small, large):
                dist.all_reduce(tensor, dist.ReduceOp.AVG)
                dist.all_reduce(tensor, dist.ReduceOp.AVG, async_op=True).get_future().wait()
            works = dist.batch_isend_irecv([dist.P2POp(dist.isend, torch.ones(50_000), (rank + 1) % RANKS),
                                            dist.P2POp(dist.irecv, got, (rank - 1) % RANKS)])
            for one in works:
                one.wait()
            dist.broadcast(large, 0)
            dist.barrier()
    except Exception as error:
        print(f"{type(error).__name__}: {error}", flush=True)


def turn(number, chance):
    with tempfile.TemporaryDirectory() as place:
        # Without PyTorch's flight recorder, which writes a report of its own when a group ends, for seconds.
        environment = dict(os.environ, TORCH_FR_BUFFER_SIZE="0", TORCH_NCCL_TRACE_BUFFER_SIZE="0", MASTER_ADDR="127.0.0.1", MASTER_PORT="1", WORLD_SIZE=str(RANKS))
        ranks = [subprocess.Popen([sys.executable, "-W", "ignore", __file__, str(rank), place], stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, env=dict(environment, RANK=str(rank)))
                 for rank in range(RANKS)]
        try:
            while not all(os.path.exists(f"{place}/ready{rank}") for rank in range(RANKS)):
                assert all(one.poll() is None for one in ranks), "a rank ended before it began"
                time.sleep(0.05)
            victim = chance.randrange(RANKS)
            time.sleep(chance.uniform(0.1, 1.5))
            ranks[victim].kill()
            start = time.monotonic()
            for rank, one in enumerate(ranks):
                if rank != victim:
                    text, _ = one.communicate(timeout=max(0.1, start + TIMEOUT + GRACE - time.monotonic()))
                    assert f"rank {victim} has died" in text, f"turn {number}: rank {rank} does not name {victim}:\n{text}"
                    assert one.returncode == 0, f"turn {number}: rank {rank} ended with {one.returncode}:\n{text}"
        finally:
            for one in ranks:
                one.kill()
                one.wait()


if len(sys.argv) > 1:
    work(int(sys.argv[1]), sys.argv[2])
else:
    seed = int(os.environ.get("SEED", time.time_ns() % 100000))
    print("SEED", seed)
    for number in range(int(os.environ.get("TURNS", 4))):
        turn(number, random.Random(seed + number))
    print("ok")
