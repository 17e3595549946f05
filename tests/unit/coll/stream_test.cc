// SPDX-License-Identifier: Apache-2.0
// Every row of streams on the software driver, against a serial reference.
#include <atomic>
#include <barrier>
#include <cstdlib>

#include "tests/unit/coll/stream_calls.hpp"

namespace tern::coll {
namespace {

class Streams : public testing::TestWithParam<int> {
 protected:
  static void SetUpTestSuite() {
    ::setenv("SOFTCUDA_DEVICES", std::to_string(kDevices).c_str(), 1);
    ASSERT_NE(cuda::test::find_driver(), nullptr) << "the software driver is not built";
  }
};
INSTANTIATE_TEST_SUITE_P(Ranks, Streams, testing::Values(1, 2, 3, 4, 5, 8, 9, 17));

TEST_P(Streams, EveryRowAgreesWithASerialReference) {
  if (takes_minutes()) GTEST_SKIP() << "takes minutes with sanitizers; TEST_LONG=1 runs it";
  if (GetParam() > most_ranks()) GTEST_SKIP() << "takes too long here";
  test::World(GetParam(), with_kernels({{"TERN_GPU_SCRATCH", "2m"}, {"TERN_GPU_ENGINE", "stream"}}))
      .run([](Process& process) {
        const Gpu gpu(process.world_rank);
        prepare(process, gpu);
        int rows = 0;
        for (const Algorithm& row : rows_of_streams()) {
          if (!goes_into_streams(row, process.world_size)) continue;
          process.channel(0).coll->force(row);
          ++rows;
          for (const bool in_place : {false, true}) {
            std::vector<std::unique_ptr<StreamCall>> calls;
            for (const int64_t count : {1, 0, 17, 40001, 3})
              for (int root = 0; root < (rooted(row.collective) ? process.world_size : 1);
                   root += 2)
                calls.push_back(
                    std::make_unique<StreamCall>(process, gpu, row, count, root, in_place));
            for (const auto& call : calls) call->start();
            gpu.wait();
            for (const auto& call : calls) call->check();
          }
        }
        EXPECT_GT(rows, 20);
      });
}

TEST(StreamCalls, AStepIsACall) {
  if (takes_minutes()) GTEST_SKIP() << "takes minutes with sanitizers; TEST_LONG=1 runs it";
  ::setenv("SOFTCUDA_DEVICES", std::to_string(kDevices).c_str(), 1);
  ASSERT_NE(cuda::test::find_driver(), nullptr);
  constexpr int kRanks = 4, kPasses = 16;
  static std::atomic<unsigned long long> steps{0};
  static std::barrier meet(kRanks);
  static unsigned long long before = 0, waits = 0;
  const auto waiting_calls = [] {
    unsigned long long sum = 0;
    for (const char* name : {"cuCtxSynchronize", "cuStreamSynchronize", "cuMemAlloc_v2",
                             "cuMemFree_v2", "cuMemHostAlloc", "cuMemCreate", "cuLibraryLoadData",
                             "cuMemUnmap", "cuIpcOpenMemHandle_v2"})
      sum += calls_of(name);
    return sum;
  };
  test::World(kRanks, with_kernels({{"TERN_GPU_ENGINE", "stream"}})).run([&](Process& process) {
    const Gpu gpu(process.world_rank);
    prepare(process, gpu);
    const Algorithm& ring = *find_algorithm(kAllreduce, "ring");
    process.channel(0).coll->force(ring);
    std::string why;
    const Placed& placed =
        *StreamCollectives::team_of(*process.world)->schedules.placed(ring, 0, &why);
    steps += placed.schedule.steps.size() * kPasses;
    StreamCall call(process, gpu, ring, 1 << 20, 0, false);
    for (int round = 0; round < 2; ++round) {  // round 0 makes an event
      meet.arrive_and_wait();
      if (process.world_rank == 0) {
        before = all_calls();
        waits = waiting_calls();
      }
      meet.arrive_and_wait();
      call.start();
      meet.arrive_and_wait();
      if (process.world_rank == 0 && round == 1) {
        const unsigned long long made = all_calls() - before - 3ULL * kRanks;
        EXPECT_LE(static_cast<double>(made), 1.2 * static_cast<double>(steps));
        EXPECT_GT(static_cast<double>(made), 0.5 * static_cast<double>(steps)) << "not all counted";
        EXPECT_EQ(waiting_calls(), waits);
        RecordProperty("calls", static_cast<int>(made));
        RecordProperty("steps", static_cast<int>(steps));
        std::printf("%llu calls of the driver for %llu steps\n", made, steps.load());
      }
      meet.arrive_and_wait();
      gpu.wait();
    }
    call.check();
  });
}

TEST_P(Streams, GraphsReplayWithOtherCallsInBetween) {
  if (takes_minutes()) GTEST_SKIP() << "takes minutes with sanitizers; TEST_LONG=1 runs it";
  if (GetParam() > 5) GTEST_SKIP() << "takes too long here";
  test::World(GetParam(), with_kernels({{"TERN_GPU_SCRATCH", "2m"}, {"TERN_GPU_ENGINE", "stream"}}))
      .run([](Process& process) {
        const Gpu gpu(process.world_rank);
        prepare(process, gpu);
        constexpr int kReplays = 1000;
        Coll& coll = *process.channel(0).coll;
        const auto row = [&](Collective what, const char* name) -> const Algorithm& {
          const Algorithm& found = *find_algorithm(what, name);
          coll.force(found);
          return found;
        };
        StreamCall ring(process, gpu, row(kAllreduce, "ring"), 70001, 0, false);
        const Graph first(gpu, [&] { ring.start(); });
        StreamCall small(process, gpu, row(kAllreduce, "recursive_doubling"), 5, 0, true);
        StreamCall gathered(process, gpu, row(kAllgather, "ring"), 33, 0, false);
        const Graph second(gpu, [&] {
          small.start();
          gathered.start();
        });
        StreamCall chain(process, gpu, row(kBcast, "chain"), 50000, process.world_size - 1, false);
        StreamCall swapped(process, gpu, row(kAlltoall, "pairwise"), 9, 0, true);
        for (int i = 0; i < kReplays; ++i) {
          (i % 10 == 0 ? first : second).launch(gpu);
          if (i % 7 == 0) swapped.start();
          if (i % 100 == 50) chain.start();
        }
        gpu.wait();
        for (StreamCall* const call : {&ring, &small, &gathered, &chain, &swapped}) call->check();
      });
}

}  // namespace
}  // namespace tern::coll
