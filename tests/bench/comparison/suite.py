# SPDX-License-Identifier: Apache-2.0
"""The benchmarks and the bars, one row each."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Bench:
    """`ranks`: one run for each. `budget`: seconds of one measurement, passed as --seconds (0: takes no options)."""
    name: str
    program: str
    ranks: tuple
    what: str
    arguments: tuple = ()
    budget: float = 0.1
    figures: tuple = ()  # beginnings of the figures' names, unless they begin with `name`
    prefix: str = ""     # before the program's names of figures


BLOCKING = ("allreduce", "bcast", "reduce", "allgather", "alltoall", "gather", "scatter", "reduce_scatter", "barrier")
NONBLOCKING = ("iallreduce", "ialltoall", "ibcast")
IN_PLACE = ("allreduce_in_place", "iallreduce_in_place")
BUCKETS = ("buckets", "buckets_in_place", "buckets_init")
ROOTED = ("bcast", "reduce", "gather", "scatter")
PERSISTENT = ("allreduce_init", "alltoall_init", "bcast_init")
SIZES = tuple(8 ** power for power in range(1, 8))  # 8 B to 2 MiB, for the bars of collectives


def collectives(name, operations, what):
    return Bench(name, "collectives", (2, 4, 8), f"{what} collectives by size, slowest rank",
                 ("--operations", ",".join(operations)), 0.1, operations)


BENCHES = (
    Bench("latency", "latency", (2,), "ping-pong, half a round trip, hot buffers"),
    Bench("latency_rotate", "latency", (2,), "ping-pong over 128 MiB of buffers, beyond L3", ("--rotate", "128")),
    Bench("bandwidth", "bandwidth", (2,), "window of 64 messages, then an answer"),
    Bench("bandwidth_rotate", "bandwidth", (2,), "the same over 128 MiB of buffers", ("--rotate", "128")),
    Bench("latency_heap", "latency", (2,), "ping-pong, buffers in the heap", ("--heap",)),
    Bench("bandwidth_heap", "bandwidth", (2,), "window of 64 messages, buffers in the heap", ("--heap",)),
    Bench("message_rate", "message_rate", (2,), "8 B messages, window 64", (), 0.5),
    Bench("message_rate_tags", "message_rate", (2,), "window 512 with 512 tags, received in reverse",
          ("--window", "512", "--tags", "512"), 0.5),
    Bench("message_rate_unexpected", "message_rate", (2,), "window 512, receives posted after the arrival",
          ("--window", "512", "--tags", "512", "--unexpected"), 0.5),
    Bench("ring", "ring", (2, 4, 8), "an 8 B token round all ranks, time of a hop", (), 1.0),
    Bench("polling", "polling", (2, 4, 8), "loops over MPI_Test, MPI_Testall and MPI_Iprobe", (), 1.0, ("polling_",)),
    Bench("startup", "empty", (2, 8, 32), "mpirun of MPI_Init and MPI_Finalize, timed from outside", (), 0),
    Bench("memory", "memory", (2, 8, 64), "proportional set size of a rank", (), 2.0),
    Bench("pack", "pack", (1,), "MPI_Pack and MPI_Unpack of a dozen layouts", (), 0.05,
          ("pack_", "unpack_")),
    Bench("send_layouts", "pack", (2,), "sending these layouts, and packing them by hand and sending", (), 0.05,
          ("send_",)),
    Bench("latency_multiple", "latency", (2,), "ping-pong with MPI_THREAD_MULTIPLE", ("--multiple",)),
    Bench("threads", "threads", (1,), "two threads, each sends to itself on a communicator of its own", (), 2.0, ("threads_",)),
    Bench("overlap", "overlap", (2,), "a blocking call while the other rank computes for 20 ms", (), 0.1, ("overlap_",)),
    Bench("idle", "idle", (9,), "processor time of ranks that wait", (), 2.0),
    Bench("communicators", "communicators", (2, 8), "making and freeing communicators; the memory of one", (), 0.1,
          ("comm_",)),
    collectives("collectives", BLOCKING + ("reduce_scatter_block",), "blocking"),
    collectives("collectives_nonblocking", NONBLOCKING + ("ibarrier",), "nonblocking"),
    collectives("collectives_persistent", PERSISTENT, "persistent"),
    collectives("collectives_in_place", IN_PLACE, "in-place"),
    Bench("collectives_fixed_root", "collectives", (2, 4, 8), "rooted collectives back to back, of one root that may run ahead",
          ("--fixed-root", "--operations", ",".join(ROOTED)), 0.1, tuple(f"fixed_root_{name}" for name in ROOTED), "fixed_root_"),
    Bench("buckets", "buckets", (2, 4, 8), "16 allreduces in flight, then a wait for all", (), 0.1, BUCKETS),
    Bench("overlap_collectives", "overlap_collectives", (2,), "how much of nonblocking collectives hides behind computation",
          (), 0.2, tuple(f"overlap_{name}" for name in NONBLOCKING)),
    Bench("rma", "rma", (2, 4, 8), "one-sided communication on an allocated window", (), 0.1, ("rma_",)),
    Bench("files", "files", (2, 4, 8), "MPI-IO on a file in memory (tmpfs)", ("--folder", "/dev/shm"), 0.1, ("files_",)),
    Bench("disk_files", "files", (2, 4, 8), "the same on the file system of /tmp", ("--folder", "/tmp"), 0.1, ("disk_files_",), "disk_"),
    Bench("pairs", "pairs", (2, 4, 8), "a communicator for each pair of ranks: 1,024 rounds of allreduces, and making one",
          (), 0.5, ("pairs_",)),
)

HOSTS_PREFIX = "hosts_"
SHAPES = {2: (2, 1), 4: (2, 2), 8: (4, 2)}  # ranks -> hosts, ranks on each
TEN = (*BLOCKING, "reduce_scatter_block")
TEN_HOSTS = tuple(HOSTS_PREFIX + name for name in TEN)


def shape_words(ranks):
    return "x".join(map(str, SHAPES[ranks]))


def hosts(name, program, ranks, what, arguments=(), budget=0.1, figures=()):
    return Bench(HOSTS_PREFIX + name, program, ranks, what, arguments, budget, figures, HOSTS_PREFIX)


HOSTS_BENCHES = (
    hosts("latency", "latency", (2,), "ping-pong between hosts"),
    hosts("bandwidth", "bandwidth", (2,), "window of 64 messages between hosts"),
    hosts("message_rate", "message_rate", (2,), "8 B messages between hosts, window 64", (), 0.5),
    hosts("collectives", "collectives", (4, 8), "blocking collectives by size, slowest rank", ("--operations", ",".join(TEN)),
          0.1, TEN_HOSTS),
    hosts("startup", "empty", (4,), "a job of MPI_Init and MPI_Finalize, timed from outside", (), 0),
    hosts("memory", "memory", (4,), "proportional set size of a rank", (), 2.0, ("hosts_memory_",)),
)

LAYOUTS = ("rows_4", "rows_8", "rows_64", "rows_4096", "column_of_doubles", "column_of_floats", "face_rows",
           "face_points", "indexed_points", "indexed_blocks", "indexed_mixed", "structs")


@dataclass(frozen=True)
class Bar:
    """A bound: the geometric mean over `sizes` (None: all) of Tern / best peer stays below `at_least`. The aim is another ratio,
    or with `limit` a value of Tern's figure."""
    what: str
    name: str    # of a figure, or a tuple of names
    ranks: int
    at_least: float
    aim: float
    sizes: tuple = None
    table: str = "bars"  # printed if one of its bars was measured
    limit: float = None
    limit_words: str = ""

    def names(self):
        return self.name if isinstance(self.name, tuple) else (self.name,)


def by_ranks(table, names, what, goals, sizes=None):
    """A bar for each name and each rank count; `goals`: ranks -> (at least, aim)."""
    return tuple(Bar(f"{name}{what}, {ranks} ranks", name, ranks, *goals[ranks], sizes if name != "barrier" else None, table)
                 for ranks in goals for name in names)


def bars_of_collectives():
    for ranks, goal in {2: (1.0, 0.8), 4: (0.8, 0.5), 8: (0.8, 0.5)}.items():
        yield from by_ranks(f"bars_collectives_{ranks}", BLOCKING, "", {ranks: goal}, SIZES)
    same = dict.fromkeys((2, 4, 8), (1.0, 0.8))
    yield from by_ranks("bars_nonblocking", NONBLOCKING, "", same, SIZES)
    yield from by_ranks("bars_persistent", PERSISTENT, "", same, SIZES)
    yield from by_ranks("bars_in_place", IN_PLACE, "", same, SIZES)
    yield from by_ranks("bars_buckets", BUCKETS, "", dict.fromkeys((2, 4, 8), (1.0, 0.6)))
    for name in NONBLOCKING:
        yield Bar(f"{name}, share that is hidden", f"overlap_{name}_mean", 2, 1.0, 1.0, None, "bars_overlap")
    for ranks in (2, 4, 8):
        yield Bar(f"pairs of groups, 1,024 rounds, {ranks} ranks", "pairs_rounds", ranks, 1.0, 0.5, None, "bars_pairs")
    for ranks in (2, 8):
        yield Bar(f"memory of 1,000 used communicators, {ranks} ranks", "comm_memory_used", ranks, 1.0, None, None,
                  "bars_communicators", 2 * 1024 ** 2 / 1000, "2 MiB")


def bars_of_hosts():
    table = "bars_hosts"
    yield Bar("latency, 8 B, 2x1", "hosts_latency", 2, 1.0, 0.92, (8,), table)
    yield Bar("latency, 1 B to 4 MiB, geometric mean, 2x1", "hosts_latency", 2, 1.0, 0.88, None, table)
    yield Bar("bandwidth, window 64, geometric mean, 2x1", "hosts_bandwidth", 2, 1.0, 0.9, None, table)
    yield Bar("message rate, 8 B, 2x1", "hosts_message_rate", 2, 1.0, 0.9, None, table)
    goals = {4: (0.9, 0.7), 8: (0.8, 0.5)}
    for ranks, goal in goals.items():
        words = f"ten collectives, 8 B to 2 MiB, geometric mean, {shape_words(ranks)}"
        yield Bar(words, TEN_HOSTS, ranks, *goal, (0, *SIZES), table)
    yield Bar("empty job, 2x2", "hosts_startup", 4, 0.9, 0.6, None, table)
    yield Bar("memory of a rank after an alltoall, 2x2", "hosts_memory_alltoall", 4, 0.8, 0.6, None, table)
    for ranks, goal in goals.items():
        for name in TEN:
            yield Bar(f"{name}, {shape_words(ranks)}", HOSTS_PREFIX + name, ranks, *goal, (0, *SIZES), "bars_hosts_collectives")


BARS = (
    Bar("latency, 8 B", "latency", 2, 1.0, 0.9, (8,)),
    Bar("latency, 1 B to 4 MiB, geometric mean", "latency", 2, 1.0, 0.65),
    Bar("bandwidth, window 64, geometric mean", "bandwidth", 2, 1.0, 0.65),
    Bar("latency, buffers in the heap, geometric mean", "latency_heap", 2, 1.0, 0.65),
    Bar("bandwidth, buffers in the heap, geometric mean", "bandwidth_heap", 2, 1.0, 0.65),
    Bar("message rate, 8 B", "message_rate", 2, 1.0, 0.8),
    Bar("empty job, 2 ranks", "startup", 2, 0.6, 0.25),
    Bar("empty job, 8 ranks", "startup", 8, 0.6, 0.25),
    Bar("empty job, 32 ranks", "startup", 32, 0.6, 0.25),
    Bar("ring of 8 B, a hop, 4 ranks", "ring", 4, 0.5, 0.1),
    Bar("ring of 8 B, a hop, 8 ranks", "ring", 8, 0.5, 0.1),
    Bar("MPI_Comm_split, 8 ranks", "comm_split", 8, 1.0, 0.5, None, "bars_communicators"),
    Bar("MPI_Comm_create_group, 2 of 8 ranks", "comm_create_group", 8, 1.0, 0.5, None, "bars_communicators"),
    Bar("latency with MPI_THREAD_MULTIPLE, 8 B", "latency_multiple", 2, 1.0, 0.8, (8,), "bars_threads"),
    Bar("two threads on communicators of their own", "threads_2", 1, 1.0, 0.7, None, "bars_threads"),
    Bar("send a column of 8 B blocks, 1 MiB", "send_column_of_doubles", 2, 0.8, 0.8, (1 << 20,), "bars_layouts"),
) + tuple(Bar(f"{what} {layout.replace('_', ' ')}", f"{what}_{layout}", 1, 1.0, 0.6, None, "bars_layouts")
          for layout in LAYOUTS for what in ("pack", "unpack")) + tuple(
    Bar(f"{what}, {ranks} ranks", name, ranks, 1.0, 0.5, None, "bars_polling")
    for ranks in (4, 8)
    for name, what in (("polling_iallreduce", "MPI_Iallreduce of 8 B, then MPI_Test in a loop"),
                       ("polling_shift", "a shift round a ring, then MPI_Testall in a loop"),
                       ("polling_iprobe", "a hop of a token, MPI_Iprobe in a loop"))) + tuple(bars_of_collectives()) + tuple(bars_of_hosts())

README = ("latency", "latency_rotate", "bandwidth", "bandwidth_rotate", "message_rate", "startup", "ring", "overlap", "collectives",
          "rma")  # for the table of results in README.md
DEFAULT = ("latency", "latency_heap", "bandwidth", "bandwidth_heap", "message_rate", "startup", "ring", "polling", "pack", "send_layouts", "communicators")

RATES = ("MB/s", "M/s", "x")
HIDDEN = "%hidden"                  # share of a time behind computation, 0 to 100
MORE_IS_BETTER = (*RATES, HIDDEN)   # of other units less is better


def place(name, ranks):
    """Where a figure was measured: `4 ranks`, or over hosts `2x2`."""
    return shape_words(ranks) if name.startswith(HOSTS_PREFIX) else f"{ranks} ranks"


def by_names(names, benches=BENCHES, prefix=""):
    """`names`: with or without the prefix of these benchmarks; `all` is every benchmark, `readme` the results in README.md."""
    known = {bench.name[len(prefix):]: bench for bench in benches}
    groups = {("all",): known, ("readme",): README}
    names = [name.removeprefix(prefix) for name in groups.get(tuple(names), names)]
    wrong = [name for name in names if name not in known]
    if wrong:
        raise ValueError(f"no benchmark named {', '.join(wrong)}; there are {', '.join(known)}")
    return [known[name] for name in names]
