// SPDX-License-Identifier: Apache-2.0
// Writes an invented trace: write late_sender FILE, or write big FILE [RANKS [RECORDS]].
// Why: tests of tern_trace know the waits, and the size needs no machine with 1,024 cores.
#include <algorithm>
#include <cstdlib>

#include "tests/trace/writer.hpp"

namespace tern::trace_test {
namespace {

/// Rank 0 sends 50 ms late, in one of ten steps; 4 ranks, a ring of messages and an allreduce.
std::vector<Rank> late_sender(bool late) {
  std::vector<Rank> ranks;
  for (int r = 0; r < 4; ++r) ranks.emplace_back(r, 4);
  double start = 0;
  for (int step = 0; step < 10; ++step) {
    const double delay = late && step == 5 ? 50 : 0;
    for (int r = 0; r < 4; ++r) {
      const double sends = start + 5 + (r == 0 ? delay : 0);
      ranks[static_cast<size_t>(r)].send((r + 1) % 4, 7, 4096, "ring.c:20(step)", sends,
                                         sends + 0.01);
      const double arrives = r == 1 ? start + 5 + delay + 0.02 : sends + 0.02;
      ranks[static_cast<size_t>(r)].receive((r + 3) % 4, 7, 4096, "ring.c:21(step)", sends + 0.01,
                                            arrives);
      ranks[static_cast<size_t>(r)].collective("MPI_Allreduce", "ring.c:30(step)",
                                               start + 6 + delay, start + 6.05 + delay);
    }
    start += 6.05 + delay;
  }
  return ranks;
}

/// Steps of a stencil: each rank computes, exchanges with two neighbours, and reduces.
class Big {
 public:
  Big(int ranks, uint64_t records)
      : ranks_(ranks), steps_(records / kPerStep / static_cast<uint64_t>(ranks)) {}

  bool write(const std::string& name) {
    FILE* const file = std::fopen(name.c_str(), "wb");
    if (file == nullptr) return false;
    const std::string head = head_bytes();
    bool good = std::fwrite(head.data(), 1, head.size(), file) == head.size();
    for (int r = 0; r < ranks_ && good; ++r) {
      const std::string block = rank(r);
      good = std::fwrite(block.data(), 1, block.size(), file) == block.size();
    }
    return std::fclose(file) == 0 && good;
  }

 private:
  static constexpr uint64_t kPerStep = 8;

  std::string rank(int r) {
    Rank one(r, ranks_, "node" + std::to_string(r / 64));
    const int left = (r + ranks_ - 1) % ranks_, right = (r + 1) % ranks_;
    double start = 0;
    for (uint64_t step = 0; step < steps_; ++step) {
      // One slow rank in each step.
      const bool slow = static_cast<int>(step * 37 % static_cast<uint64_t>(ranks_)) == r;
      const double ready = start + (slow ? 1.4 : 1.0 + 0.1 * ((r * 7 + step) % 5) / 5);
      const uint32_t a = one.irecv(left, 1, "stencil.c:40(halo)", ready, ready + 0.001);
      const uint32_t b = one.irecv(right, 2, "stencil.c:41(halo)", ready + 0.001, ready + 0.002);
      one.send(right, 1, 8192, "stencil.c:42(halo)", ready + 0.002, ready + 0.006);
      one.send(left, 2, 8192, "stencil.c:43(halo)", ready + 0.006, ready + 0.01);
      one.wait("stencil.c:44(halo)", ready + 0.01, std::max(ready + 0.02, start + 1.45));
      one.received(a, left, 1, 8192);
      one.received(b, right, 2, 8192);
      one.collective("MPI_Allreduce", "stencil.c:60(norm)", start + 1.46, start + 1.5);
      start += 1.5;
    }
    const std::string lines = padded(one.definitions());
    std::string bytes;
    const auto process = static_cast<uint32_t>(r);
    append_block(&bytes, trace::BlockKind::kDefinitions, process, 0, lines.data(), lines.size());
    constexpr size_t kBlock = 4096;  // records
    for (size_t i = 0; i < one.records().size(); i += kBlock)
      append_block(&bytes, trace::BlockKind::kRecords, process, 0, &one.records()[i],
                   std::min(kBlock, one.records().size() - i) * sizeof(Record));
    return bytes;
  }

  int ranks_;
  uint64_t steps_;
};

}  // namespace
}  // namespace tern::trace_test

int main(int argc, char** argv) {
  using namespace tern::trace_test;
  const std::string kind = argc > 2 ? argv[1] : "";
  if (kind == "big") {
    const int ranks = argc > 3 ? std::atoi(argv[3]) : 1024;
    const uint64_t records = argc > 4 ? std::strtoull(argv[4], nullptr, 10) : 10'000'000;
    return Big(ranks, records).write(argv[2]) ? 0 : 1;
  }
  if (kind == "late_sender" || kind == "in_time")
    return write_bytes(argv[2], file_bytes(late_sender(kind == "late_sender"))) ? 0 : 1;
  std::fprintf(stderr, "usage: write late_sender|in_time|big FILE [RANKS [RECORDS]]\n");
  return 2;
}
