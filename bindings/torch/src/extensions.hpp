// SPDX-License-Identifier: Apache-2.0
// Functions of Tern that this package uses where the library has them, looked up by name.
// Why: the package also runs on a libmpi_abi.so.1 that has only the standard's functions.
#ifndef TORCH_TERN_EXTENSIONS_HPP
#define TORCH_TERN_EXTENSIONS_HPP

#include <mpi.h>

namespace torch_tern {

// How a program tells Tern its rank and lets it exchange values; results are MPI error classes.
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

// Flags of MPIX_Continueall.
constexpr int kDeferComplete = 8, kInvokeFailed = 16;

struct Extensions {
  int (*boot_provide)(const Boot*) = nullptr;                        // MPIX_Boot_provide
  int (*comm_interrupt)(MPI_Comm) = nullptr;                         // MPIX_Comm_interrupt
  int (*continue_init)(int, int, MPI_Info, MPI_Request*) = nullptr;  // MPIX_Continue_init
  int (*continue_all)(int, MPI_Request*, int (*)(int, void*), void*, int, MPI_Status*,
                      MPI_Request) = nullptr;  // MPIX_Continueall
};

const Extensions& extensions();

}  // namespace torch_tern

#endif
