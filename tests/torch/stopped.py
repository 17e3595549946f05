# SPDX-License-Identifier: Apache-2.0
"""A stopped rank (SIGSTOP, a debugger) is reported as stopped, inside and outside a call."""
# program: starts its ranks itself

import os
import signal
import subprocess
import sys
import tempfile
import time


def work(how, rank, place):
    import torch
    import torch.distributed as dist

    import world

    world.begin(init_method=f"file://{place}/store", rank=rank, world_size=2, timeout=world.milliseconds(4000))
    dist.all_reduce(torch.ones(1))
    open(f"{place}/ready{rank}", "w").close()
    if rank == 0 or how == "outside":
        while not os.path.exists(f"{place}/stopped"):
            time.sleep(0.05)
    try:
        dist.all_reduce(torch.ones(2_000_000))
    except dist.DistBackendError as error:
        print(error, flush=True)
    os._exit(0)


def check(how, words):
    with tempfile.TemporaryDirectory() as place:
        ranks = [subprocess.Popen([sys.executable, "-W", "ignore", __file__, how, str(rank), place], stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True,
                                  env=dict(os.environ, RANK=str(rank), WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT="1",
                                           TORCH_FR_BUFFER_SIZE="0"))
                 for rank in range(2)]
        try:
            while not all(os.path.exists(f"{place}/ready{rank}") for rank in range(2)):
                for rank, one in enumerate(ranks):
                    assert one.poll() is None, f"{how}: rank {rank} ended before it began:\n{one.communicate()[0]}"
                time.sleep(0.05)
            time.sleep(0.5)
            ranks[1].send_signal(signal.SIGSTOP)
            open(f"{place}/stopped", "w").close()
            text, _ = ranks[0].communicate(timeout=40)
            assert words in text, f"{how}: no \"{words}\":\n{text}"
        finally:
            for one in ranks:
                one.kill()
                one.wait()


if len(sys.argv) > 1:
    work(sys.argv[1], int(sys.argv[2]), sys.argv[3])
else:
    check("inside", "rank 1 is stopped in allreduce number 1")
    check("outside", "rank 1 is stopped; its last call was allreduce number 0")
    print("ok")
