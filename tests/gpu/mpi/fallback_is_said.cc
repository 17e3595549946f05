// SPDX-License-Identifier: Apache-2.0
// Tern reports a slow path of device memory once, with reason and cure. Rank 0 requests
// explanations (TERN_EXPLAIN), rank 1 does not.
// ranks: 2
// configurations: 1 2-apart
#include "allocators.hpp"
#include "said.hpp"

using namespace tern::test;

namespace {

const Heard* heard = nullptr;

int lines_with(const char* words) {
  const std::string text = heard->text();
  int count = 0;
  for (size_t at = text.find(words); at != std::string::npos; at = text.find(words, at + 1))
    ++count;
  return count;
}

void expect(const char* words, int count) {
  const int found = lines_with(words);
  if (found == count) return;
  FAIL("\"%s\" is said %d times, expected %d", words, found, count);
}

void messages(const Allocator& by) {
  constexpr int kBytes = 1 << 20;
  for (int i = 0; i < 5; ++i) {
    const Area area = by.make(kBytes);
    if (rank == 0) OK(MPI_Send(area.address(), kBytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD));
    if (rank == 1)
      OK(MPI_Recv(area.address(), kBytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  }
}

void sums(MPI_Datatype type) {
  const Area in = plain(2 << 20), out = plain(2 << 20);  // each has 2 MiB of its own
  in.put(std::vector<uint8_t>(1 << 20));
  for (int i = 0; i < 3; ++i)
    OK(MPI_Allreduce(in.address(), out.address(), 60000, type, MPI_SUM, MPI_COMM_WORLD));
}

}  // namespace

int main(int argc, char** argv) {
  const char* const own_rank = std::getenv("PMIX_RANK");
  if (own_rank == nullptr) return 1;
  if (std::atoi(own_rank) == 0) setenv("TERN_EXPLAIN", "1", 1);
  const Heard hears;
  heard = &hears;
  begin(&argc, &argv);
  start_cuda();
  const bool apart = devices > 1 && control().there();
  messages(kAllocators[0]);
  if (rank == 1) expect("goes through the host, which is slower: cuIpcOpenMemHandle: ", apart);
  if (rank == 1) expect("CUDA_ERROR_PEER_ACCESS_UNSUPPORTED", apart);
  sums(MPI_FLOAT);
  if (rank == 1) expect("host", apart);
  messages(kAllocators[2]);
  if (rank == 0)
    expect(
        "go through the host: the memory's pool (cudaMallocAsync) is not exportable; use "
        "cudaMalloc",
        1);
  sums(MPI_LONG_DOUBLE);
  expect("device memory is reduced on the host: ", 1);
  return end();
}
