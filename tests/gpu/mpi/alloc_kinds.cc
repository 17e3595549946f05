// SPDX-License-Identifier: Apache-2.0
// MPI_Alloc_mem by kind: driver attributes, messages, MPI_Free_mem without leaks.
// ranks: 2
#include <string>

#include "memory.hpp"

using namespace tern::test;

namespace {

constexpr size_t kBytes = 3000001;
const char* const kNames[] = {"mpi", "system", "cuda", "cuda:device", "cuda:host", "cuda:managed"};

void* allocate(const char* kind, size_t bytes, const char* alignment = nullptr) {
  MPI_Info info;
  void* memory = nullptr;
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "mpi_memory_alloc_kinds", kind));
  if (alignment != nullptr) OK(MPI_Info_set(info, "mpi_minimum_memory_alignment", alignment));
  OK(MPI_Alloc_mem(static_cast<MPI_Aint>(bytes), info, &memory));
  OK(MPI_Info_free(&info));
  return memory;
}

CUdeviceptr address_of(void* memory) { return reinterpret_cast<CUdeviceptr>(memory); }

void what_the_driver_says(const std::string& kind) {
  void* const memory = allocate(kind.c_str(), kBytes, "128");
  CHECK_EQ(address_of(memory) % 128, 0U);
  unsigned type = 0;
  int managed = 0, legacy = 0;
  uint64_t handles = 0;
  CUpointer_attribute names[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                 CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE,
                                 CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES};
  void* values[] = {&type, &managed, &legacy, &handles};
  const CUresult result = cuPointerGetAttributes(4, names, values, address_of(memory));
  const bool cuda = kind.substr(0, 4) == "cuda";
  const bool device = kind == "cuda" || kind == "cuda:device";
  if (cuda) {
    CHECK(result == CUDA_SUCCESS);
    CHECK_EQ(managed, kind == "cuda:managed");
    if (kind == "cuda:host") CHECK_EQ(type, static_cast<unsigned>(CU_MEMORYTYPE_HOST));
    if (device) CHECK_EQ(type, static_cast<unsigned>(CU_MEMORYTYPE_DEVICE));
    if (device) CHECK(legacy != 0 || handles != 0);
  } else {
    std::memset(memory, 1, kBytes);
  }
  OK(MPI_Free_mem(memory));
}

void message(const char* from, const char* to) {
  const auto sent = bytes_of(kBytes, 7);
  void* const memory = allocate(rank == 0 ? from : to, kBytes);
  const bool cuda = std::strncmp(rank == 0 ? from : to, "cuda", 4) == 0;
  if (rank == 0) {
    if (cuda)
      CU(cuMemcpyHtoD_v2(address_of(memory), sent.data(), kBytes));
    else
      std::memcpy(memory, sent.data(), kBytes);
    OK(MPI_Send(memory, kBytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD));
  } else {
    std::vector<uint8_t> got(kBytes);
    OK(MPI_Recv(memory, kBytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    if (cuda)
      CU(cuMemcpyDtoH_v2(got.data(), address_of(memory), kBytes));
    else
      std::memcpy(got.data(), memory, kBytes);
    if (got != sent) FAIL("%s to %s: other bytes arrived", from, to);
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Free_mem(memory));
}

void freed() {
  size_t before = 0, after = 0, total = 0;
  CU(cuMemGetInfo_v2(&before, &total));
  for (int i = 0; i < 20; ++i) {
    void* const memory = allocate("cuda:device", 32 << 20);
    CU(cuCtxSetCurrent(contexts[other_device()]));
    OK(MPI_Free_mem(memory));
    CUcontext now = nullptr;
    CU(cuCtxGetCurrent(&now));
    CHECK(now == contexts[other_device()]);
    CU(cuCtxSetCurrent(contexts[rank % devices]));
  }
  CU(cuMemGetInfo_v2(&after, &total));
  if (getenv("GPU_TWIN") != nullptr && std::string(getenv("GPU_TWIN")) == "soft")
    CHECK_EQ(after, before);  // other programs use a real device
}

void refusals() {
  MPI_Info info;
  void* memory = nullptr;
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "mpi_memory_alloc_kinds", "cuda:lost"));
  FAILS(MPI_Alloc_mem(8, info, &memory), MPI_ERR_INFO_VALUE);
  OK(MPI_Info_set(info, "mpi_memory_alloc_kinds", "cuda:device"));
  FAILS(MPI_Alloc_mem(MPI_Aint{1} << 50, info, &memory), MPI_ERR_NO_MEM);
  CU(cuCtxSetCurrent(nullptr));
  FAILS(MPI_Alloc_mem(8, info, &memory), MPI_ERR_OTHER);  // the device is ambiguous
  CU(cuCtxSetCurrent(contexts[rank % devices]));
  OK(MPI_Info_set(info, "mpi_memory_alloc_kinds", "nobodys:kind, system"));
  OK(MPI_Alloc_mem(8, info, &memory));
  OK(MPI_Free_mem(memory));
  OK(MPI_Info_free(&info));
}

}  // namespace

int main(int argc, char** argv) {
  begin(&argc, &argv);
  start_cuda();
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  for (const char* kind : kNames) what_the_driver_says(kind);
  for (const char* from : kNames)
    for (const char* to : kNames) message(from, to);
  freed();
  refusals();
  return end();
}
