// SPDX-License-Identifier: Apache-2.0
#include "extensions.hpp"

#include <dlfcn.h>

#include <algorithm>

namespace torch_tern {

namespace {

// Python loads extension modules with RTLD_LOCAL, so RTLD_DEFAULT finds nothing.
void* library() {
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(&MPI_Get_version), &info) == 0) {
    return nullptr;
  }
  return dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
}

template <class Function>
void look_up(void* where, Function& function, const char* name) {
  function = where ? reinterpret_cast<Function>(dlsym(where, name)) : nullptr;
}

struct Enqueued {
  void* blocking;
  const char* name;
};
#define TORCH_TERN_ENQUEUED(name) \
  { reinterpret_cast<void*>(&MPI_##name##_c), "MPIX_" #name "_enqueue_c" }
const Enqueued kEnqueued[] = {
    TORCH_TERN_ENQUEUED(Allgather),
    TORCH_TERN_ENQUEUED(Allgatherv),
    TORCH_TERN_ENQUEUED(Allreduce),
    TORCH_TERN_ENQUEUED(Alltoall),
    TORCH_TERN_ENQUEUED(Alltoallv),
    TORCH_TERN_ENQUEUED(Bcast),
    TORCH_TERN_ENQUEUED(Gather),
    TORCH_TERN_ENQUEUED(Reduce),
    TORCH_TERN_ENQUEUED(Reduce_scatter),
    TORCH_TERN_ENQUEUED(Reduce_scatter_block),
    TORCH_TERN_ENQUEUED(Scatter),
    {reinterpret_cast<void*>(&MPI_Barrier), "MPIX_Barrier_enqueue"},
};
#undef TORCH_TERN_ENQUEUED

Extensions find() {
  Extensions found;
  void* where = library();
  look_up(where, found.boot_provide, "MPIX_Boot_provide");
  look_up(where, found.comm_interrupt, "MPIX_Comm_interrupt");
  look_up(where, found.continue_init, "MPIX_Continue_init");
  look_up(where, found.continue_all, "MPIX_Continueall");
  look_up(where, found.info_set_hex, "MPIX_Info_set_hex");
  look_up(where, found.stream_create, "MPIX_Stream_create");
  look_up(where, found.stream_free, "MPIX_Stream_free");
  look_up(where, found.stream_comm_create, "MPIX_Stream_comm_create");
  for (const Enqueued& one : kEnqueued) {
    look_up(where, found.enqueued[one.blocking], one.name);
  }
  return found;
}

}  // namespace

bool Extensions::have_streams() const {
  return info_set_hex && stream_create && stream_free && stream_comm_create &&
         std::all_of(enqueued.begin(), enqueued.end(), [](const auto& one) { return one.second; });
}

const Extensions& extensions() {
  static const Extensions found = find();
  return found;
}

}  // namespace torch_tern
