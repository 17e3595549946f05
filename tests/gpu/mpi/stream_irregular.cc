// SPDX-License-Identifier: Apache-2.0
// Enqueued allgathers of blocks that differ: all ranks know the sizes of all, and choose by their
// mean, alike also where some describe the same bytes by another type: small blocks go to all at
// once, large ones round a ring, also where one rank has all data. What is gathered is right.
// ranks: 3 4
// configurations: 4-peers
// env: TERN_EXPLAIN=1
#include <fcntl.h>
#include <unistd.h>

#include "said.hpp"
#include "stream.hpp"

using namespace tern::test;

namespace {

struct Blocks {
  const char* name;
  int of_rank_0, of_others;  // pairs of integers
  const char* algorithm;
};
constexpr Blocks kBlocks[] = {
    {"small blocks", 10, 7, "allgather linear"},
    {"large blocks", 20000, 30001, "allgather ring"},
    {"one large block", 100000, 0, "allgather ring"},
    {"one small block", 100, 0, "allgather linear"},
};

/// `pairs`: this rank describes its data by a type of two integers.
void gather(const OnStream& on, const Blocks& blocks, bool pairs, MPI_Datatype pair) {
  const MPI_Datatype type = pairs ? pair : MPI_INT;
  const int each = pairs ? 1 : 2;  // elements of a pair of integers
  std::vector<int> counts, displs;
  int all = 0;
  for (int i = 0; i < size; ++i) {
    counts.push_back((i == 0 ? blocks.of_rank_0 : blocks.of_others) * each);
    displs.push_back(all);
    all += counts.back();
  }
  const int own = counts[static_cast<size_t>(rank)];
  Vector<int> in(static_cast<size_t>(own * 2 / each)), out(static_cast<size_t>(all * 2 / each));
  const auto first = static_cast<size_t>(displs[static_cast<size_t>(rank)] * 2 / each);
  for (size_t i = 0; i < in.bytes() / sizeof(int); ++i) in[i] = static_cast<int>(first + i);
  in.put(on.queue);
  out.spoil(on.queue);
  OK(MPIX_Allgatherv_enqueue(in.on_device(), own, type, out.on_device(), counts.data(),
                             displs.data(), type, on.comm));
  out.get(on.queue);
  on.sync();
  for (size_t i = 0; i < out.bytes() / sizeof(int); ++i)
    if (out[i] != static_cast<int>(i)) FAIL("%s: element %zu is %d", blocks.name, i, out[i]);
}

}  // namespace

int main(int argc, char** argv) {
  begin(&argc, &argv);
  start_cuda();
  MPI_Datatype pair = MPI_DATATYPE_NULL;
  OK(MPI_Type_contiguous(2, MPI_INT, &pair));
  OK(MPI_Type_commit(&pair));
  for (const Blocks& blocks : kBlocks) {
    char said[] = "/tmp/tern_said_XXXXXX";
    const int file = mkstemp(said), kept = dup(2);
    dup2(file, 2);
    {
      const OnStream on;
      for (const bool other : {false, true}) gather(on, blocks, other && rank % 2 == 1, pair);
    }
    const std::string all = said_in(said);
    dup2(kept, 2);
    (void)close(file);
    (void)close(kept);
    (void)unlink(said);
    if (rank == 0 && all.find(std::string(blocks.algorithm) + " (") == std::string::npos)
      FAIL("%s do not go by %s: %s", blocks.name, blocks.algorithm, all.c_str());
  }
  OK(MPI_Type_free(&pair));
  return end();
}
