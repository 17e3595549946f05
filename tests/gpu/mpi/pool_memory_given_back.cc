// SPDX-License-Identifier: Apache-2.0
// A shareable pool is exported and imported once, and an allocation travels by a single copy. The
// peer releases the memory before the message completes, because the owner may then free the
// memory.
// ranks: 2
// configurations: 1 4-peers 2-apart
#include "allocators.hpp"

using namespace tern::test;

namespace {

constexpr size_t kBytes = 1 << 20;

class Pool {
 public:
  Pool() = default;
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool() { CU(cuMemPoolDestroy(pool_)); }
  [[nodiscard]] Area take(size_t bytes) const { return from_pool(pool_, bytes); }

 private:
  CUmemoryPool pool_ = make_pool();
};

bool reachable() {
  int can = 1;
  if (devices > 1) CU(cuDeviceCanAccessPeer(&can, rank, 1 - rank));
  return can != 0;
}

void message(const Area& area, int from, size_t offset, size_t bytes) {
  static unsigned seed = 0;
  const auto want = bytes_of(bytes, ++seed);
  if (rank == from) {
    area.put(want, offset);
    CU(cuCtxSynchronize());  // pending writes would be packed
    OK(MPI_Send(area.address(offset), static_cast<int>(bytes), MPI_BYTE, 1 - from, 0,
                MPI_COMM_WORLD));
    return;
  }
  const auto imported = control().there() ? control().calls("cuMemPoolImportPointer") : 0;
  OK(MPI_Recv(area.address(offset), static_cast<int>(bytes), MPI_BYTE, from, 0, MPI_COMM_WORLD,
              MPI_STATUS_IGNORE));
  if (area.get(bytes, offset) != want)
    FAIL("%zu bytes at offset %zu of a pool's memory are wrong", bytes, offset);
  if (!control().there()) return;
  CHECK_EQ(control().live("imports"), 0);
  CHECK_EQ(control().calls("cuMemPoolImportPointer") - imported, reachable() ? 1u : 0u);
}

void both_ways(const Area& area, size_t offset, size_t bytes) {
  message(area, 0, offset, bytes);
  message(area, 1, offset, bytes);
}

void side_by_side(const Area& area) {
  MPI_Request requests[2];
  const auto want = bytes_of(kBytes, 77);
  if (rank == 0) area.put(want);
  CU(cuCtxSynchronize());
  for (int i = 0; i < 2; ++i) {
    void* const half = area.address(static_cast<size_t>(i) * kBytes / 2);
    if (rank == 0) OK(MPI_Isend(half, kBytes / 2, MPI_BYTE, 1, i, MPI_COMM_WORLD, &requests[i]));
    if (rank == 1) OK(MPI_Irecv(half, kBytes / 2, MPI_BYTE, 0, i, MPI_COMM_WORLD, &requests[i]));
  }
  OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  if (rank == 1 && area.get(kBytes) != want) FAIL("two messages of an allocation are wrong");
}

void messages() {
  const Pool pool, other;
  const Area first = pool.take(kBytes), second = pool.take(kBytes), third = other.take(kBytes);
  for (const Area* area : {&first, &second, &third, &first}) {
    both_ways(*area, 0, kBytes);
    both_ways(*area, 12345, 300000);
  }
  side_by_side(first);
  const auto shared = control().there() ? control().calls("cuMemPoolExportToShareableHandle") : 0;
  for (int i = 0; i < 6; ++i) {
    const Area area = pool.take(kBytes + static_cast<size_t>(i));
    both_ways(area, 1, kBytes - 1);
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }
  if (control().there()) CHECK_EQ(control().calls("cuMemPoolExportToShareableHandle"), shared);
}

}  // namespace

int main(int argc, char** argv) {
  begin(&argc, &argv);
  start_cuda();
  const auto before = alive();
  settle_contexts();
  for (int i = 0; i < 2; ++i) {
    messages();
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }
  OK(MPI_Finalize());
  check_alive(before);
  return 0;
}
