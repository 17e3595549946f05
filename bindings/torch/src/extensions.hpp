// SPDX-License-Identifier: Apache-2.0
// Tern's extensions, looked up by name, because the package also runs with other libraries.
#ifndef TORCH_TERN_EXTENSIONS_HPP
#define TORCH_TERN_EXTENSIONS_HPP

#include <mpi.h>

#include <cstdint>
#include <map>

namespace torch_tern {

// See MPIX_Boot_provide(3). The callbacks return MPI error classes.
struct Boot {
  int version, rank, size;
  const char *job, *host;
  void* context;
  int (*put)(void*, const char* key, const void* value, int bytes);
  int (*get)(void*, int rank, const char* key, void* value, int room, int* bytes);
  int (*fence)(void*);
  void (*abort)(void*, int code, const char* text);
  void (*done)(void*);
};

using StreamHandle = struct StreamObject*;
constexpr std::uintptr_t kNoStream = 0x3f0;

constexpr int kDeferComplete = 8, kInvokeFailed = 16;

struct Extensions {
  int (*boot_provide)(const Boot*) = nullptr;
  int (*comm_interrupt)(MPI_Comm) = nullptr;
  int (*continue_init)(int, int, MPI_Info, MPI_Request*) = nullptr;
  int (*continue_all)(int, MPI_Request*, int (*)(int, void*), void*, int, MPI_Status*,
                      MPI_Request) = nullptr;
  int (*info_set_hex)(MPI_Info, const char*, const void*, int) = nullptr;
  int (*stream_create)(MPI_Info, StreamHandle*) = nullptr;
  int (*stream_free)(StreamHandle*) = nullptr;
  int (*stream_comm_create)(MPI_Comm, StreamHandle, MPI_Comm*) = nullptr;
  std::map<void*, void*> enqueued;

  bool have_streams() const;
};

const Extensions& extensions();

template <class Function>
Function* enqueued_form(Function* blocking) {
  return reinterpret_cast<Function*>(extensions().enqueued.at(reinterpret_cast<void*>(blocking)));
}

}  // namespace torch_tern

#endif
