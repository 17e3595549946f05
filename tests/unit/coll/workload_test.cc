// SPDX-License-Identifier: Apache-2.0
// Workloads: lines of tern_trace, predictions by hand, wrong and random lines.
#include "coll/laboratory/simulate/workload.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "base/error.hpp"
#include "coll/topology/generators.hpp"

namespace tern::coll {
namespace {

const char* const kLines =
    "# tern_trace workload 1\n"
    "# collective  bytes  ranks  communicator  root (- none)  us\n"
    "allreduce 1000000 4 0 - 12.500\n"
    "bcast 8 4 0 3 0.000\n"
    "allgatherv 100 2 17 - 1.25   # two of them\n"
    "\n"
    "reduce_scatter_block 64 4 0 - 0\n"
    "allreduce 1000000 4 0 - 2.500\n"
    "neighbor_alltoallw 64 4 0 - 1\n";

TEST(Workload, LinesOfTraces) {
  const std::vector<WorkloadCall> calls = parse_workload(kLines, "w");
  ASSERT_EQ(calls.size(), 6U);
  EXPECT_EQ(calls[0].collective, Collective::kAllreduce);
  EXPECT_EQ(calls[0].bytes, 1e6);
  EXPECT_EQ(calls[0].gap, 12.5);
  EXPECT_EQ(calls[1].root, 3);
  EXPECT_EQ(calls[2].collective, Collective::kAllgather);
  EXPECT_EQ(calls[2].ranks, 2);
  EXPECT_EQ(calls[3].collective, Collective::kReduceScatter);
  EXPECT_EQ(calls[5].collective, Collective::kNeighborAlltoall);
  EXPECT_TRUE(parse_workload("", "w").empty());
}

// A barrier of two is a latency each way at once; 3 us over two links.
TEST(Workload, CallsAreCountedAndAdded) {
  const Topology pair = generate_machine("torus:1,ranks=2,host_latency=1.5");
  const PredictedWorkload found = predict(
      parse_workload("barrier 0 2 0 - 5\nbarrier 0 2 9 - 6\nneighbor_allgather 1 2 0 - 1\n", "w"),
      pair);
  ASSERT_EQ(found.calls.size(), 2U);
  EXPECT_EQ(found.calls[0].count, 2);
  EXPECT_NEAR(found.calls[0].time, 3, 1e-9);
  EXPECT_NEAR(found.communication, 6, 1e-9);
  EXPECT_NEAR(found.computation, 12, 1e-9);
  EXPECT_EQ(found.left_out, 1);
  EXPECT_THROW((void)predict(parse_workload("barrier 0 3 0 - 5\n", "w"), pair), Error);
}

// Short vectors take few hops, long vectors move each byte about twice.
TEST(Workload, TheQuickestRowIsTaken) {
  const Topology tree = generate_machine("fat-tree:4");
  const auto row = [&](const char* line) {
    return std::string(predict(parse_workload(line, "w"), tree).calls.at(0).row->name);
  };
  EXPECT_EQ(row("allreduce 8 16 0 - 0\n"), "one_shot");
  EXPECT_NE(row("allreduce 268435456 16 0 - 0\n"), "one_shot");
}

TEST(Workload, WrongLinesAreSaid) {
  const struct {
    const char* text;
    const char* fault;
  } kWrong[] = {
      {"allreduce\n", "w:1: 1 words"},
      {"# one\n\nallreduce 1 2 3 - 5 6\n", "w:3: 7 words"},
      {"allreduc 1 2 3 - 5\n", "\"allreduc\" is not a collective"},
      {"allreducevv 1 2 3 - 5\n", "\"allreducevv\" is not a collective"},
      {"allreduce -1 2 3 - 5\n", "bytes must be from 0"},
      {"allreduce 1 0 3 - 5\n", "ranks must be from 1"},
      {"allreduce 1 2.5 3 - 5\n", "ranks must be whole, not 2.5"},
      {"allreduce 1 9999999 3 - 5\n", "ranks must be from 1"},
      {"allreduce 1 2 x - 5\n", "the communicator must be"},
      {"bcast 1 2 3 -- 5\n", "the root must be"},
      {"allreduce 1 2 3 - nan\n", "us must be from 0"},
      {"allreduce 1e400 2 3 - 5\n", "bytes must be from 0"},
      {"allreduce 1 2 3 - 5x\n", "us must be from 0"},
  };
  for (const auto& wrong : kWrong) {
    try {
      (void)parse_workload(wrong.text, "w");
      ADD_FAILURE() << wrong.text << " is accepted";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(wrong.fault), std::string::npos) << error.what();
    }
  }
  EXPECT_THROW((void)load_workload("/nowhere/workload"), Error);
}

// Random damage ends in calls with sane values or in an error.
TEST(Workload, RandomLines) {
  std::minstd_rand random(47);
  for (int i = 0; i < 20000; ++i) {
    std::string text = kLines;
    for (auto n = random() % 6 + 1; n > 0; --n) {
      const size_t at = random() % text.size();
      if (random() % 3 == 0)
        text.erase(at, random() % 9);
      else
        text[at] = static_cast<char>(random() % 4 == 0 ? random() % 256
                                                       : "0123456789e-. \n#"[random() % 16]);
      if (text.empty()) text = "\n";
    }
    try {
      for (const WorkloadCall& call : parse_workload(text, "w")) {
        EXPECT_GE(call.bytes, 0);
        EXPECT_GE(call.gap, 0);
        EXPECT_GE(call.ranks, 1);
        EXPECT_LE(call.ranks, 1 << 20);
        EXPECT_LT(call.root, call.ranks);
      }
    } catch (const Error&) {
    }
  }
}

}  // namespace
}  // namespace tern::coll
