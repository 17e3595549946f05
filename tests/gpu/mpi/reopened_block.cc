// SPDX-License-Identifier: Apache-2.0
// Messages of small allocations of one driver block. A second IPC handle of an open block returns
// the first allocation's address (ranks 0 and 1) or CUDA_ERROR_ALREADY_MAPPED (ranks 2 and 3).
// ranks: 4
// configurations: 4-peers
#include <cstdlib>

#include "allocators.hpp"

using namespace tern::test;

namespace {

constexpr int kBytes = 40'000, kBlocks = 6;

int value_of(int of, int block, int round) { return of * 64 + block * 8 + round + 1; }

void fill(const Area& area, int value) {
  CU(cuMemsetD8_v2(area.at, static_cast<unsigned char>(value), kBytes));
  CU(cuCtxSynchronize());
}

void check(const Area& area, int value, const char* what) {
  const auto got = area.get(kBytes);
  for (int i = 0; i < kBytes; ++i)
    if (got[static_cast<size_t>(i)] != value)
      FAIL("%s: byte %d is %d, expected %d", what, i, got[static_cast<size_t>(i)], value);
}

}  // namespace

int main(int argc, char** argv) {
  const char* const number = std::getenv("PMIX_RANK");
  setenv("SOFTCUDA_REOPEN", number != nullptr && std::atoi(number) > 1 ? "nothing" : "first", 1);
  begin(&argc, &argv);
  start_cuda();
  std::vector<Area> out, in;
  for (int i = 0; i < kBlocks; ++i) {
    out.push_back(plain(kBytes));
    in.push_back(plain(kBytes));
  }
  const int other = rank ^ 1;
  for (int round = 0; round < 4; ++round)
    for (int i = 0; i < kBlocks; ++i) {
      const Area &from = out[static_cast<size_t>(i)], &to = in[static_cast<size_t>(i)];
      fill(from, value_of(rank, i, round));
      OK(MPI_Sendrecv(from.address(), kBytes, MPI_BYTE, other, 0, to.address(), kBytes, MPI_BYTE,
                      other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      check(to, value_of(other, i, round), "a message");
      fill(to, 0);
      OK(MPI_Allreduce(from.address(), to.address(), kBytes, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD));
      int all = 0;
      for (int of = 0; of < size; ++of) all |= value_of(of, i, round);
      check(to, all, "allreduce");
    }
  in.clear();
  out.clear();
  return end();
}
