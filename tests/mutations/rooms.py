# SPDX-License-Identifier: Apache-2.0
"""The rooms: sources and rows of tests. A row is a suite and a pattern for its `run`. LONG has the options of the long tests."""

UNIT_COLL = [("unit", f"unit/coll/{name}_test") for name in (
    "geometry", "places", "tree", "timeline", "select", "flight", "remote", "between", "flat", "threads", "hosts", "lower",
    "neighbors", "simulate", "engine", "verify")]
MPI_COLL = [("mpi", f"mpi/{name}") for name in ("coll_move_data", "coll_ops", "coll_reduce.c", "coll_random", "coll_outstanding",
                                               "topology_neighbors", "coll_rows.sh")]
UNIT_STREAM = [("unit", f"unit/coll/{name}_test") for name in ("stream", "kernel_run", "lines_run")]
UNIT_CUDA = [("unit", f"unit/cuda/{name}_test") for name in (
    "loaded", "streams", "functions", "reduce_kernels", "pack_kernels", "interpret_kernel", "push_kernel", "multicast_kernel",
    "exchange_kernel", "push_lines", "kernels")] + [("unit", "unit/pml/device_test")]


def gpu(*names):
    """A complete path selects the source without variants."""
    return [("gpu", "tests/gpu/mpi/{}.cc{}{}".format(*name.partition(":"))) for name in names]


GPU_STREAM = gpu("stream_order", "stream_types", "stream_collectives", "stream_exchange", "stream_neighbors", "stream_islands",
                 "stream_collectives:kernel", "stream_collectives:lines", "stream_collectives:multicast", "stream_errors")
GPU_COLL = gpu("coll_kinds", "team_collectives", "collectives_stay_on_device", "nonblocking_stays_on_device")
GPU_MEMORY = gpu("pt2pt_kinds", "pt2pt_each_protocol", "allocators", "peer_links", "ranks_share_gpu")

# Numbers of ranks and machines change the executed code of collectives, also on devices.
ROOMS = {
    "algorithms": (["coll/algorithms", "coll/schedule"], UNIT_COLL + MPI_COLL),
    "engine": (["coll/engine", "coll/select", "coll/coll.cc", "coll/comm_state.cc"], UNIT_COLL + MPI_COLL),
    "flat": (["coll/flat"], UNIT_COLL + MPI_COLL + GPU_COLL),
    "gpu": (["coll/gpu", "coll/lower"], UNIT_COLL + UNIT_STREAM + GPU_STREAM + GPU_COLL),
    "cuda": (["src/cuda"], UNIT_CUDA + UNIT_STREAM + GPU_MEMORY + GPU_COLL),
    "stream": (["src/stream"], UNIT_STREAM + GPU_STREAM),
}

# Options of a long row: environment, words. The old list of tests/gpu used other machines with the
# most ranks.
LONG = {
    "unit": ({"TEST_LONG": "1"}, []),
    "mpi": ({}, ["--full"]),
    "gpu": ({}, ["--ranks", "4", "--ranks", "5"]),
}
