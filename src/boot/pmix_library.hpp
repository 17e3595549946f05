// SPDX-License-Identifier: Apache-2.0
// PmixLibrary: libpmix.so.2, opened at first use and never closed, because the library has threads.
#pragma once

#include <pmix.h>
#include <pmix_server.h>

namespace tern::boot {

// clang-format off
#define TERN_PMIX_FUNCTIONS(X)                                                                   \
  X(Init) X(Finalize) X(Abort) X(Put) X(Commit) X(Fence_nb) X(Get) X(Get_nb) X(Query_info)       \
  X(Error_string) X(Get_version) X(Value_destruct) X(generate_regex) X(generate_ppn)             \
  X(Register_event_handler) X(Deregister_event_handler)                                                                      \
  X(server_init) X(server_register_nspace) X(server_register_client) X(server_setup_fork)
// clang-format on

struct PmixLibrary {
#define TERN_PMIX_POINTER(name) decltype(&PMIx_##name) name = nullptr;
  TERN_PMIX_FUNCTIONS(TERN_PMIX_POINTER)
#undef TERN_PMIX_POINTER
};

const PmixLibrary& pmix_library();

}  // namespace tern::boot
