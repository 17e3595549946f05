// SPDX-License-Identifier: Apache-2.0
// MpiLibrary: the MPI functions that tune needs, from the library beside this program.
// Why: the other commands must work where the library does not, so nothing is linked.
// Lifetime: until the program ends. See: tern_coll tune.
#pragma once

#include "mpi.h"
#include "mpix.h"

namespace tern::coll_tool {

// clang-format off
#define TERN_COLL_FUNCTIONS(X)                                                                     \
  X(Init) X(Finalize) X(Comm_rank) X(Comm_size) X(Comm_dup_with_info) X(Comm_free)                 \
  X(Comm_split_type) X(Info_create) X(Info_set) X(Info_free) X(Barrier) X(Bcast) X(Gather) X(Scatter) X(Allgather) X(Alltoall)       \
  X(Reduce) X(Allreduce) X(Reduce_scatter_block) X(Scan) X(Exscan) X(Send) X(Recv) X(Wtime)        \
  X(Reduce_local)
// What tune --device needs besides.
#define TERN_COLL_EXTENSIONS(X)                                                                    \
  X(Info_set_hex) X(Stream_create) X(Stream_free) X(Stream_comm_create) X(Barrier_enqueue) X(Bcast_enqueue) X(Gather_enqueue) \
  X(Scatter_enqueue) X(Allgather_enqueue) X(Alltoall_enqueue) X(Reduce_enqueue) X(Allreduce_enqueue)  \
  X(Reduce_scatter_block_enqueue) X(Scan_enqueue) X(Exscan_enqueue)
// clang-format on

struct MpiLibrary {
#define TERN_COLL_FUNCTION(name) decltype(&MPI_##name) name = nullptr;
  TERN_COLL_FUNCTIONS(TERN_COLL_FUNCTION)
#undef TERN_COLL_FUNCTION
#define TERN_COLL_EXTENSION(name) decltype(&MPIX_##name) name = nullptr;
  TERN_COLL_EXTENSIONS(TERN_COLL_EXTENSION)
#undef TERN_COLL_EXTENSION
};

/// ../lib of this program, else where the system looks. Throws tern::Error with the reason.
[[nodiscard]] MpiLibrary load_mpi();

}  // namespace tern::coll_tool
