// SPDX-License-Identifier: Apache-2.0
// Event times of successive calls in rank 0's stream.
#include <algorithm>
#include <cstdio>

#include "base/error.hpp"
#include "coll/algorithms/algorithms.hpp"
#include "tests/gpu/kernels/round.hpp"

namespace tern::kernels_test {
namespace {

constexpr int kCalls = 10, kTimes = 7;

class Event {
 public:
  explicit Event(Rank& rank) : rank_(rank) {
    const cuda::Current current(*rank.device);
    must("cuEventCreate", driver().cuEventCreate(&handle, 0));
  }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { (void)driver().cuEventDestroy_v2(handle); }
  void record() {
    const cuda::Current current(*rank_.device);
    must("cuEventRecord", driver().cuEventRecord(handle, rank_.stream.handle));
  }
  CUevent handle = nullptr;

 private:
  [[nodiscard]] const cuda::Driver& driver() const { return rank_.device->driver; }
  Rank& rank_;
};

/// Returns the median in microseconds.
double time_of(Ranks& ranks, Call& call, double timeout) {
  Event begin(ranks.at(0)), end(ranks.at(0));
  std::vector<double> times;
  for (int i = 0; i < kTimes; ++i) {
    for (int rank = ranks.count() - 1; rank >= 0; --rank) {
      call.put_operation(ranks.at(rank));
      if (rank == 0) begin.record();
      for (int n = 0; n < kCalls; ++n) call.put_operation(ranks.at(rank));
      if (rank == 0) end.record();
    }
    must(ranks.wait(timeout));
    float milliseconds = 0;
    const cuda::Driver& driver = ranks.machine().driver();
    must("cuEventElapsedTime", driver.cuEventElapsedTime(&milliseconds, begin.handle, end.handle));
    times.push_back(static_cast<double>(milliseconds) * 1000 / kCalls);
  }
  std::nth_element(times.begin(), times.begin() + kTimes / 2, times.end());
  return times[kTimes / 2];
}

void print_cell(Rounds& rounds, Ranks& ranks, size_t line, int column, int64_t count) {
  Random random(1);
  Shape shape;
  shape.line = static_cast<int>(line);
  shape.column = static_cast<Column>(column);
  shape.count = count;
  if (kLines[line].row != nullptr)
    shape.row = coll::find_algorithm(kLines[line].what, kLines[line].row);
  if (shape.row == nullptr) shape.row = row_for(shape, ranks.count(), &random);
  Batch batch(ranks, rounds.arena(), 0);
  if (!batch.add(shape).empty()) {
    std::printf(" %9s", "-");
    return;
  }
  batch.bring(1);
  std::printf(" %9.1f", time_of(ranks, batch.call(0), rounds.options().timeout));
  std::fflush(stdout);
}

}  // namespace

void print_times(Rounds& rounds) {
  const Options& options = rounds.options();
  Ranks& ranks = rounds.ranks(options.ranks > 0 ? options.ranks : Machine::kMostRanks);
  if (ranks.machine().is_soft()) std::printf("the software driver's times are meaningless\n");
  std::printf("microseconds of a call, %d ranks; bytes: of the vector, or of all blocks\n%-28s %9s",
              ranks.count(), "", "bytes");
  for (const char* const name : kColumnNames) std::printf(" %9s", name);
  for (size_t line = 0; line < kLines.size(); ++line)
    for (size_t bytes = 64; bytes <= options.bytes; bytes *= 8) {
      const bool splits = coll::splits(kLines[line].what);
      const size_t each = splits ? bytes : bytes / static_cast<size_t>(ranks.count());
      std::printf("\n%-28s %9zu", kLines[line].name, bytes);
      for (int column = 0; column < kColumns; ++column)
        print_cell(rounds, ranks, line, column, static_cast<int64_t>(each / sizeof(int)));
      if (kLines[line].what == coll::Collective::kBarrier) break;
    }
  std::printf("\n");
}

}  // namespace tern::kernels_test
