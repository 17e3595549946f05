// SPDX-License-Identifier: Apache-2.0
// MpiLibrary: the MPI functions for tune, from the library beside this program. Other commands must
// work without the library, so nothing is linked.
// Lifetime: until the program ends.
#pragma once

#include "mpi.h"
#include "mpix.h"

namespace tern::coll_tool {

// clang-format off
#define TERN_COLL_FUNCTIONS(X)                                                                     \
  X(Init) X(Finalize) X(Comm_rank) X(Comm_size) X(Comm_dup_with_info) X(Comm_free)                 \
  X(Comm_split_type) X(Comm_get_info) X(Info_create) X(Info_set) X(Info_get_string) X(Info_free)   \
  X(Send) X(Recv) X(Wtime)                                                                         \
  X(Reduce_local)
/// Signatures are those of MPI_Name and MPIX_Name_enqueue.
#define TERN_COLL_COLLECTIVES(X)                                                                   \
  X(Barrier) X(Bcast) X(Gather) X(Scatter) X(Allgather) X(Alltoall) X(Reduce) X(Allreduce)         \
  X(Reduce_scatter_block) X(Scan) X(Exscan)
#define TERN_COLL_EXTENSIONS(X)                                                                    \
  X(Info_set_hex) X(Stream_create) X(Stream_free) X(Stream_comm_create)
// clang-format on

struct Collectives {
#define TERN_COLL_MEMBER(name) decltype(&MPI_##name) name = nullptr;
  TERN_COLL_COLLECTIVES(TERN_COLL_MEMBER)
};
struct MpiLibrary : Collectives {
  TERN_COLL_FUNCTIONS(TERN_COLL_MEMBER)
#undef TERN_COLL_MEMBER
#define TERN_COLL_MEMBER(name) decltype(&MPIX_##name) name = nullptr;
  TERN_COLL_EXTENSIONS(TERN_COLL_MEMBER)
#undef TERN_COLL_MEMBER
  Collectives enqueued;
};

/// Loads ../lib of this program, else from the system's path. Throws tern::Error.
[[nodiscard]] MpiLibrary load_mpi();

}  // namespace tern::coll_tool
