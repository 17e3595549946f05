# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C, and other signals with Python handlers, while a rank waits for a missing rank: the handler runs within a
second, and its exception leaves the call."""
# program: starts its ranks itself

import os
import signal
import subprocess
import sys
import tempfile
import time

LIMIT = 1.0


def wait_in(how):
    import torch
    import torch.distributed as dist

    tensor = torch.ones(10)
    if how == "all_reduce":
        dist.all_reduce(tensor)
    elif how == "wait":
        dist.all_reduce(tensor, async_op=True).wait()
    elif how == "large":
        dist.broadcast(torch.ones(2_000_000), 1)
    elif how == "handed_over":
        work = dist.all_reduce(tensor, async_op=True)
        work.get_future()
        work.wait()
    elif how == "sparse":
        dist.all_reduce(tensor.to_sparse())
    elif how == "recv":
        dist.recv(tensor, 1)
    elif how == "monitored_barrier":
        dist.monitored_barrier()
    elif how == "many":
        dist.all_reduce_coalesced([torch.ones(50_000), torch.ones(50_000)])


class Told(Exception):
    pass


def on_signal(number, frame):
    raise Told


def work(how, rank, place):
    import world

    world.begin(init_method=f"file://{place}/store", rank=rank, world_size=2)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores SIGINT
    signal.signal(signal.SIGUSR1, on_signal)
    open(f"{place}/ready{rank}", "w").close()
    if rank == 1:
        time.sleep(60)
    try:
        wait_in(how)
    except KeyboardInterrupt:
        print("interrupted at", time.monotonic(), flush=True)
    except Told:
        print("told at", time.monotonic(), flush=True)
    os._exit(0)


def check(how, number, word):
    with tempfile.TemporaryDirectory() as place:
        ranks = [subprocess.Popen([sys.executable, "-W", "ignore", __file__, how, str(rank), place], stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True,
                                  env=dict(os.environ, RANK=str(rank), WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT="1"))
                 for rank in range(2)]
        try:
            while not all(os.path.exists(f"{place}/ready{rank}") for rank in range(2)):
                for rank, one in enumerate(ranks):
                    assert one.poll() is None, f"{how}: rank {rank} ended before it began:\n{one.communicate()[0]}"
                time.sleep(0.05)
            time.sleep(1)
            sent = time.monotonic()
            ranks[0].send_signal(number)
            text, _ = ranks[0].communicate(timeout=30)
            assert word in text, f"{how}, {number.name}: no \"{word}\":\n{text}"
            took = float(text.split(word)[1].split()[0]) - sent
            assert took < LIMIT, f"{how}, {number.name}: the handler ran after {took:.1f} s"
        finally:
            for one in ranks:
                one.kill()
                one.wait()


if len(sys.argv) > 1:
    work(sys.argv[1], int(sys.argv[2]), sys.argv[3])
else:
    for how in ("all_reduce", "wait", "large", "handed_over", "sparse", "recv", "monitored_barrier", "many"):
        check(how, signal.SIGINT, "interrupted at")
    check("all_reduce", signal.SIGUSR1, "told at")
    print("ok")
