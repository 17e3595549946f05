# SPDX-License-Identifier: Apache-2.0
"""A rank is killed at a random moment, without a launcher to end the others: the others end at once, and name the rank.
The rank's work varies: small and large collectives, messages, futures. TURNS in the environment sets the number of
turns. Ranks without a dependency on the dead rank end normally without a wait. A rank that ends early after its part
causes no error. A rank that ends without the call does."""
# program: starts its ranks itself

import os
import random
import subprocess
import sys
import tempfile
import time

RANKS, TIMEOUT, AT_ONCE, VICTIM = 3, 60, 5, 2  # seconds; Python and PyTorch take most of AT_ONCE
LEFT = "left without an error"


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


def end_quietly(rank, place):
    """A message to the victim leaves before any rank knows of the death."""
    import torch
    import torch.distributed as dist

    import world

    world.begin(init_method=f"file://{place}/store", rank=rank, world_size=RANKS)
    dist.all_reduce(torch.ones(10))
    open(f"{place}/ready{rank}", "w").close()
    while not os.path.exists(f"{place}/killed"):
        time.sleep(0.05)
    dist.isend(torch.ones(1), VICTIM).wait()
    dist.destroy_process_group()
    print(LEFT, flush=True)


def end_early(rank, place):
    """Rank 2 ends after its part of the sum. Rank 1 is late."""
    import torch
    import torch.distributed as dist

    import world

    world.begin(init_method=f"file://{place}/store", rank=rank, world_size=RANKS)
    group, pair = dist.new_group(), dist.new_group([0, 2])
    open(f"{place}/ready{rank}", "w").close()
    if rank == 1:
        time.sleep(4)
    if rank == VICTIM:
        dist.isend(torch.full((3,), 7.0), 0, group=pair).wait()
    tensor = torch.ones(10)
    dist.reduce(tensor, 0, group=group)
    if rank == 0:
        assert torch.equal(tensor, torch.full((10,), 3.0)), tensor
        got = torch.empty(3)
        dist.recv(got, 2, group=pair)
        assert torch.equal(got, torch.full((3,), 7.0)), got
    print(LEFT, flush=True)


def end_without(rank, place):
    """Rank 2 ends, and the others make one more call."""
    import torch
    import torch.distributed as dist

    import world

    world.begin(init_method=f"file://{place}/store", rank=rank, world_size=RANKS)
    dist.all_reduce(torch.ones(10))
    open(f"{place}/ready{rank}", "w").close()
    if rank != VICTIM:
        try:
            dist.all_reduce(torch.ones(10))
        except dist.DistBackendError as error:
            print(error, flush=True)


def unserved(one):
    """Returns the seconds in which the main thread was ready to run, without a processor."""
    try:
        with open(f"/proc/{one.pid}/schedstat") as file:
            return int(file.read().split()[1]) / 1e9
    except (OSError, IndexError):
        return 0


def check_end(rank, one, words, killed, before, what):
    """Checks that the rank printed the words and ended in time. Python and PyTorch need half a second of CPU time to
    end, which takes long on a busy machine. So the time without a processor does not count. `before` is that time until
    the kill."""
    late = before
    while one.poll() is None:
        late = max(late, unserved(one))
        if time.time() - killed - (late - before) > AT_ONCE:
            one.kill()
            raise AssertionError(f"{what}: rank {rank} has not ended:\n{one.communicate()[0]}")
        time.sleep(0.05)
    text, _ = one.communicate()
    assert words in text, f"{what}: rank {rank} does not say \"{words}\":\n{text}"
    assert one.returncode == 0, f"{what}: rank {rank} ended with {one.returncode}:\n{text}"


def turn(what, how, victim, pause, words):
    with tempfile.TemporaryDirectory() as place:
        # The flight recorder would write a report for seconds.
        environment = dict(os.environ, TORCH_FR_BUFFER_SIZE="0", TORCH_NCCL_TRACE_BUFFER_SIZE="0", MASTER_ADDR="127.0.0.1",
                           MASTER_PORT="1", WORLD_SIZE=str(RANKS))
        ranks = [subprocess.Popen([sys.executable, "-W", "ignore", __file__, how, str(rank), place], stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, env=dict(environment, RANK=str(rank)))
                 for rank in range(RANKS)]
        try:
            while not all(os.path.exists(f"{place}/ready{rank}") for rank in range(RANKS)):
                for rank, one in enumerate(ranks):
                    assert one.poll() is None, f"{what}: rank {rank} ended before it began:\n{one.communicate()[0]}"
                time.sleep(0.05)
            time.sleep(pause)
            if how not in ("end_early", "end_without"):
                ranks[victim].kill()
            ranks[victim].wait()
            killed, before = time.time(), [unserved(one) for one in ranks]
            open(f"{place}/killed", "w").close()
            for rank, one in enumerate(ranks):
                if rank != victim:
                    check_end(rank, one, words, killed, before[rank], what)
        finally:
            for one in ranks:
                one.kill()
                one.wait()


if len(sys.argv) > 1:
    {"work": work, "end_quietly": end_quietly, "end_early": end_early, "end_without": end_without}[sys.argv[1]](int(sys.argv[2]), sys.argv[3])
else:
    seed = int(os.environ.get("SEED", time.time_ns() % 100000))
    print("SEED", seed)
    for number in range(int(os.environ.get("TURNS", 4))):
        chance = random.Random(seed + number)
        victim = chance.randrange(RANKS)
        turn(f"turn {number}", "work", victim, chance.uniform(0.1, 1.5), f"rank {victim} has died")
    turn("a quiet end", "end_quietly", VICTIM, 0, LEFT)
    turn("an early end", "end_early", VICTIM, 0, LEFT)
    turn("an end without the call", "end_without", VICTIM, 0, f"rank {VICTIM} of {RANKS} has left after 1 collectives")
    print("ok")
