// SPDX-License-Identifier: Apache-2.0
// The program loads libcuda.so.1 after MPI_Init and host messages, like mpi4py before torch.
// ranks: 2
// cuda: no
#include <dlfcn.h>
#include <sys/mman.h>

#include <vector>

#include "cuda/api.hpp"
#include "tests/mpi/check.h"

namespace {

constexpr int kBytes = 1 << 20;

void* library() { return dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD); }

void between(void* from, void* to) {
  for (const int bytes : {8, 5000, kBytes})
    OK(MPI_Sendrecv(from, bytes, MPI_BYTE, 1 - rank, 0, to, bytes, MPI_BYTE, 1 - rank, 0,
                    MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

void* opened;
template <class... Given, class... Wanted>
void cu(const char* name, CUresult (*)(Wanted...), Given... given) {
  auto* const function = reinterpret_cast<CUresult (*)(Wanted...)>(dlsym(opened, name));
  if (function == nullptr) FAIL("no %s", name);
  const CUresult result = function(given...);
  if (result != CUDA_SUCCESS) FAIL("%s gives %d", name, result);
}
CUresult copy_in(CUdeviceptr, const void*, size_t);
CUresult copy_out(void*, CUdeviceptr, size_t);
#define CU(name, ...) cu(#name, decltype(&name){}, __VA_ARGS__)

void on_device() {
  CUcontext context = nullptr;
  CUdeviceptr from = 0, to = 0;
  CU(cuInit, 0u);
  CU(cuDevicePrimaryCtxRetain, &context, 0);
  CU(cuCtxSetCurrent, context);
  CU(cuMemAlloc_v2, &from, size_t{kBytes});
  CU(cuMemAlloc_v2, &to, size_t{kBytes});
  std::vector<unsigned char> data(kBytes);
  fill(data.data(), kBytes, static_cast<unsigned>(rank));
  cu("cuMemcpyHtoD_v2", decltype(&copy_in){}, from, data.data(), size_t{kBytes});
  between(reinterpret_cast<void*>(from), reinterpret_cast<void*>(to));
  cu("cuMemcpyDtoH_v2", decltype(&copy_out){}, data.data(), to, size_t{kBytes});
  CHECK_FILLED(data.data(), kBytes, static_cast<unsigned>(1 - rank));
}

}  // namespace

int main(int argc, char** argv) {
  begin(&argc, &argv);
  std::vector<unsigned char> heap(kBytes), other(kBytes);
  void* const mapped =
      mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(mapped != MAP_FAILED);
  between(heap.data(), other.data());
  between(mapped, other.data());
  CHECK(library() == nullptr);
  opened = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  CHECK(opened != nullptr);
  between(mapped, other.data());
  on_device();
  between(mapped, other.data());
  return end();
}
