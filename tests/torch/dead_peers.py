# SPDX-License-Identifier: Apache-2.0
"""A rank is killed while the others wait outside collectives: a pending pipe ends with an error, without a crash, and a
monitored barrier names the rank."""
# program: starts its ranks itself

import os
import subprocess
import sys
import tempfile
import time

RANKS, VICTIM = 3, 1


def await_kill(place):
    open(f"{place}/ready{os.environ['RANK']}", "w").close()
    while not os.path.exists(f"{place}/killed"):
        time.sleep(0.02)


def pipes(place):
    """A large message to the rank is in flight, and half of a message from the rank has arrived."""
    import torch
    import torch.distributed as dist

    import torch_tern
    import world

    rank, _ = world.begin(init_method=f"file://{place}/store", rank=int(os.environ["RANK"]), world_size=RANKS,
                          timeout=world.milliseconds(3000))
    pipe = torch_tern.pipe.Pipe()
    pipe.on("large", lambda tensor, source: None)
    large = torch.ones(4_000_000)
    if rank == VICTIM:
        pipe.send(0, "large", large)
        await_kill(place)
    pipe.send(VICTIM, "large", large)
    await_kill(place)
    started = time.monotonic()
    with world.raises(dist.DistBackendError, f"rank {VICTIM} has died"):
        while True:
            pipe.poll()
            pipe.flush()
    del pipe  # with unsent messages
    assert time.monotonic() - started < 3 + 5
    print("it lives on", flush=True)


def barriers(place):
    import torch
    import torch.distributed as dist

    import world

    rank, _ = world.begin(init_method=f"file://{place}/store", rank=int(os.environ["RANK"]), world_size=RANKS,
                          timeout=world.milliseconds(2000))
    dist.all_reduce(torch.ones(10))
    await_kill(place)
    if not hasattr(torch._C._distributed_c10d, "FlightRecorderHook"):  # gloo only before 2.15
        print("it lives on", flush=True)
        return
    for _ in range(2):
        words = f"Rank {VICTIM} failed to pass monitoredBarrier" if rank == 0 else "successfully reached monitoredBarrier"
        with world.raises(RuntimeError, words):
            dist.monitored_barrier(timeout=world.milliseconds(1000))
    print("it lives on", flush=True)


def turn(how):
    with tempfile.TemporaryDirectory() as place:
        environment = dict(os.environ, TORCH_FR_BUFFER_SIZE="0", MASTER_ADDR="127.0.0.1", MASTER_PORT="1", WORLD_SIZE=str(RANKS))
        ranks = [subprocess.Popen([sys.executable, "-W", "ignore", __file__, how, place], stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, env=dict(environment, RANK=str(rank)))
                 for rank in range(RANKS)]
        try:
            while not all(os.path.exists(f"{place}/ready{rank}") for rank in range(RANKS)):
                for rank, one in enumerate(ranks):
                    assert one.poll() is None, f"{how}: rank {rank} ended before it began:\n{one.communicate()[0]}"
                time.sleep(0.05)
            ranks[VICTIM].kill()
            ranks[VICTIM].wait()
            open(f"{place}/killed", "w").close()
            for rank, one in enumerate(ranks):
                if rank != VICTIM:
                    text, _ = one.communicate(timeout=60)
                    assert one.returncode == 0 and "it lives on" in text, f"{how}: rank {rank} ended with {one.returncode}:\n{text}"
        finally:
            for one in ranks:
                one.kill()
                one.wait()


if len(sys.argv) > 1:
    {"pipes": pipes, "barriers": barriers}[sys.argv[1]](sys.argv[2])
else:
    turn("pipes")
    turn("barriers")
    print("ok")
