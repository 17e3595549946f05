// SPDX-License-Identifier: Apache-2.0
// Every row with ranks as threads over the real transports, for ThreadSanitizer.
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "coll/coll.hpp"
#include "tests/unit/coll/derived.hpp"
#include "tests/unit/coll/rows.hpp"
#include "tests/unit/coll/trial.hpp"
#include "tests/unit/world.hpp"

namespace tern::coll {
namespace {

using core::Process;

void try_rows(Process& process, const std::vector<Algorithm>& rows) {
  ASSERT_FALSE(rows.empty()) << "no algorithm was tried";
  for (const Algorithm& row : rows) {
    process.channel(0).coll->force(row);
    for (const int64_t count : {0, 1, 17, 5000, 40000})
      for (int root = 0; root < (rooted(row.collective) && count < 100 ? process.world_size : 1);
           ++root)
        Trial(process, row, count, root, *process.world).run();
  }
}

class Threads : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, Threads, testing::Values(2, 3, 6, 8));

TEST_P(Threads, EveryRowAgreesWithASerialReference) {
  test::World(GetParam(), {{"TERN_COLL_LEVELS", "4,2"}}).run([](Process& process) {
    try_rows(process, rows(true));
  });
}

TEST_P(Threads, RowsInSharedMemoryAgreeWithASerialReference) {
  test::World(GetParam()).run([](Process& process) { try_rows(process, rows(false)); });
}

// Roots run ahead of slow readers.
TEST_P(Threads, SlabsChangeHands) {
  test::World(GetParam()).run([](Process& process) {
    const Algorithm& bcast = *find_algorithm(Collective::kBcast, "flat");
    const Algorithm& allreduce = *find_algorithm(Collective::kAllreduce, "flat");
    process.channel(0).coll->force(bcast);
    process.channel(0).coll->force(allreduce);
    for (int round = 0; round < 200; ++round) {
      const core::Ref<core::Communicator> copy = derived(process, round);
      const int root = round % process.world_size;
      Trial(process, bcast, 1 + round % 150, root, *copy).run();
      if (round % 3 == 0) Trial(process, allreduce, 40, 0, *copy).run();
      if (round % 7 == process.world_rank) std::this_thread::yield();
    }
  });
}

}  // namespace
}  // namespace tern::coll
