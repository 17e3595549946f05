// SPDX-License-Identifier: Apache-2.0
// Every row of streams, run by a kernel on the software driver, against a serial reference and bit
// by bit against the stream engine. Each rank has a device.
#include <algorithm>
#include <barrier>
#include <cstdlib>

#include "coll/gpu/way.hpp"
#include "mpix.h"
#include "tests/unit/coll/stream_calls.hpp"

namespace tern::coll {
namespace {

using Settings = test::World::Settings;

const Settings kByKernel = {{"TERN_GPU_SCRATCH", "4m"}, {"TERN_GPU_ENGINE", "kernel"}};

void set_up() {
  ::setenv("SOFTCUDA_DEVICES", std::to_string(kDevices).c_str(), 1);
  ::setenv("SOFTCUDA_PROCESSORS", "64", 1);  // more thread blocks than a kernel of few steps has
  ASSERT_NE(cuda::test::find_driver(), nullptr) << "the software driver is not built";
}
class OneKernelRun : public testing::Test {
 protected:
  static void SetUpTestSuite() { set_up(); }
};
class KernelRuns : public testing::TestWithParam<int> {
 protected:
  static void SetUpTestSuite() { set_up(); }
};
INSTANTIATE_TEST_SUITE_P(Ranks, KernelRuns, testing::Values(1, 2, 3, 4, 5, 8));

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
int most_by_kernel() { return 2; }
constexpr int kReplays = 20;
#else
int most_by_kernel() { return std::getenv("TEST_LONG") != nullptr ? 8 : 4; }
constexpr int kReplays = 1000;
#endif

TEST_P(KernelRuns, EveryRowAgreesWithASerialReference) {
  if (takes_minutes()) GTEST_SKIP() << "takes minutes with sanitizers; TEST_LONG=1 runs it";
  if (GetParam() > most_by_kernel()) GTEST_SKIP() << "takes too long here";
  test::World(GetParam(), with_kernels(kByKernel)).run([](Process& process) {
    const Gpu gpu(process.world_rank);
    prepare(process, gpu);
    int rows = 0;
    for (const Algorithm& row : rows_of_streams()) {
      if (!goes_into_streams(row, process.world_size)) continue;
      process.channel(0).coll->force(row);
      ++rows;
      for (const bool in_place : {false, true}) {
        std::vector<std::unique_ptr<StreamCall>> calls;
        for (const int64_t count : {1, 0, 17, 20001, 3})
          for (int root = 0; root < (rooted(row.collective) ? process.world_size : 1); root += 2)
            calls.push_back(std::make_unique<StreamCall>(process, gpu, row, count, root, in_place));
        for (const auto& call : calls) call->start();
        gpu.wait();
        for (const auto& call : calls) call->check();
        if (testing::Test::HasFailure()) return;
      }
    }
    EXPECT_GT(rows, 20);
  });
}

void use(Process& process, GpuEngine engine) { process.params.gpu_engine = engine; }

/// Rows such as ring reduce slices in different orders, so the vector must fit a single pass.
void compare(Process& process, const Gpu& gpu, const char* row, MPI_Datatype handle, MPI_Op op,
             int64_t count) {
  process.channel(0).coll->force(*find_algorithm(kAllreduce, row));
  core::Datatype& type = core::predefined_type(process, handle);
  const auto bytes = static_cast<size_t>(count) * static_cast<size_t>(type.size());
  const size_t ints = bytes / sizeof(int) + 2;
  std::vector<int> values(ints), nothing(ints, -1), results[2];
  // No byte pattern is a NaN in any type.
  auto* const data = reinterpret_cast<unsigned char*>(values.data());
  for (size_t i = 0; i < ints * sizeof(int); ++i)
    data[i] =
        static_cast<unsigned char>((i * 7 + static_cast<size_t>(process.world_rank) * 13) % 60);
  const Buffer in(ints), out(ints);
  for (int engine = 0; engine < 2; ++engine) {
    use(process, engine == 0 ? GpuEngine::kStream : GpuEngine::kKernel);
    in.put(gpu, values);
    out.put(gpu, nothing);
    gpu.wait();
    Operation made{};
    made.collective = kAllreduce;
    made.communicator = process.world;
    made.op = process.handles.find<core::Op>(op);
    const size_t skew = type.size() == 2 ? 2 : 0;
    made.input = {static_cast<std::byte*>(in.address()) + skew, count, &type};
    made.output = {static_cast<std::byte*>(out.address()) + skew, count, &type};
    bool taken = false;
    std::string why;
    ASSERT_EQ(enqueue(*process.channel(0).coll, made, gpu, &taken, &why), MPI_SUCCESS);
    ASSERT_TRUE(taken) << why;
    out.get(gpu, &results[engine]);
    gpu.wait();
  }
  EXPECT_EQ(results[0], results[1])
      << row << " of " << count << " elements of " << type.size() << " bytes";
}

TEST_P(KernelRuns, BothEnginesMakeTheSameBits) {
  if (takes_minutes()) GTEST_SKIP() << "takes minutes with sanitizers; TEST_LONG=1 runs it";
  if (GetParam() > most_by_kernel()) GTEST_SKIP() << "takes too long here";
  test::World(GetParam(), with_kernels(kByKernel)).run([](Process& process) {
    const Gpu gpu(process.world_rank);
    prepare(process, gpu);
    struct Kind {
      MPI_Datatype type;
      MPI_Op op;
    };
    for (const Kind kind :
         {Kind{MPI_INT, MPI_SUM}, Kind{MPI_FLOAT, MPI_SUM}, Kind{MPI_FLOAT, MPI_MAX},
          Kind{MPI_DOUBLE, MPI_PROD}, Kind{MPI_2INT, MPI_MINLOC}, Kind{MPI_FLOAT_INT, MPI_MAXLOC},
          Kind{MPI_INT16_T, MPI_MIN}, Kind{MPI_UINT8_T, MPI_BXOR}, Kind{MPIX_C_FLOAT16, MPI_SUM},
          Kind{MPI_C_DOUBLE_COMPLEX, MPI_SUM}})
      for (const int64_t count : {1, 17, 101}) {
        compare(process, gpu, "ring", kind.type, kind.op, count);
        compare(process, gpu, "recursive_doubling", kind.type, kind.op, 40 * count);
        process.params.gpu_wire = count == 17    ? Wire::kSimple
                                  : count == 101 ? Wire::kLl128
                                                 : Wire::kLl;
        compare(process, gpu, "one_shot", kind.type, kind.op, count);
        compare(process, gpu, "one_shot", kind.type, kind.op, 40 * count);
        compare(process, gpu, "two_shot", kind.type, kind.op, count);
        compare(process, gpu, "two_shot", kind.type, kind.op, 40 * count);
        process.params.gpu_wire = Wire::kBulk;
        compare(process, gpu, "one_shot", kind.type, kind.op, 40 * count);
        compare(process, gpu, "two_shot", kind.type, kind.op, 40 * count);
        process.params.gpu_wire = Wire::kAuto;
      }
  });
}

TEST_P(KernelRuns, GraphsReplayAmongCallsOfBothEngines) {
  if (takes_minutes()) GTEST_SKIP() << "takes minutes with sanitizers; TEST_LONG=1 runs it";
  if (GetParam() > std::min(most_by_kernel(), 3)) GTEST_SKIP() << "takes too long here";
  test::World(GetParam(), with_kernels(kByKernel)).run([](Process& process) {
    const Gpu gpu(process.world_rank);
    prepare(process, gpu);
    Coll& coll = *process.channel(0).coll;
    const auto row = [&](Collective what, const char* name) -> const Algorithm& {
      const Algorithm& found = *find_algorithm(what, name);
      coll.force(found);
      return found;
    };
    StreamCall small(process, gpu, row(kAllreduce, "recursive_doubling"), 5, 0, true);
    small.start();
    StreamCall ring(process, gpu, row(kAllreduce, "ring"), 701, 0, false);
    ring.start();
    StreamCall hop(process, gpu, row(kAllreduce, "one_shot"), 300, 0, false);
    StreamCall hops(process, gpu, row(kAllreduce, "two_shot"), 3001, 0, true);
    StreamCall from_one(process, gpu, row(kBcast, "linear"), 700, 0, false);
    row(kAllreduce, "ring");
    const Graph first(gpu, [&] { ring.start(); });
    const Graph second(gpu, [&] {
      row(kAllreduce, "recursive_doubling");
      small.start();
      row(kAllreduce, "one_shot");
      hop.start();
      row(kAllreduce, "two_shot");
      hops.start();
      row(kAllreduce, "ring");
      ring.start();
      from_one.start();
    });
    StreamCall to_one(process, gpu, row(kGather, "linear"), 33, process.world_size - 1, true);
    StreamCall swapped(process, gpu, row(kAlltoall, "pairwise"), 9, 0, true);
    StreamCall chain(process, gpu, row(kBcast, "chain"), 5000, process.world_size - 1, false);
    for (int i = 0; i < (process.world_size > 2 ? kReplays / 5 : kReplays); ++i) {
      (i % 10 == 0 ? second : first).launch(gpu);
      if (i % 50 == 1) {
        use(process, i % 100 == 1 ? GpuEngine::kStream : GpuEngine::kKernel);
        row(kAlltoall, i % 100 == 1 ? "pairwise" : "linear");
        swapped.start();
        to_one.start();
        row(kBcast, "chain");
        chain.start();
      }
    }
    gpu.wait();
    for (StreamCall* const call :
         {&ring, &small, &hop, &hops, &from_one, &to_one, &swapped, &chain})
      call->check();
  });
}

class Ways {
 public:
  Ways(Process& process, const Gpu& gpu)
      : process_(process), gpu_(gpu), team_(StreamCollectives::team_of(*process.world)) {
    EXPECT_NE(team_, nullptr);
  }
  AskedWire asked;

  std::string wire(Collective what, const char* row, size_t bytes) {
    Operation made{};
    made.collective = what;
    made.communicator = process_.world;
    if (reduces(what)) made.op = process_.handles.find<core::Op>(MPI_SUM);
    if (what != kBarrier)
      made.input = made.output = {nullptr, static_cast<MPI_Count>(bytes / sizeof(int)),
                                  &core::predefined_type(process_, MPI_INT)};
    std::string why;
    const Placed* const placed = team_->schedules.placed(*find_algorithm(what, row), 0, &why);
    EXPECT_NE(placed, nullptr) << why;
    const Question question{what, process_.world->size(), bytes};
    const Way way = way_of(*team_, process_.params, *placed, made, question, asked, "not asked");
    words_ = way.in_words("someone");
    EXPECT_NE(way.engine, Way::kNone) << words_;
    return way.engine == Way::kStream ? "copies" : name_of(way.taken());
  }
  [[nodiscard]] const std::string& words() const { return words_; }
  void expect_words(const char* part) const {
    EXPECT_NE(words_.find(part), std::string::npos) << part << " is not in: " << words_;
  }

 private:
  Process& process_;
  const Gpu& gpu_;
  const std::shared_ptr<GpuTeam> team_;
  std::string words_;
};

template <class Body>
void with_ways(const Body& body) {
  const Settings roomy = {{"TERN_GPU_SCRATCH", "32m"}, {"TERN_GPU_ENGINE", "kernel"}};
  test::World(3, with_kernels(roomy)).run([&](Process& process) {
    const Gpu gpu(process.world_rank);
    prepare(process, gpu);
    Ways ways(process, gpu);
    body(process, ways);
  });
}

// LL serves sizes up to a limit, LL128 larger ones, bulk the rest, and a program other rows.
TEST_F(OneKernelRun, WordsOfLlAndLinesDoTheRowsOfOneHop) {
  with_ways([](Process&, Ways& ways) {
    constexpr size_t kLl = 32 << 10, kLines = 256 << 10;
    for (const Collective what : {kBcast, kGather, kScatter, kAllgather, kAlltoall, kReduce}) {
      EXPECT_EQ(ways.wire(what, "linear", kLl), "ll") << name_of(what);
      EXPECT_EQ(ways.wire(what, "linear", kLl + 4), "ll128") << name_of(what);
      EXPECT_EQ(ways.wire(what, "linear", kLines + 4), rooted(what) ? "simple" : "bulk")
          << name_of(what);
    }
    EXPECT_EQ(ways.wire(kReduceScatter, "ordered", 4), "ll");
    EXPECT_EQ(ways.wire(kReduceScatter, "pairwise", 4), "simple");
    EXPECT_EQ(ways.wire(kAllreduce, "one_shot", 4), "ll");
    EXPECT_EQ(ways.wire(kAllreduce, "one_shot", kLines), "ll128");
    EXPECT_EQ(ways.wire(kAllreduce, "two_shot", kLines), "ll");
    EXPECT_EQ(ways.wire(kAllreduce, "two_shot", kLines + 4), "ll128");
    EXPECT_EQ(ways.wire(kAllreduce, "two_shot", (1 << 20) + 4), "bulk");
    EXPECT_EQ(ways.wire(kBcast, "scatter_allgather", kLines), "ll");
    EXPECT_EQ(ways.wire(kBcast, "scatter_allgather", kLines + 4), "ll128");
    EXPECT_EQ(ways.wire(kBcast, "scatter_allgather", (1 << 20) + 4), "bulk");
    for (const Collective what : {kScan, kExscan}) {
      EXPECT_EQ(ways.wire(what, "linear", 4), "simple");
      EXPECT_EQ(ways.wire(what, "one_shot", kLl), "ll");
      EXPECT_EQ(ways.wire(what, "one_shot", kLl + 4), "ll128");
    }
    EXPECT_EQ(ways.wire(kBarrier, "dissemination", 0), "ll");
  });
}

TEST_F(OneKernelRun, AWireIsTakenWhereAParameterAsksForIt) {
  with_ways([](Process&, Ways& ways) {
    constexpr size_t kBeyondLl = (32 << 10) + 4;
    ways.asked = {Wire::kLl128, AskedWire::kParameter};
    EXPECT_EQ(ways.wire(kAllreduce, "one_shot", 4), "ll128");
    EXPECT_EQ(ways.words(), "someone asks for ll128");
    EXPECT_EQ(ways.wire(kBarrier, "dissemination", 0), "ll");
    ways.expect_words("; someone asks for ll128, but: a barrier has no data");
    EXPECT_EQ(ways.wire(kAllreduce, "ring", 4), "simple");
    ways.expect_words("someone asks for ll128, but: no LL: the algorithm takes several hops");
    ways.asked.wire = Wire::kLl;
    EXPECT_EQ(ways.wire(kAllgather, "linear", kBeyondLl), "ll");
    ways.asked.wire = Wire::kSimple;
    EXPECT_EQ(ways.wire(kAllgather, "linear", 4), "simple");
    EXPECT_EQ(ways.words(), "no LL: someone asks for simple");
    ways.asked.wire = Wire::kMultimem;
    EXPECT_EQ(ways.wire(kAllreduce, "two_shot", 4), "ll");
    ways.expect_words("; someone asks for multimem, but: not asked");
  });
}

// A hint or a table extends the kernels' sizes; a parameter does not.
TEST_F(OneKernelRun, ALineBringsKernelsForSizesBeyondTheirs) {
  with_ways([](Process& process, Ways& ways) {
    constexpr size_t kBeyond = (1 << 20) + 4;
    process.params.gpu_engine = GpuEngine::kAuto;
    ways.asked = {Wire::kSimple, AskedWire::kParameter};
    EXPECT_EQ(ways.wire(kAllreduce, "ring", kBeyond), "copies");
    ways.expect_words("someone asks for simple, but: more than 1 MiB");
    EXPECT_EQ(ways.wire(kAllreduce, "two_shot", kBeyond), "copies");
    ways.asked = {};
    EXPECT_EQ(ways.wire(kAllreduce, "two_shot", kBeyond), "bulk");
    EXPECT_EQ(ways.words(), "two hops of any size; no LL128: more than 1 MiB");
    EXPECT_EQ(ways.wire(kAllreduce, "ring", kBeyond), "copies");
    ways.asked = {Wire::kSimple, AskedWire::kParameter};
    ways.asked.by = AskedWire::kTable;
    EXPECT_EQ(ways.wire(kAllreduce, "ring", kBeyond), "simple");
    ways.asked.wire = Wire::kLl;
    EXPECT_EQ(ways.wire(kAllreduce, "two_shot", kBeyond), "ll");
    EXPECT_EQ(ways.wire(kAllreduce, "ring", kBeyond), "copies");
    EXPECT_EQ(ways.words(),
              "more than 1 MiB; no LL128: more than 256 KiB; no bulk: the algorithm takes several "
              "hops; someone asks for ll, but: the algorithm takes several hops");
    ways.asked.wire = Wire::kLl128;
    EXPECT_EQ(ways.wire(kAllreduce, "two_shot", kBeyond), "ll128");
    EXPECT_EQ(ways.wire(kAllreduce, "ring", 4), "simple");
    ways.asked.wire = Wire::kLl;
    process.params.gpu_engine = GpuEngine::kStream;
    EXPECT_EQ(ways.wire(kAllreduce, "two_shot", 4), "copies");
    ways.expect_words("someone asks for ll, but: TERN_GPU_ENGINE is stream");
  });
}

unsigned long long calls_into_streams() {
  unsigned long long sum = 0;
  for (const char* name : {"cuLaunchKernel", "cuStreamWriteValue32_v2", "cuStreamWaitValue32_v2",
                           "cuStreamBatchMemOp_v2", "cuMemcpyAsync", "cuMemsetD32Async",
                           "cuEventRecord", "cuStreamWaitEvent"})
    sum += calls_of(name);
  return sum;
}

TEST_F(OneKernelRun, ASmallAllreduceIsOneLaunchAndTwoMore) {
  if (takes_minutes()) GTEST_SKIP() << "takes minutes with sanitizers; TEST_LONG=1 runs it";
  constexpr unsigned long long kRanks = 4;
  std::barrier meet(kRanks);
  for (const char* const wire : {"ll", "ll128", "simple"}) {
    Settings settings = kByKernel;
    settings.emplace_back("TERN_GPU_WIRE", wire);
    unsigned long long launches = 0, puts = 0, all = 0;
    test::World(kRanks, with_kernels(settings)).run([&](Process& process) {
      const Gpu gpu(process.world_rank);
      prepare(process, gpu);
      const Algorithm& row = *find_algorithm(kAllreduce, "one_shot");
      process.channel(0).coll->force(row);
      StreamCall call(process, gpu, row, 2048, 0, false);
      for (int round = 0; round < 2; ++round) {
        meet.arrive_and_wait();
        if (process.world_rank == 0) {
          launches = calls_of("cuLaunchKernel");
          puts = calls_into_streams();
          all = all_calls();
        }
        meet.arrive_and_wait();
        call.start();
        meet.arrive_and_wait();
        if (process.world_rank == 0 && round == 1) {
          EXPECT_EQ(calls_of("cuLaunchKernel") - launches, kRanks);
          EXPECT_LE(calls_into_streams() - puts, 3 * kRanks);
          // Tern queries the capture status, the context, and the memory type of both buffers.
          EXPECT_LE(all_calls() - all - 3 * kRanks, 9 * kRanks);  // less the test's own copies
          std::printf(
              "%s: %llu calls of the driver for an allreduce of %llu ranks, %llu into "
              "streams\n",
              wire, all_calls() - all - 3 * kRanks, kRanks, calls_into_streams() - puts);
        }
        meet.arrive_and_wait();
        gpu.wait();
      }
      call.check();
    });
  }
}

/// 64 MiB and eight ranks with TEST_LONG=1; a bcast's root is rank 1.
void expect_one_launch(Collective what) {
  const bool long_test = std::getenv("TEST_LONG") != nullptr;
  const unsigned long long ranks = long_test ? 8 : 3;
  const size_t ints = long_test ? 16 << 20 : 1 << 20;
  std::barrier meet(static_cast<ptrdiff_t>(ranks));
  unsigned long long launches = 0, copies = 0, all = 0;
  test::World(static_cast<int>(ranks), with_kernels({{"TERN_GPU_SCRATCH", "32m"}}))
      .run([&](Process& process) {
        const Gpu gpu(process.world_rank);
        prepare(process, gpu);
        std::vector<int> values(ints), found;
        for (size_t i = 0; i < ints; ++i)
          values[i] = static_cast<int>(i % 1000) + process.world_rank;
        const Buffer in(ints), sums(ints);
        const Buffer& out = what == kBcast ? in : sums;
        in.put(gpu, values);
        gpu.wait();
        Operation made{};
        made.collective = what;
        made.root = what == kBcast ? 1 : 0;
        made.communicator = process.world;
        made.op = process.handles.find<core::Op>(MPI_SUM);
        core::Datatype& type = core::predefined_type(process, MPI_INT);
        made.input = {static_cast<std::byte*>(in.address()), static_cast<MPI_Count>(ints), &type};
        made.output = {static_cast<std::byte*>(out.address()), static_cast<MPI_Count>(ints), &type};
        for (int round = 0; round < 2; ++round) {
          meet.arrive_and_wait();
          if (process.world_rank == 0) {
            launches = calls_of("cuLaunchKernel");
            copies = calls_of("cuMemcpyAsync");
            all = all_calls();
          }
          meet.arrive_and_wait();
          bool taken = false;
          std::string why;
          EXPECT_EQ(enqueue(*process.channel(0).coll, made, gpu, &taken, &why), MPI_SUCCESS);
          EXPECT_TRUE(taken) << why;
          meet.arrive_and_wait();
          if (process.world_rank == 0 && round == 1) {
            EXPECT_EQ(calls_of("cuLaunchKernel") - launches, ranks);
            EXPECT_EQ(calls_of("cuMemcpyAsync") - copies, 0U);
            EXPECT_LE(all_calls() - all, 12 * ranks);
          }
          meet.arrive_and_wait();
          gpu.wait();
        }
        out.get(gpu, &found);
        gpu.wait();
        const int n = static_cast<int>(ranks), times = what == kBcast ? 1 : n;
        const int more = what == kBcast ? 1 : n * (n - 1) / 2;
        int wrong = 0;
        for (size_t i = 0; i < ints; ++i)
          wrong += found[i] != times * static_cast<int>(i % 1000) + more ? 1 : 0;
        EXPECT_EQ(wrong, 0);
      });
}

TEST_F(OneKernelRun, ALargeCollectiveIsOneLaunchToo) {
  if (takes_minutes()) GTEST_SKIP() << "takes minutes with sanitizers; TEST_LONG=1 runs it";
  for (const Collective what : {kAllreduce, kBcast}) expect_one_launch(what);
}

TEST_F(OneKernelRun, ALateRankOfALargeAllreduceIsNamed) {
  if (takes_minutes()) GTEST_SKIP() << "takes minutes with sanitizers; TEST_LONG=1 runs it";
  std::barrier meet(2);
  test::World(2, with_kernels({{"TERN_GPU_TIMEOUT", "100ms"}})).run([&](Process& process) {
    const Gpu gpu(process.world_rank);
    prepare(process, gpu);
    const Algorithm& row = *find_algorithm(kAllreduce, "two_shot");
    process.channel(0).coll->force(row);
    StreamCall call(process, gpu, row, 2 << 20, 0, false);
    if (process.world_rank == 0) {
      call.start();
      gpu.wait();
    }
    meet.arrive_and_wait();
    const GpuTeam& team = *StreamCollectives::team_of(*process.world);
    const std::string why = team.waits.why_given_up();
    if (process.world_rank == 0) {
      EXPECT_GT(team.kernels.parts(kMostPushParts), ScratchLayout::kParts);
      EXPECT_NE(why.find("timed out waiting for rank 1's message"), std::string::npos) << why;
    }
    meet.arrive_and_wait();
  });
}

// The graph uploads the program at each replay.
TEST_F(OneKernelRun, ACaptureTakesAProgramThatNoCallHasUsed) {
  if (takes_minutes()) GTEST_SKIP() << "takes minutes with sanitizers; TEST_LONG=1 runs it";
  Settings settings = kByKernel;
  settings.emplace_back("TERN_GPU_WIRE", "simple");  // LL needs no program
  test::World(2, with_kernels(settings)).run([](Process& process) {
    const Gpu gpu(process.world_rank);
    prepare(process, gpu);
    Coll& coll = *process.channel(0).coll;
    coll.force(*find_algorithm(kBarrier, "dissemination"));
    Operation barrier{};
    barrier.collective = kBarrier;
    barrier.communicator = process.world;
    bool taken = false;
    std::string why;
    const auto put = [&] {
      EXPECT_EQ(enqueue(coll, barrier, gpu, &taken, &why), MPI_SUCCESS);
      EXPECT_TRUE(taken) << why;
    };
    const Graph first(gpu, put);
    for (int i = 0; i < 2; ++i) first.launch(gpu);
    put();
    gpu.wait();
    const Graph graph(gpu, put);
    for (int i = 0; i < 10; ++i) graph.launch(gpu);
    gpu.wait();
  });
}

TEST_F(OneKernelRun, AKernelThatWaitsInVainSaysForWhom) {
  if (takes_minutes()) GTEST_SKIP() << "takes minutes with sanitizers; TEST_LONG=1 runs it";
  Settings settings = kByKernel;
  settings.emplace_back("TERN_GPU_TIMEOUT", "100ms");
  std::barrier meet(2);
  test::World(2, with_kernels(settings)).run([&](Process& process) {
    const Gpu gpu(process.world_rank);
    prepare(process, gpu);
    const Algorithm& ring = *find_algorithm(kAllreduce, "ring");
    process.channel(0).coll->force(ring);
    StreamCall call(process, gpu, ring, 17, 0, false), never(process, gpu, ring, 17, 0, false);
    if (process.world_rank == 0) {
      call.start();
      gpu.wait();
    }
    meet.arrive_and_wait();
    Operation barrier{};
    barrier.collective = kBarrier;
    barrier.communicator = process.world;
    bool taken = false;
    std::string why;
    const auto next = [&] { return enqueue(*process.channel(0).coll, barrier, gpu, &taken, &why); };
    if (process.world_rank == 1) {
      never.start();
      gpu.wait();
    }
    EXPECT_EQ(next(), MPI_ERR_OTHER);
    const std::string text = take_last_error().text;
    EXPECT_NE(text.find("timed out"), std::string::npos) << text;
    const char* const who = process.world_rank == 0 ? "for rank 1's" : "rank 0's";
    EXPECT_NE(text.find(who), std::string::npos) << text;
    EXPECT_EQ(next(), MPI_ERR_OTHER);
    meet.arrive_and_wait();
  });
}

}  // namespace
}  // namespace tern::coll
