// SPDX-License-Identifier: Apache-2.0
// Enqueued allgathers and reduce-scatters with different block sizes. All ranks choose by the mean
// size, even with different types: blocks travel directly, small ones by LL, large ones by bulk.
// ranks: 3 4
// configurations: 4-peers
// env: TERN_EXPLAIN=1
#include "said.hpp"
#include "stream.hpp"

using namespace tern::test;

namespace {

struct Blocks {
  const char* name;
  int of_rank_0, of_others;
  const char* algorithm;
  const char* wire;
};
constexpr Blocks kBlocks[] = {
    {"small blocks", 10, 7, "allgather linear", "(ll, "},
    {"blocks in several passes", 4011, 3000, "allgather linear", "(ll, "},
    {"large blocks", 200000, 300001, "allgather linear", "(bulk, "},
    {"one large block", 600000, 0, "allgather linear", "(bulk, "},
    {"one small block", 0, 100, "allgather linear", "(ll, "},
};
std::vector<int> counts_of(const Blocks& blocks, int each) {
  std::vector<int> counts;
  for (int i = 0; i < size; ++i)
    counts.push_back((i == 0 ? blocks.of_rank_0 : blocks.of_others + i % 2) * each);
  return counts;
}

void gather(const OnStream& on, const Blocks& blocks, bool pairs, MPI_Datatype pair) {
  const MPI_Datatype type = pairs ? pair : MPI_INT;
  const int each = pairs ? 1 : 2;
  const std::vector<int> counts = counts_of(blocks, each);
  std::vector<int> displs;
  int all = 0;
  for (const int count : counts) {
    displs.push_back(all);
    all += count;
  }
  const int own = counts[static_cast<size_t>(rank)];
  Vector<int> in(static_cast<size_t>(own * 2 / each)), out(static_cast<size_t>(all * 2 / each));
  const auto first = static_cast<size_t>(displs[static_cast<size_t>(rank)] * 2 / each);
  for (size_t i = 0; i < in.bytes() / sizeof(int); ++i) in[i] = static_cast<int>(first + i);
  in.put(on.queue);
  out.spoil(on.queue);
  OK(MPIX_Allgatherv_enqueue(rank == size - 1 ? &in[0] : in.on_device(), own, type, out.on_device(),
                             counts.data(), displs.data(), type, on.comm));
  out.get(on.queue);
  on.sync();
  const auto check = [&](const char* how) {
    for (size_t i = 0; i < out.bytes() / sizeof(int); ++i)
      if (out[i] != static_cast<int>(i))
        FAIL("%s%s: element %zu is %d", blocks.name, how, i, out[i]);
  };
  check("");
  for (size_t i = 0; i < out.bytes() / sizeof(int); ++i)
    if (i < first || i >= first + in.bytes() / sizeof(int)) out[i] = -1;
  out.put(on.queue);
  OK(MPIX_Allgatherv_enqueue(MPI_IN_PLACE, 0, type, out.on_device(), counts.data(), displs.data(),
                             type, on.comm));
  out.get(on.queue);
  on.sync();
  check(" in place");
}

void scatter(const OnStream& on, const Blocks& blocks, bool in_place) {
  const std::vector<int> counts = counts_of(blocks, 2);
  size_t all = 0, first = 0;
  for (int i = 0; i < size; ++i) {
    if (i == rank) first = all;
    all += static_cast<size_t>(counts[static_cast<size_t>(i)]);
  }
  const auto own = static_cast<size_t>(counts[static_cast<size_t>(rank)]);
  Vector<int> in(all), out(own + 1);
  for (size_t i = 0; i < all; ++i) in[i] = rank * 1000 + static_cast<int>(i);
  out[own] = -7;
  in.put(on.queue);
  out.put(on.queue);
  OK(MPIX_Reduce_scatter_enqueue(in_place ? MPI_IN_PLACE : in.on_device(),
                                 (in_place ? in : out).on_device(), counts.data(), MPI_INT, MPI_SUM,
                                 on.comm));
  Vector<int>& made = in_place ? in : out;
  made.get(on.queue);
  on.sync();
  for (size_t i = 0; i < own; ++i) {
    const int want = size * (size - 1) / 2 * 1000 + size * static_cast<int>(first + i);
    if (made[i] != want)
      FAIL("%s, reduced%s: element %zu is %d, expected %d", blocks.name,
           in_place ? " in place" : "", i, made[i], want);
  }
  if (!in_place && out[own] != -7)
    FAIL("%s: data behind the own block was overwritten", blocks.name);
}

}  // namespace

int main(int argc, char** argv) {
  begin(&argc, &argv);
  start_cuda();
  MPI_Datatype pair = MPI_DATATYPE_NULL;
  OK(MPI_Type_contiguous(2, MPI_INT, &pair));
  OK(MPI_Type_commit(&pair));
  for (const Blocks& blocks : kBlocks) {
    const Heard heard;
    {
      const OnStream on;
      for (const bool other : {false, true}) gather(on, blocks, other && rank % 2 == 1, pair);
      for (const bool in_place : {false, true}) scatter(on, blocks, in_place);
    }
    const std::string all = heard.text();
    if (rank == 0 && all.find(std::string(blocks.algorithm) + " (") == std::string::npos)
      FAIL("%s do not go by %s: %s", blocks.name, blocks.algorithm, all.c_str());
    if (rank == 0 && all.find(blocks.wire) == std::string::npos)
      FAIL("%s do not go by %s: %s", blocks.name, blocks.wire, all.c_str());
  }
  OK(MPI_Type_free(&pair));
  return end();
}
