// SPDX-License-Identifier: Apache-2.0
// MPI_Allreduce of floats in device memory by size, against pinned host copies by hand, and against
// NCCL 2.30 or newer where libnccl.so.2 is installed (several ranks on one GPU:
// NCCL_MULTI_RANK_GPU_ENABLE=1).
#include <dlfcn.h>

#include "gpu.hpp"

using namespace tern::bench;

namespace {

/// The part of nccl.h that is used.
struct Nccl {
  struct Id {
    char bytes[128];
  };
  int (*version)(int*) = nullptr;
  int (*unique_id)(Id*) = nullptr;
  int (*init)(void**, int, Id, int) = nullptr;
  int (*allreduce)(const void*, void*, size_t, int, int, void*, CUstream) = nullptr;
  void* comm = nullptr;
};
constexpr size_t kKi = 1024, kMi = kKi * kKi;
constexpr size_t kLengths[] = {8,         64,  512,     4 * kKi,  32 * kKi, 64 * kKi,
                               256 * kKi, kMi, 4 * kMi, 16 * kMi, 64 * kMi, 256 * kMi};
constexpr int kNcclFloat = 7, kNcclSum = 0, kNcclLeast = 23000;

/// Why NCCL is not measured, or null. Collective.
const char* open_nccl(Nccl* nccl) {
  void* const library = dlopen("libnccl.so.2", RTLD_NOW);
  int version = 0, all = 0;
  if (library != nullptr) {
    nccl->version = reinterpret_cast<decltype(nccl->version)>(dlsym(library, "ncclGetVersion"));
    nccl->unique_id =
        reinterpret_cast<decltype(nccl->unique_id)>(dlsym(library, "ncclGetUniqueId"));
    nccl->init = reinterpret_cast<decltype(nccl->init)>(dlsym(library, "ncclCommInitRank"));
    nccl->allreduce = reinterpret_cast<decltype(nccl->allreduce)>(dlsym(library, "ncclAllReduce"));
    if (nccl->version != nullptr) (void)nccl->version(&version);
  }
  OK(MPI_Allreduce(&version, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
  if (all == 0) return "libnccl.so.2 is not installed";
  if (all < kNcclLeast) return "libnccl.so.2 is older than 2.30";
  Nccl::Id id{};
  if (rank == 0 && nccl->unique_id(&id) != 0) std::memset(&id, 0, sizeof id);
  OK(MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD));
  const int failed = nccl->init(&nccl->comm, size, id, rank);
  OK(MPI_Allreduce(&failed, &all, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
  return all != 0 ? "ncclCommInitRank fails (NCCL_MULTI_RANK_GPU_ENABLE=1?)" : nullptr;
}

int rounds_of(size_t bytes) { return bytes <= 65536 ? 200 : bytes <= 8 << 20 ? 20 : 3; }

void all_ways(size_t bytes, const Nccl* nccl) {
  const int count = static_cast<int>(bytes / sizeof(float));
  Area from(Kind::kDevice, bytes), to(Kind::kDevice, bytes);
  Area pinned(Kind::kPinned, bytes), sum(Kind::kPinned, bytes);
  const std::vector<float> ones(bytes / sizeof(float), 1.0F);
  from.put(ones.data(), bytes);
  double seconds = seconds_of(rounds_of(bytes), [&] {
    OK(MPI_Allreduce(from.address(), to.address(), count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD));
  });
  float last = 0;
  to.get(&last, sizeof last, bytes - sizeof last);
  CHECK(last == static_cast<float>(size));
  report("allreduce_device", bytes, seconds * 1e6, "us");
  seconds = seconds_of(rounds_of(bytes), [&] {
    to_host(pinned, from, bytes);
    OK(MPI_Allreduce(pinned.address(), sum.address(), count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD));
    to_device(to, sum, bytes);
  });
  report("allreduce_by_hand", bytes, seconds * 1e6, "us");
  if (nccl == nullptr) return;
  seconds = seconds_of(rounds_of(bytes), [&] {
    CHECK_EQ(nccl->allreduce(from.address(), to.address(), bytes / sizeof(float), kNcclFloat,
                             kNcclSum, nccl->comm, stream),
             0);
    CU(cuStreamSynchronize(stream));
  });
  report("allreduce_nccl", bytes, seconds * 1e6, "us");
}

}  // namespace

int main(int argc, char** argv) {
  setenv("NCCL_MULTI_RANK_GPU_ENABLE", "1", 0);
  start(&argc, &argv);
  Nccl nccl;
  const char* const why_not = quick ? "not with --quick" : open_nccl(&nccl);
  if (why_not != nullptr && rank == 0) std::fprintf(stderr, "NCCL is left out: %s\n", why_not);
  for (const size_t bytes : kLengths)
    if (!quick || bytes <= large()) all_ways(bytes, why_not == nullptr ? &nccl : nullptr);
  return finish();
}
