// SPDX-License-Identifier: Apache-2.0
// libpmix.so.2, opened when it is first needed.
// Why: a rank of our own mpirun, a singleton, and an mpirun whose ranks are all Tern's never pay
// for loading it; a machine without it still runs them.
// Lifetime: once loaded it stays (it has threads of its own). Threads: any.
#pragma once

#include <pmix.h>
#include <pmix_server.h>

namespace tern::boot {

// clang-format off
#define TERN_PMIX_FUNCTIONS(X)                                                                   \
  X(Init) X(Finalize) X(Abort) X(Put) X(Commit) X(Fence_nb) X(Get) X(Get_nb) X(Query_info)       \
  X(Error_string) X(Get_version) X(Value_destruct) X(generate_regex) X(generate_ppn)             \
  X(server_init) X(server_register_nspace) X(server_register_client) X(server_setup_fork)
// clang-format on

struct PmixLibrary {
#define TERN_PMIX_POINTER(name) decltype(&PMIx_##name) name = nullptr;
  TERN_PMIX_FUNCTIONS(TERN_PMIX_POINTER)
#undef TERN_PMIX_POINTER
};

// Throws Error(MPI_ERR_OTHER) that names the Debian package where the library is not found.
const PmixLibrary& pmix_library();

}  // namespace tern::boot
