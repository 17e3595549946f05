// SPDX-License-Identifier: Apache-2.0
// Rows of one and two hops over LL128 on the software driver, against a serial reference.
#include <algorithm>
#include <barrier>
#include <cstdlib>

#include "tests/unit/coll/stream_calls.hpp"

namespace tern::coll {
namespace {

const test::World::Settings kByLines = {
    {"TERN_GPU_SCRATCH", "4m"}, {"TERN_GPU_ENGINE", "kernel"}, {"TERN_GPU_WIRE", "ll128"}};

class LinesRuns : public testing::TestWithParam<int> {
 protected:
  static void SetUpTestSuite() {
    ::setenv("SOFTCUDA_DEVICES", std::to_string(kDevices).c_str(), 1);
    ASSERT_NE(cuda::test::find_driver(), nullptr) << "the software driver is not built";
  }
  void SetUp() override {
    if (takes_minutes()) GTEST_SKIP() << "takes minutes with sanitizers; TEST_LONG=1 runs it";
#if defined(__SANITIZE_THREAD__)
    if (GetParam() > 3) GTEST_SKIP() << "has more threads of kernels than TSan takes";
#endif
  }
};
INSTANTIATE_TEST_SUITE_P(Ranks, LinesRuns, testing::Values(1, 2, 3, 4));

constexpr struct {
  Collective what;
  const char* row;
} kRows[] = {{kAllreduce, "one_shot"}, {kAllreduce, "two_shot"}, {kReduceScatter, "ordered"},
             {kAllgather, "linear"},   {kAlltoall, "linear"},    {kBcast, "linear"},
             {kScan, "one_shot"},      {kExscan, "one_shot"},    {kGather, "linear"},
             {kScatter, "linear"},     {kReduce, "linear"},      {kBcast, "scatter_allgather"}};

const Algorithm& force(Process& process, Collective what, const char* row) {
  const Algorithm& found = *find_algorithm(what, row);
  process.channel(0).coll->force(found);
  return found;
}

TEST_P(LinesRuns, EveryRowAgreesWithASerialReference) {
  test::World(GetParam(), with_kernels(kByLines)).run([](Process& process) {
    const Gpu gpu(process.world_rank);
    prepare(process, gpu);
    ASSERT_EQ(StreamCollectives::team_of(*process.world)->no_lines(), "");
    for (const auto& [what, name] : kRows)
      for (const bool in_place : {false, true}) {
        const Algorithm& row = force(process, what, name);
        std::vector<std::unique_ptr<StreamCall>> calls;
        for (const int64_t count : {1, 0, 119, 40001, 3})
          for (int root = 0; root < (rooted(what) ? process.world_size : 1); root += 2)
            calls.push_back(std::make_unique<StreamCall>(process, gpu, row, count, root, in_place));
        for (const auto& call : calls) call->start();
        gpu.wait();
        for (const auto& call : calls) call->check();
        if (testing::Test::HasFailure()) return;
      }
  });
}

TEST_P(LinesRuns, AGraphReplaysAThousandTimesAmongCallsOfOtherWires) {
  if (GetParam() > 3) GTEST_SKIP() << "takes too long here";
  test::World(GetParam(), with_kernels(kByLines)).run([](Process& process) {
    const Gpu gpu(process.world_rank);
    prepare(process, gpu);
    const Algorithm& one = force(process, kAllreduce, "one_shot");
    const Algorithm& two = *find_algorithm(kAllreduce, "two_shot");
    const Algorithm& ring = *find_algorithm(kAllreduce, "ring");
    StreamCall hop(process, gpu, one, 301, 0, false), hops(process, gpu, two, 2003, 0, true);
    StreamCall words(process, gpu, one, 77, 0, true), program(process, gpu, ring, 701, 0, false);
    const Graph graph(gpu, [&] {
      force(process, kAllreduce, "two_shot");
      hops.start();
      force(process, kAllreduce, "one_shot");
      hop.start();
    });
    for (int i = 0; i < 1000; ++i) {
      graph.launch(gpu);
      if (i % 100 != 1) continue;
      process.params.gpu_wire = i % 200 == 1 ? Wire::kLl : Wire::kLl128;
      force(process, kAllreduce, "one_shot");
      words.start();
      force(process, kAllreduce, "ring");
      program.start();
    }
    gpu.wait();
    for (StreamCall* const call : {&hop, &hops, &words, &program}) call->check();
  });
}

TEST_P(LinesRuns, AKernelThatWaitsInVainSaysForWhom) {
  if (GetParam() != 2) GTEST_SKIP() << "of two ranks";
  test::World::Settings settings = kByLines;
  settings.emplace_back("TERN_GPU_TIMEOUT", "100ms");
  std::barrier meet(2);
  test::World(2, with_kernels(settings)).run([&](Process& process) {
    const Gpu gpu(process.world_rank);
    prepare(process, gpu);
    const Algorithm& row = force(process, kAllreduce, "two_shot");
    StreamCall call(process, gpu, row, 4001, 0, false);
    if (process.world_rank == 0) {
      call.start();
      gpu.wait();
    }
    meet.arrive_and_wait();
    const std::string why = StreamCollectives::team_of(*process.world)->waits.why_given_up();
    if (process.world_rank == 0) {
      EXPECT_NE(why.find("timed out waiting for rank 1's message"), std::string::npos) << why;
    }
    meet.arrive_and_wait();
  });
}

}  // namespace
}  // namespace tern::coll
