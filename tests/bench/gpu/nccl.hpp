// SPDX-License-Identifier: Apache-2.0
// An installed NCCL: BENCH_NCCL (a file), the loader's path, or the packages of python3
// (nvidia/nccl/lib). dlopen finds NCCL, since the programs also run without NCCL.
#pragma once

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "gpu.hpp"

namespace tern::bench {

struct NcclId {
  char bytes[128];
};
// TERN_NCCL lists the used part of nccl.h: X(NAME, ARGUMENTS...) is ncclNAME.
#define TERN_NCCL(X)                                                      \
  X(GetVersion, int*)                                                     \
  X(GetUniqueId, NcclId*)                                                 \
  X(CommInitRank, void**, int, NcclId, int)                               \
  X(CommDestroy, void*)                                                   \
  X(GroupStart)                                                           \
  X(GroupEnd)                                                             \
  X(AllReduce, const void*, void*, size_t, int, int, void*, CUstream)     \
  X(AllGather, const void*, void*, size_t, int, void*, CUstream)          \
  X(ReduceScatter, const void*, void*, size_t, int, int, void*, CUstream) \
  X(Broadcast, const void*, void*, size_t, int, int, void*, CUstream)     \
  X(Send, const void*, size_t, int, int, void*, CUstream)                 \
  X(Recv, void*, size_t, int, int, void*, CUstream)

constexpr int kNcclFloat = 7, kNcclSum = 0;
/// Least versions for one rank on each GPU, and for several.
constexpr int kNcclLeast = 22800, kNcclShared = 23000;

struct Nccl {
#define TERN_FUNCTION(name, ...) int (*name)(__VA_ARGS__) = nullptr;
  TERN_NCCL(TERN_FUNCTION)
#undef TERN_FUNCTION
  void* comm = nullptr;
};

inline std::string nccl_of_python() {
  FILE* const said = ::popen(
      "python3 -c 'import importlib.util as u; "
      "print(list(u.find_spec(\"nvidia.nccl\").submodule_search_locations)[0])' 2>/dev/null",
      "r");
  char line[4096] = "";
  if (said == nullptr) return {};
  const bool got = std::fgets(line, sizeof line, said) != nullptr;
  (void)::pclose(said);
  line[std::strcspn(line, "\n")] = '\0';
  return got ? std::string(line) + "/lib/libnccl.so.2" : std::string();
}

inline void* nccl_library() {
  if (const char* file = std::getenv("BENCH_NCCL"); file != nullptr) return dlopen(file, RTLD_NOW);
  if (void* library = dlopen("libnccl.so.2", RTLD_NOW); library != nullptr) return library;
  const std::string file = nccl_of_python();
  return file.empty() ? nullptr : dlopen(file.c_str(), RTLD_NOW);
}

inline bool ranks_share_gpu() {
  CUdevice device = 0;
  CUuuid mine{};
  CU(cuCtxGetDevice(&device));
  CU(cuDeviceGetUuid_v2(&mine, device));
  std::vector<CUuuid> all(static_cast<size_t>(size));
  OK(MPI_Allgather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE,
                   MPI_COMM_WORLD));
  for (size_t i = 0; i < all.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (std::memcmp(&all[i], &all[j], sizeof mine) == 0) return true;
  return false;
}

inline int least_of_ranks(int mine) {
  int all = 0;
  OK(MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
  return all;
}

inline std::string nccl_version_in_words(int version) {
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

/// open_nccl() returns the reason against NCCL; if empty, *nccl has a communicator of all ranks.
/// Collective.
inline std::string open_nccl(Nccl* nccl) {
  if (quick && std::getenv("BENCH_NCCL") == nullptr) return "not with --quick";
  void* const library = nccl_library();
  bool found = library != nullptr;
#define TERN_FIND(name, ...)                                                           \
  if (found) {                                                                         \
    nccl->name = reinterpret_cast<decltype(nccl->name)>(dlsym(library, "nccl" #name)); \
    found = nccl->name != nullptr;                                                     \
  }
  TERN_NCCL(TERN_FIND)
#undef TERN_FIND
  int version = 0;
  if (found) (void)nccl->GetVersion(&version);
  version = least_of_ranks(version);
  const bool shared = ranks_share_gpu();
  if (version == 0)
    return "libnccl.so.2 is neither in the loader's path nor in the packages of python3 (pip "
           "install nvidia-nccl-cu13), nor does BENCH_NCCL name it";
  if (version < (shared ? kNcclShared : kNcclLeast))
    return "NCCL " + nccl_version_in_words(version) +
           (shared ? " takes one rank of a GPU; several need 2.30 or newer, with "
                     "NCCL_MULTI_RANK_GPU_ENABLE=1"
                   : " is older than 2.28");
  if (shared) setenv("NCCL_MULTI_RANK_GPU_ENABLE", "1", 0);
  NcclId id{};
  if (rank == 0 && nccl->GetUniqueId(&id) != 0) FAIL("ncclGetUniqueId fails");
  OK(MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD));
  if (least_of_ranks(nccl->CommInitRank(&nccl->comm, size, id, rank) == 0 ? 1 : 0) == 0)
    return "ncclCommInitRank fails: NCCL_DEBUG=WARN says why";
  if (rank == 0)
    std::fprintf(stderr, "NCCL %s, %s\n", nccl_version_in_words(version).c_str(),
                 shared ? "several ranks of a GPU" : "a GPU for each rank");
  return {};
}

}  // namespace tern::bench
