// SPDX-License-Identifier: Apache-2.0
// A pool allocation and a mapping with equal IDs stay distinct: neither a refusal nor an export
// extends to the other.
// ranks: 2
// configurations: 1 4-peers
#include "allocators.hpp"

using namespace tern::test;

namespace {

constexpr size_t kBytes = 1 << 20;
constexpr int kMost = 500;

uint64_t id_of(const Area& area, CUpointer_attribute which) {
  uint64_t id = 0;
  void* value = &id;
  CU(cuPointerGetAttributes(1, &which, &value, area.at));
  return id;
}

struct Pair {
  Area pooled, mapped;
};

/// Managed memory has no block and advances only the allocation IDs.
Area ahead(Area (*make)(size_t bytes)) {
  const Area mapping = mapped(kBytes, 1, kFd, kFd);
  const uint64_t block = id_of(mapping, CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID);
  for (int i = 0; i < kMost; ++i)
    if (id_of(managed(kBytes), CU_POINTER_ATTRIBUTE_BUFFER_ID) > block + 8) break;
  return make(kBytes);
}

Pair same_number(Area (*make)(size_t bytes)) {
  Area pooled = ahead(make);
  const uint64_t wanted = id_of(pooled, CU_POINTER_ATTRIBUTE_BUFFER_ID);
  for (int i = 0; i < kMost; ++i) {
    Area mapping = mapped(kBytes, 1, kFd, kFd);
    if (id_of(mapping, CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID) == wanted)
      return {std::move(pooled), std::move(mapping)};
  }
  return {};
}

unsigned long long calls(const char* function) {
  return control().there() ? control().calls(function) : 0;
}

void message(const Area& area, const Area& into, unsigned seed) {
  if (rank == 0) {
    area.put(bytes_of(kBytes, seed));
    OK(MPI_Send(area.address(), kBytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD));
    return;
  }
  OK(MPI_Recv(into.address(), kBytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  CHECK(into.get(kBytes) == bytes_of(kBytes, seed));
}

bool both_have(const Pair& pair) {
  int there = pair.mapped.at != 0;
  OK(MPI_Bcast(&there, 1, MPI_INT, 0, MPI_COMM_WORLD));
  if (rank == 1 && control().there()) CHECK(there);
  return there != 0;
}

void refused_for_one(const Area& into) {
  const Pair pair = rank == 0 ? same_number(default_pool) : Pair{};
  if (!both_have(pair)) return;
  message(pair.pooled, into, 1);
  const auto before = calls("cuMemImportFromShareableHandle");
  message(pair.mapped, into, 2);
  if (rank == 1 && control().there() && calls("cuMemImportFromShareableHandle") != before + 1)
    FAIL("the mapping is not imported");
}

unsigned long long namings() {
  return calls("cuMemExportToShareableHandle") + calls("cuMemPoolExportPointer");
}

void named_for_both(const Area& into) {
  const Pair pair = rank == 0 ? same_number(exportable_pool) : Pair{};
  if (!both_have(pair)) return;
  message(pair.pooled, into, 3);
  message(pair.mapped, into, 4);
  const auto before = namings();
  for (unsigned round = 5; round < 9; ++round)
    message(round % 2 == 0 ? pair.mapped : pair.pooled, into, round);
  if (namings() != before) FAIL("named %llu times anew", namings() - before);
}

}  // namespace

int main(int argc, char** argv) {
  begin(&argc, &argv);
  start_cuda();
  {
    const Area into = plain(kBytes);
    refused_for_one(into);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    named_for_both(into);
  }
  return end();
}
