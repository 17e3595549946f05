# SPDX-License-Identifier: Apache-2.0
"""The pages of docs/measurements: one Topic each, and the table of results in the top README."""

from dataclasses import dataclass

from .report import size_words
from .suite import BLOCKING, BUCKETS, IN_PLACE, LAYOUTS, NONBLOCKING, PERSISTENT, ROOTED, SIZES, TEN


def entry(words, **attributes):
    """A column or a row of a table. A cell has the attributes of both; pages.words_of gives their meaning."""
    return words, attributes


@dataclass(frozen=True)
class Table:
    first: str       # heading of the first column
    columns: tuple
    rows: tuple
    title: str = ""
    attributes: tuple = ()  # (name, value) of all cells


@dataclass(frozen=True)
class Topic:
    """`paths`: a change of these sources makes a row old; a cell may name others."""
    name: str
    title: str
    reading: str     # two sentences above the tables
    tables: tuple
    paths: tuple


POINT_TO_POINT = ("btl/sm", "pml", "src/api/pt2pt", "src/core/progress.cc", "src/base/copy.hpp")
COLLECTIVES = ("btl/sm", "coll/algorithms", "coll/engine", "coll/flat", "coll/select", "src/api/coll")
WINDOWS = ("btl/sm", "src/api/rma", "src/rma")
START = ("src/api/job", "src/boot", "src/tools/mpirun")
NETWORK = ("btl/net", "btl/ofi", "btl/ucx", "pml")

ALL, SMALL, LARGE = (8, 2 << 20), (8, 4096), (32 << 10, 2 << 20)
SIXTEEN_KIB, ONE_MIB = (1, 65535), (65536, 4 << 20)  # of layouts whose sizes are near these
RATIO = "Tern / best peer"
LIBRARIES = tuple(entry(words, show=name) for words, name in (("Tern", "tern"), ("MPICH", "mpich"), ("Open MPI", "openmpi")))
AGAINST_ALL = (*LIBRARIES, entry(RATIO))

BELOW_ONE = "A ratio is Tern's time / the time of the better peer (MPICH, Open MPI): below 1 Tern is faster."
RATES_TOO = BELOW_ONE + " Ratios of rates are inverted, with the same meaning."
MEANS = BELOW_ONE + " Each ratio is a geometric mean over message sizes; ranks beyond two share two cores."


def by_ranks(counts, words="ranks"):
    return tuple(entry(f"{count} {words}{heading}", ranks=count, sizes=sizes) for count in counts
                 for heading, sizes in ((": 8 B to 4 KiB", SMALL), (": 32 KiB to 2 MiB", LARGE), (": all", ALL)))


def operations(names, of="{}", **attributes):
    return tuple(entry(name, figure=of.format(name), **attributes) for name in names)


def time_and_ratio(counts, show="tern"):
    return tuple(column for count in counts for column in (entry(f"{count} ranks: Tern", ranks=count, show=show),
                                                           entry(f"{count} ranks: ratio", ranks=count)))


def by_size(sizes):
    return tuple(entry(size_words(number), sizes=(number, number)) for number in sizes)


EVERY_SIZE = (*by_size((1, *SIZES)), entry("geometric mean", sizes=None))

LATENCY = Topic("latency", "Latency and bandwidth", RATES_TOO + " Latency is half a round trip of one message; bandwidth has "
                "64 messages in flight. \"128 MiB\" uses buffers beyond the last cache.", (
    Table("2 ranks on 2 cores", (
        entry("latency: Tern, us", figure="latency", show="tern"), entry("ratio", figure="latency"),
        entry("128 MiB", figure="latency_rotate"), entry("heap", figure="latency_heap"),
        entry("`MPI_THREAD_MULTIPLE`", figure="latency_multiple"),
        entry("bandwidth: Tern, MB/s", figure="bandwidth", show="tern"), entry("ratio", figure="bandwidth"),
        entry("128 MiB", figure="bandwidth_rotate"), entry("heap", figure="bandwidth_heap")),
        EVERY_SIZE, attributes=(("ranks", 2),)),), POINT_TO_POINT)

MESSAGES = Topic("message-rate", "Message rate and threads", RATES_TOO + " Messages have 8 B; rates are millions a second.", (
    Table("rate", AGAINST_ALL, (
        entry("window 64, one tag", figure="message_rate", ranks=2),
        entry("512 tags, received in reverse order", figure="message_rate_tags", ranks=2),
        entry("512 tags, receives posted after the arrival", figure="message_rate_unexpected", ranks=2),
        entry("`MPI_THREAD_MULTIPLE`: one thread sends to itself", figure="threads_1", ranks=1),
        entry("two such threads, a communicator each", figure="threads_2", ranks=1),
        entry("two threads / one thread", figure="threads_gain", ranks=1))),), POINT_TO_POINT)

BLOCKING_CALLS = Topic("collectives", "Blocking collectives", MEANS, (
    Table("back to back, roots in turn", by_ranks((2, 4, 8)), operations((*TEN[:-2], "reduce_scatter_block", "barrier"))),
    Table("one root, back to back; us", tuple(column for count in (4, 8) for column in (
        entry(f"{count} ranks: Tern", ranks=count, show="tern"), entry("Open MPI", ranks=count, show="openmpi"),
        entry("ratio", ranks=count))),
        tuple(entry(f"{name} {size_words(number)}", figure=f"fixed_root_{name}", sizes=(number, number)) for name in ROOTED
              for number in (1, 8, 64, 512)))), COLLECTIVES)

LARGE_CALLS = Topic("large-collectives", "Large collectives of one host", BELOW_ONE + " Times are microseconds.", (
    Table("time of a call", time_and_ratio((2, 4, 8)), tuple(
        entry(f"{name} {size_words(number)}", figure=name, sizes=(number, number)) for name, sizes in (
            ("allreduce", (512 << 10, 2 << 20)), ("allreduce_in_place", (64 << 10, 1 << 20)), ("iallreduce_in_place", (64 << 10, 1 << 20)),
            ("reduce", (512 << 10,)), ("reduce_scatter", (128 << 10, 2 << 20)), ("allgather", (128 << 10, 512 << 10, 2 << 20)),
            ("gather", (512 << 10,)), ("bcast", (512 << 10,)), ("scatter", (128 << 10,)), ("alltoall", (512 << 10, 2 << 20)))
        for number in sizes)),), COLLECTIVES)

NONBLOCKING_CALLS = Topic("nonblocking", "Nonblocking and persistent collectives, overlap", MEANS, (
    Table("start, then wait", by_ranks((2, 4, 8)), operations((*NONBLOCKING, "ibarrier", *PERSISTENT, *IN_PLACE)) + tuple(
        entry(words, figure=name) for words, name in zip(
            ("16 iallreduces in flight", "16 in flight, in place", "16 in flight, persistent"), BUCKETS))),
    Table("hidden behind computation, percent; 2 ranks", AGAINST_ALL,
          tuple(entry(name, figure=f"overlap_{name}_mean") for name in NONBLOCKING), attributes=(("ranks", 2),)),), COLLECTIVES)

COMMUNICATORS = Topic("communicators", "Communicators and first calls", BELOW_ONE + " Each communicator is made and freed at once; "
                      "\"first\" is the first call on a new duplicate.", (
    Table("one communicator", time_and_ratio((2, 4, 8)), (
        entry("MPI_Comm_split (us)", figure="comm_split"),
        entry("MPI_Comm_create_group of two ranks (us)", figure="comm_create_group"),
        entry("MPI_Comm_dup (us)", figure="comm_dup"),
        entry("MPI_Comm_dup and a first barrier (us)", figure="comm_dup_barrier"),
        entry("memory of a rank (B)", figure="comm_memory"),
        entry("memory after an allreduce of 8 B (B)", figure="comm_memory_used"),
        entry("a communicator for each pair of ranks: make one (us)", figure="pairs_create"),
        entry("1,024 rounds of allreduces in all pairs (ms)", figure="pairs_rounds", paths=COLLECTIVES)) + tuple(
            entry(f"first {name} of 8 B (us)" if name != "barrier" else "first barrier (us)", figure=f"{name}_first",
                  paths=COLLECTIVES, **({} if name == "barrier" else {"sizes": (8, 8)})) for name in BLOCKING)),),
    ("coll/comm_state.cc", "coll/flat", "src/api/comm", "src/core/communicator.cc", "src/core/group.cc"))


def one_sided(words, figure, number=None, of="rma_"):
    return entry(words, figure=of + figure, **({"sizes": (number, number)} if number else {}))


SOME = tuple((size_words(number), number) for number in (8, 512, 32 << 10, 2 << 20))
ONE_SIDED = Topic("rma", "One-sided communication", BELOW_ONE + " Rank 0 works on the next rank's part of a window and flushes after each "
                  "operation; times are microseconds.", (
    Table("operation", (*(entry(f"{words}, 2 ranks", ranks=2, **rest) for words, rest in LIBRARIES),
                        *(entry(f"ratio, {count} ranks", ranks=count) for count in (2, 4, 8))),
          tuple(one_sided(f"{name} {words}", name, number) for name in ("put", "get", "accumulate") for words, number in SOME) + (
        one_sided("put of 8 B, 100 and one flush, each", "put_many", 8), one_sided("fetch_and_op 8 B", "fetch_and_op", 8),
        one_sided("compare_and_swap 8 B", "compare_and_swap", 8),
        one_sided("fetch_and_op, all ranks at once", "contend_fetch_and_op", 8), one_sided("lock, put, unlock", "lock"),
        one_sided("lock, put, unlock, all ranks at once", "contend_lock"), one_sided("post, start, complete, wait", "pscw"),
        one_sided("fence", "fence"), one_sided("create and free, 1 MiB", "create")) + tuple(
            one_sided(f"put {words} to the program's memory", "created_put", number) for words, number in SOME) + (
        one_sided("fetch_and_op there", "created_fetch_and_op", 8),
        one_sided("the same, and the target computes for 20 ms", "busy_fetch_and_op", 8))),), WINDOWS)

STARTUP = Topic("startup", "Start-up and memory", BELOW_ONE + " A job calls MPI_Init and MPI_Finalize only; memory is the "
                "proportional set size, a mean over the ranks.", (
    Table("figure", AGAINST_ALL, tuple(entry(f"empty job of {count} ranks (ms)", figure="startup", ranks=count) for count in (2, 8, 32))
          + tuple(entry(f"a rank of {count} after {words} (KiB)", figure=figure, ranks=count)
                  for figure, words in (("memory_init", "MPI_Init"), ("memory_alltoall", "an alltoall")) for count in (2, 8, 64))),), START)

WAITING = Topic("waiting", "Waiting, polling, progress", BELOW_ONE + " Ranks beyond two share two cores.", (
    Table("figure", AGAINST_ALL, tuple(entry(f"token of 8 B round {count} ranks, a hop (us)", figure="ring", ranks=count)
                                       for count in (2, 4, 8)) + tuple(
        entry(f"{words}, {count} ranks (us)", figure=f"polling_{name}", ranks=count) for count in (2, 4, 8) for name, words in (
            ("iallreduce", "MPI_Iallreduce of 8 B, then MPI_Test in a loop"), ("shift", "a shift, then MPI_Testall in a loop"),
            ("iprobe", "a hop of a token, MPI_Iprobe in a loop"))) + (
        entry("8 ranks wait in a receive: percent of a core", figure="idle_recv", ranks=9),
        entry("8 ranks wait in a barrier: percent of a core", figure="idle_barrier", ranks=9),
        entry("until all 8 ranks have woken and answered (us)", figure="idle_recv_wake", ranks=9)) + tuple(
            entry(f"{call} of {size_words(number)} while the peer computes for 20 ms (us)", figure=f"overlap_{name}", ranks=2, sizes=(number, number))
            for name, call in (("send", "MPI_Send"), ("recv", "MPI_Recv")) for number in (64 << 10, 1 << 20, 16 << 20))),), POINT_TO_POINT)

PACKING = Topic("datatypes", "Derived datatypes", BELOW_ONE + " Data has about 16 KiB or 1 MiB; ratios are geometric means of both sizes, "
                "times are microseconds.", (
    Table("layout", tuple(column for name, ranks in (("pack", 1), ("unpack", 1), ("send", 2)) for column in (
        entry(f"{name}: 16 KiB", figure=name + "_{layout}", ranks=ranks, show="tern", sizes=SIXTEEN_KIB),
        entry("1 MiB", figure=name + "_{layout}", ranks=ranks, show="tern", sizes=ONE_MIB),
        entry("ratio", figure=name + "_{layout}", ranks=ranks))) + (
        entry("/ packed by hand", figure="send_{layout}", over="send_by_hand_{layout}", ranks=2, show="quotient"),),
        tuple(entry(name.replace("_", " "), layout=name) for name in LAYOUTS)),),
    ("pml/p2p", "src/api/datatype", *(f"src/core/datatype{part}.cc" for part in ("", "_build", "_dense", "_layout"))))

HOSTS = Topic("hosts", "Between hosts", RATES_TOO + " The hosts are namespaces of one machine with two cores, joined by a bridge; HxR is "
              "H hosts of R ranks. Each peer has its best transport.", (
    Table("figure", AGAINST_ALL, (
        entry("latency of 8 B, 2x1 (us)", figure="hosts_latency", ranks=2, sizes=(8, 8)),
        entry("latency, 1 B to 4 MiB, 2x1", figure="hosts_latency", ranks=2),
        entry("bandwidth of 1 MiB, 2x1 (MB/s)", figure="hosts_bandwidth", ranks=2, sizes=(1 << 20, 1 << 20)),
        entry("bandwidth, 1 B to 4 MiB, 2x1", figure="hosts_bandwidth", ranks=2),
        entry("messages of 8 B, 2x1 (millions a second)", figure="hosts_message_rate", ranks=2),
        entry("empty job, 2x2 (ms)", figure="hosts_startup", ranks=4, paths=START),
        entry("memory of a rank after MPI_Init, 2x2 (KiB)", figure="hosts_memory_init", ranks=4),
        entry("memory of a rank after an alltoall, 2x2 (KiB)", figure="hosts_memory_alltoall", ranks=4))),
    Table("collective; geometric means", tuple(
        entry(f"{shape}: {words}", ranks=ranks, sizes=sizes) for ranks, shape in ((4, "2x2"), (8, "4x2"))
        for words, sizes in (("8 B to 4 KiB", SMALL), ("32 KiB to 2 MiB", LARGE), ("all", ALL))), operations(TEN, "hosts_{}"),
        attributes=(("paths", (*NETWORK, "coll/algorithms", "coll/engine", "coll/select")),)),), NETWORK)

FIVE = ("allreduce", "broadcast", "allgather", "reduce_scatter", "alltoall")
TORCH = Topic("torch", "PyTorch", "A ratio is the time of torch_tern / the time of gloo, in one job and alternately: below 1 Tern is faster. "
              "Calls are synchronous, on tensors of the CPU.", (
    Table("figure", tuple(entry(f"{count} ranks", ranks=count) for count in (2, 4, 8)), tuple(
        entry(f"{name} {size_words(number)}", figure=f"torch_{name}", sizes=(number, number))
        for number in (1 << 10, 64 << 10, 1 << 20, 8 << 20) for name in (*FIVE, "least", "most")) + (
        entry("100 floats with every other rank, in groups of two", figure="torch_pairs"),
        entry("DDP step, 10 million weights", figure="torch_ddp"),
        entry("init_process_group, barrier, destroy", figure="torch_init"))),
    Table("beside as many busy loops as ranks", tuple(entry(f"{count} ranks", ranks=count) for count in (2, 4)), tuple(
        entry(f"{name} {size_words(number)}", figure=f"torch_{name}_busy", sizes=(number, number))
        for number in (1 << 10, 64 << 10, 1 << 20) for name in FIVE)),),
    ("bindings/torch/src", *COLLECTIVES))

MIB_64 = (64 << 20, 64 << 20)
GPU = Topic("gpu", "Memory of GPUs", "Each row compares two figures of Tern on GPUs, or Tern with NCCL. "
            "[tests/bench/gpu](../../tests/bench/gpu/README.md) has the programs and the bars.", (
    Table("on hardware", (entry("value", show="tern"), entry("quotient", show="quotient")), (
        entry("latency of 8 B, device to device (us); over copies by hand", figure="latency_device_device", over="latency_by_hand", ranks=2,
              sizes=(8, 8)),
        entry("bandwidth, 64 MiB, device to device (GB/s); over copies of one process", figure="bandwidth_device_device",
              over="bandwidth_copies", ranks=2, sizes=MIB_64),
        entry("allreduce of 64 MiB, 4 ranks on one GPU (us); over copies by hand", figure="allreduce_device", over="allreduce_by_hand",
              ranks=4, sizes=MIB_64),
        entry("the same; over NCCL", figure="allreduce_device", over="allreduce_nccl", ranks=4, sizes=MIB_64),
        entry("allreduce of 64 MiB in a stream, 2 ranks (us); over NCCL", figure="streams_allreduce_tern", over="streams_allreduce_nccl",
              ranks=2, sizes=MIB_64),
        entry("pack rows of 64 B, 64 MiB (GB/s); over a copy", figure="pack_rows_of_64", over="pack_copy", ranks=1, sizes=MIB_64),
        entry("pack rows of 4096 B, 64 MiB (GB/s); over a copy", figure="pack_rows_of_4096", over="pack_copy", ranks=1, sizes=MIB_64),
        entry("a kernel beside a large transfer (ms); over the kernel alone", figure="compute_while_sending", over="compute_alone",
              ranks=2, sizes=MIB_64)), attributes=(("peerless", True),)),
    Table("software driver", (entry("calls of the driver", show="tern"),), (
        entry("a message of 8 B", figure="driver_calls", sizes=(8, 8)),
        entry("a message of 64 MiB", figure="driver_calls", sizes=MIB_64)), attributes=(("ranks", 2), ("peerless", True))),
    Table("host messages of 8 B", (entry("without a driver, us", show="none"), entry("with a driver, us", show="driver"),
                                   entry("ratio")), (
        entry("heap", figure="latency_heap", sizes=(8, 8)), entry("mapped buffers", figure="latency", sizes=(8, 8))),
        attributes=(("ranks", 2), ("of", "driver"), ("paths", ("pml", "src/cuda"))))),
    ("btl/cuda_ipc", "btl/peer", "coll/gpu", "pml", "src/cuda"))

SELECTION = Topic("selection", "Algorithms chosen by measurement", "\"learnt\" is the ratio to the best peer after a learning run; \"off\" is the "
                  "ratio with Tern's own table (`TERN_COLL_TUNE=off`). Both are geometric means of 1 B to 2 MiB.", (
    Table("2 ranks, ratio", (entry("learnt", of="learnt"), entry("off", of="off")),
          tuple(entry(name, figure=name) for name in BLOCKING if name != "barrier"), attributes=(("ranks", 2),)),
    Table("2 ranks, far cores: time by executor", (
        entry("slots", show="slots"), entry("`flat_direct`", show="direct"), entry("messages", show="messages"),
        entry("Open MPI, lower end", show="openmpi"), entry("upper end", show="openmpi_most")),
        tuple(entry(f"{name} {size_words(number)}", figure=name, sizes=(number, number)) for name, number in (
            ("allgather", 16 << 10), ("allgather", 256 << 10), ("alltoall", 64 << 10), ("alltoall", 1 << 20),
            ("allreduce", 64 << 10), ("allreduce", 1 << 20), ("bcast", 256 << 10), ("gather", 64 << 10))),
        attributes=(("ranks", 2), ("of", "slots"))),
    Table("calls with a candidate near the quickest, of 101", tuple(
        entry(f"{words} run", figure=f"contest_{words}", show="tern") for words in ("first", "second", "third")), (
        entry("2 ranks, any order of operands", ranks=2, sizes=(0, 0)), entry("4 ranks, any order", ranks=4, sizes=(0, 0)),
        entry("2 and 4 ranks, in rank order", ranks=6, sizes=(0, 0))), attributes=(("peerless", True),))),
    ("coll/algorithms", "coll/flat", "coll/select"))

PROTOCOLS = Topic("protocols", "Protocols of large messages", "A message beyond 8 KiB goes through shared memory (pipeline), is copied by the "
                  "receiver (pull), or by both ends (both). \"auto\" is Tern's choice.", (
    Table("2 ranks", tuple(entry(f"{figure}: {name}" if name == "auto" else name, figure=figure.split(",")[0], show=name)
                           for figure in ("latency, us", "bandwidth, MB/s") for name in ("auto", "pipeline", "pull", "both")),
          by_size(1 << power for power in range(14, 23)), attributes=(("ranks", 2), ("of", "auto"))),), ("btl/sm", "pml/protocols"))

FILE_CALLS = (
    ("write of 4 KiB", "write", 4 << 10), ("read of 4 KiB", "read", 4 << 10), ("write of 1 MiB", "write", 1 << 20),
    ("read of 1 MiB", "read", 1 << 20),
    ("write, blocks of 4 KiB in turn, 256 KiB", "write_4096", 256 << 10), ("read", "read_4096", 256 << 10),
    ("write, blocks of 64 B in turn, 64 KiB", "write_64", 64 << 10), ("read", "read_64", 64 << 10),
    ("write_all of 8 B", "write_all", 8), ("write_all of 1 MiB", "write_all", 1 << 20),
    ("write_all, blocks of 4 KiB in turn, 1 MiB", "write_all_4096", 1 << 20), ("read_all", "read_all_4096", 1 << 20),
    ("write_all, blocks of 64 B in turn, 1 MiB", "write_all_64", 1 << 20), ("read_all", "read_all_64", 1 << 20),
    ("iwrite of 1 MiB, wait", "iwrite", 1 << 20),
    ("write_shared of 64 B", "write_shared", 64), ("write_ordered of 64 B", "write_ordered", 64),
    ("open, close", "open_close", 0),
    ("get_size", "get_size", 0))


def file_table(title, prefix):
    return Table(title, (*(entry(f"{words}, 2 ranks", ranks=2, **rest) for words, rest in LIBRARIES),
                         *(entry(f"ratio, {count} ranks", ranks=count) for count in (2, 4))),
                 tuple(entry(words, figure=prefix + name, sizes=(number, number)) for words, name, number in FILE_CALLS))


FILES = Topic("files", "Files (MPI-IO)", BELOW_ONE + " All ranks work at once on one file in the page cache; times are microseconds of the "
              "slowest rank.", (file_table("tmpfs", "files_"), file_table("ext4", "disk_files_")), ("src/api/io", "src/io"))

TOPICS = (LATENCY, MESSAGES, BLOCKING_CALLS, LARGE_CALLS, NONBLOCKING_CALLS, SELECTION, COMMUNICATORS, ONE_SIDED, FILES, WAITING, STARTUP,
          PACKING, PROTOCOLS, HOSTS, TORCH, GPU)


@dataclass(frozen=True)
class Result:
    """A row of README's table: ratios, in a list or as the range from the least to the most."""
    words: str
    cells: tuple
    paths: tuple
    as_range: bool = False


def cell(figure, ranks, sizes=None):
    return {"figure": figure, "ranks": ranks, "sizes": sizes}


OTHERS = tuple(name for name in BLOCKING if name not in ("allreduce", "barrier"))
RESULTS = (
    Result("latency, bandwidth of 2 ranks (1 B to 4 MiB, geometric means)", (cell("latency", 2), cell("bandwidth", 2)), POINT_TO_POINT),
    Result("latency, bandwidth over 128 MiB of buffers, beyond the last cache", (cell("latency_rotate", 2), cell("bandwidth_rotate", 2)),
           POINT_TO_POINT),
    Result("allreduce on 2, 4, 8 ranks (8 B to 2 MiB, geometric means)", tuple(cell("allreduce", count, ALL) for count in (2, 4, 8)),
           COLLECTIVES),
    Result("seven other collectives, the same ranks and sizes", tuple(cell(name, count, ALL) for name in OTHERS for count in (2, 4, 8)),
           COLLECTIVES, True),
    Result("barrier on 2, 4, 8 ranks", tuple(cell("barrier", count) for count in (2, 4, 8)), COLLECTIVES),
    Result("put, get, accumulate of 8 B on 2 ranks", tuple(cell(f"rma_{name}", 2, (8, 8)) for name in ("put", "get", "accumulate")),
           WINDOWS),
    Result("an empty job of 2, 8, 32 ranks", tuple(cell("startup", count) for count in (2, 8, 32)), START),
    Result("8 B messages a second, hop of a token between 8 ranks on 2 cores", (cell("message_rate", 2), cell("ring", 8)),
           POINT_TO_POINT),
    Result("a large receive while the sender computes outside MPI (cure: `TERN_PROGRESS=thread`)", (cell("overlap_recv", 2),),
           POINT_TO_POINT))
