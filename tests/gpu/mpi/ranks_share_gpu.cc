// SPDX-License-Identifier: Apache-2.0
// A GPU runs one process at a time, so no GPU work waits for another process: messages of all sizes
// at once, between collectives.
// ranks: 2 3 4
// configurations: in-turn 1
#include "allocators.hpp"

using namespace tern::test;

namespace {

constexpr int kRounds = 6;
const size_t kLengths[] = {40, 9000, 70000, 600000};

void around(int round) {
  std::vector<Area> areas;
  std::vector<MPI_Request> requests;
  for (int hop = 1; hop < size; ++hop)
    for (const size_t bytes : kLengths) {
      const int to = (rank + hop) % size, from = (rank + size - hop) % size;
      const int count = static_cast<int>(bytes);
      areas.push_back(plain(bytes));
      areas.back().put(bytes_of(bytes, static_cast<unsigned>(rank + round)));
      requests.emplace_back();
      OK(MPI_Isend(areas.back().address(), count, MPI_BYTE, to, count, MPI_COMM_WORLD,
                   &requests.back()));
      areas.push_back(plain(bytes));
      requests.emplace_back();
      OK(MPI_Irecv(areas.back().address(), count, MPI_BYTE, from, count, MPI_COMM_WORLD,
                   &requests.back()));
    }
  OK(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE));
  size_t next = 1;
  for (int hop = 1; hop < size; ++hop)
    for (const size_t bytes : kLengths) {
      const int from = (rank + size - hop) % size;
      CHECK(areas[next].get(bytes) == bytes_of(bytes, static_cast<unsigned>(from + round)));
      next += 2;
    }
}

void together(int count) {
  const auto bytes = static_cast<size_t>(count) * sizeof(int);
  const Area in = plain(bytes), out = plain(bytes);
  std::vector<int> mine(static_cast<size_t>(count)), got(mine.size());
  for (int i = 0; i < count; ++i) mine[static_cast<size_t>(i)] = i % 100 + rank;
  CU(cuMemcpyHtoD_v2(in.at, mine.data(), bytes));
  OK(MPI_Allreduce(in.address(), out.address(), count, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  CU(cuMemcpyDtoH_v2(got.data(), out.at, bytes));
  for (int i = 0; i < count; ++i)
    CHECK_EQ(got[static_cast<size_t>(i)], i % 100 * size + size * (size - 1) / 2);
}

}  // namespace

int main(int argc, char** argv) {
  begin(&argc, &argv);
  start_cuda();
  for (int round = 0; round < kRounds; ++round) {
    around(round);
    for (const int count : {10, 3000, 200000}) together(count);
  }
  return end();
}
