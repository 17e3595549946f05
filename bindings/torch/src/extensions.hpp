// SPDX-License-Identifier: Apache-2.0
// Tern's extensions, looked up by name at run time.
// Why: the package also runs with a libmpi_abi.so.1 without extensions.
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
constexpr std::uintptr_t kNoStream = 0x3f0;  // MPIX_STREAM_NULL

// Flags of MPIX_Continueall.
constexpr int kDeferComplete = 8, kInvokeFailed = 16;

struct Extensions {
  int (*boot_provide)(const Boot*) = nullptr;                        // MPIX_Boot_provide
  int (*comm_interrupt)(MPI_Comm) = nullptr;                         // MPIX_Comm_interrupt
  int (*continue_init)(int, int, MPI_Info, MPI_Request*) = nullptr;  // MPIX_Continue_init
  int (*continue_all)(int, MPI_Request*, int (*)(int, void*), void*, int, MPI_Status*,
                      MPI_Request) = nullptr;                              // MPIX_Continueall
  int (*info_set_hex)(MPI_Info, const char*, const void*, int) = nullptr;  // MPIX_Info_set_hex
  int (*stream_create)(MPI_Info, StreamHandle*) = nullptr;                 // MPIX_Stream_create
  int (*stream_free)(StreamHandle*) = nullptr;                             // MPIX_Stream_free
  int (*stream_comm_create)(MPI_Comm, StreamHandle, MPI_Comm*) = nullptr;
  // Maps a blocking collective to the enqueued form.
  std::map<void*, void*> enqueued;

  bool have_streams() const;
};

const Extensions& extensions();

// For MPI_Allreduce_c returns MPIX_Allreduce_enqueue_c, with the same arguments.
template <class Function>
Function* enqueued_form(Function* blocking) {
  return reinterpret_cast<Function*>(extensions().enqueued.at(reinterpret_cast<void*>(blocking)));
}

}  // namespace torch_tern

#endif
