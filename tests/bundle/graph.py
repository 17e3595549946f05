# SPDX-License-Identifier: Apache-2.0
"""PyTorch captures MPIX_Allreduce_enqueue in a graph and replays it 1,000 times while a second thread polls MPI. `experiments`
starts 2 ranks. The constants are those of the standard ABI."""
import ctypes
import threading
from pathlib import Path

import torch

mpi = ctypes.CDLL(str(Path(__file__).resolve().parent / "lib/libmpi_abi.so.1"), mode=ctypes.RTLD_GLOBAL)
WORLD, FLOAT, SUM, THREADS = ctypes.c_void_p(0x101), ctypes.c_void_p(0x210), ctypes.c_void_p(0x21), 4096
COUNT, REPLAYS = 1000, 1000


def ok(code, call):
    if code != 0:
        raise SystemExit(f"{call} gives {code}")


def main():
    level, rank, ranks = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
    ok(mpi.MPI_Init_thread(None, None, THREADS, ctypes.byref(level)), "MPI_Init_thread")
    ok(mpi.MPI_Comm_rank(WORLD, ctypes.byref(rank)), "MPI_Comm_rank")
    ok(mpi.MPI_Comm_size(WORLD, ctypes.byref(ranks)), "MPI_Comm_size")
    queue = torch.cuda.Stream()
    handle, info = ctypes.c_void_p(queue.cuda_stream), ctypes.c_void_p()
    stream, comm = ctypes.c_void_p(), ctypes.c_void_p()
    ok(mpi.MPI_Info_create(ctypes.byref(info)), "MPI_Info_create")
    ok(mpi.MPI_Info_set(info, b"type", b"cudaStream_t"), "MPI_Info_set")
    ok(mpi.MPIX_Info_set_hex(info, b"value", ctypes.byref(handle), ctypes.sizeof(handle)), "MPIX_Info_set_hex")
    ok(mpi.MPIX_Stream_create(info, ctypes.byref(stream)), "MPIX_Stream_create")
    ok(mpi.MPIX_Stream_comm_create(WORLD, stream, ctypes.byref(comm)), "MPIX_Stream_comm_create")
    mine, total = torch.ones(COUNT, device="cuda"), torch.zeros(COUNT, device="cuda")

    def allreduce():
        at = [ctypes.c_void_p(tensor.data_ptr()) for tensor in (mine, total)]
        ok(mpi.MPIX_Allreduce_enqueue(*at, COUNT, FLOAT, SUM, comm), "MPIX_Allreduce_enqueue")

    with torch.cuda.stream(queue):
        allreduce()
    queue.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=queue):
        mine.add_(1)
        allreduce()
    over = threading.Event()

    def poll():
        flag = ctypes.c_int()
        while not over.is_set():
            ok(mpi.MPI_Iprobe(-1, -2, WORLD, ctypes.byref(flag), None), "MPI_Iprobe")

    poller = threading.Thread(target=poll)
    poller.start()
    for replay in range(REPLAYS):
        graph.replay()
        torch.cuda.synchronize()
        # A capture runs nothing, so the first replay adds the first 1.
        expected = (replay + 2) * ranks.value
        if not bool((total == expected).all()):
            raise SystemExit(f"rank {rank.value}, replay {replay}: {total[0].item()}, expected {expected}")
    over.set()
    poller.join()
    ok(mpi.MPI_Finalize(), "MPI_Finalize")


main()
