// SPDX-License-Identifier: Apache-2.0
// Messages of memory of every allocator: pools, mappings, interior pointers, neighbours in a driver
// block.
// ranks: 2
// configurations: 1 4-peers 2-apart jitter fabric
#include "allocators.hpp"

using namespace tern::test;

namespace {

constexpr size_t kWhole = 3 << 20, kBorder = 2 << 20;

void message(const Area& area, size_t offset, size_t bytes, const char* from, const char* to) {
  const int count = static_cast<int>(bytes);
  const auto want = bytes_of(bytes, static_cast<unsigned>(bytes + offset));
  if (rank == 0) {
    area.put(want, offset);
    OK(MPI_Send(area.address(offset), count, MPI_BYTE, 1, 0, MPI_COMM_WORLD));
    return;
  }
  const auto frame = bytes_of(bytes + 2, 9);
  area.put(frame, offset - 1);
  OK(MPI_Recv(area.address(offset), count, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  const auto got = area.get(bytes + 2, offset - 1);
  if (!std::equal(want.begin(), want.end(), got.begin() + 1))
    FAIL("%s to %s: %zu bytes at offset %zu are wrong", from, to, bytes, offset);
  CHECK(got.front() == frame.front() && got.back() == frame.back());
}

void pair(const Allocator& from, const Allocator& to) {
  const Allocator& mine = rank == 0 ? from : to;
  const Area area = mine.make(kWhole + 16);
  const size_t pieces[][2] = {{1, 1},
                              {1, 1000},
                              {777, 300000},
                              {1, kWhole - 9},
                              {kBorder - 500, 1000},
                              {kBorder - 1000, 300000}};
  for (const auto& [offset, bytes] : pieces) message(area, offset, bytes, from.name, to.name);
}

// The driver gives all neighbours in a block the same handle.
void neighbours() {
  std::vector<Area> small;
  for (int i = 0; i < 20; ++i) small.push_back(plain(16384 + 512));
  for (size_t i = 0; i < small.size(); ++i) small[i].put(bytes_of(16384, static_cast<unsigned>(i)));
  for (const size_t i : {7, 3, 19, 0, 8, 7}) {
    if (rank == 0) {
      OK(MPI_Send(small[i].address(), 16384, MPI_BYTE, 1, 0, MPI_COMM_WORLD));
      continue;
    }
    const Area into = plain(16384);
    OK(MPI_Recv(into.address(), 16384, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(into.get(16384) == bytes_of(16384, static_cast<unsigned>(i)));
  }
}

}  // namespace

int main(int argc, char** argv) {
  begin(&argc, &argv);
  start_cuda();
  for (const Allocator& from : kAllocators)
    for (const Allocator& to : kAllocators) pair(from, to);
  neighbours();
  return end();
}
