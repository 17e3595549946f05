// SPDX-License-Identifier: Apache-2.0
// Workloads: lines of tern_trace, predictions by hand, wrong and random lines.
#include "coll/laboratory/simulate/workload.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "base/error.hpp"
#include "coll/laboratory/simulate/predict.hpp"
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

const char* const kGrouped =
    "group 3 0,4..6,2\ngroup 3 1,8..11\n"
    "group 4 stride 4 of 12\n"
    "group 5 block 4 of 12\n"
    "allreduce 100 5 3 - 0\n"
    "allgather 100 3 4 - 0\n"
    "bcast 100 4 5 3 0\n"
    "barrier 0 4 6 - 0\n";

TEST(Workload, Groups) {
  const Workload found = parse_workload(kGrouped, "w");
  EXPECT_EQ(found.groups_of(found.calls[0]), (Groups{{0, 4, 5, 6, 2}, {1, 8, 9, 10, 11}}));
  EXPECT_EQ(found.groups_of(found.calls[1]),
            (Groups{{0, 4, 8}, {1, 5, 9}, {2, 6, 10}, {3, 7, 11}}));
  EXPECT_EQ(found.groups_of(found.calls[2]), (Groups{{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9, 10, 11}}));
  EXPECT_EQ(found.groups_of(found.calls[3]), (Groups{{0, 1, 2, 3}}));
  EXPECT_EQ(found.ranks(), 12);
}

// Groups of a call share links: two pairs on a link take twice as long as one.
TEST(Workload, GroupsOfACallRunAtOnce) {
  const Topology machine = parse_topology(
      "gpu g0..g3\nnode a b\nlink g0..g1 a 100 1\nlink g2..g3 b 100 1\nlink a b 10 1\n", "t");
  const auto time = [&](const char* text) {
    return predict(parse_workload(text, "w"), machine).communication;
  };
  EXPECT_NEAR(time("group 0 0,2\nbcast 1000000 2 0 0 0\n"), 3 + 100, 1e-6);
  EXPECT_NEAR(time("group 0 0,2\ngroup 0 1,3\nbcast 1000000 2 0 0 0\n"), 3 + 200, 1e-6);
  EXPECT_NEAR(time("group 0 0..1\ngroup 0 2..3\nbcast 1000000 2 0 0 0\n"), 2 + 10, 1e-6);
}

TEST(Workload, LinesOfTraces) {
  const std::vector<WorkloadCall> calls = parse_workload(kLines, "w").calls;
  ASSERT_EQ(calls.size(), 6U);
  EXPECT_EQ(calls[0].collective, Collective::kAllreduce);
  EXPECT_EQ(calls[0].bytes, 1e6);
  EXPECT_EQ(calls[0].gap, 12.5);
  EXPECT_EQ(calls[1].root, 3);
  EXPECT_EQ(calls[2].collective, Collective::kAllgather);
  EXPECT_EQ(calls[2].ranks, 2);
  EXPECT_EQ(calls[3].collective, Collective::kReduceScatter);
  EXPECT_EQ(calls[5].collective, Collective::kNeighborAlltoall);
  EXPECT_TRUE(parse_workload("", "w").calls.empty());
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

// Rows with p steps a rank compete on many ranks only by a symmetry.
TEST(Workload, LargeGroupsTakeRowsWithASymmetry) {
  const Algorithm& bine = *find_algorithm(Collective::kAllgather, "bine");
  EXPECT_TRUE(competes(bine, kMostWithAllRows - 1));
  EXPECT_FALSE(competes(bine, 96));
  EXPECT_TRUE(competes(bine, 128));
  EXPECT_TRUE(competes(*find_algorithm(Collective::kAllgather, "ring"), 96));
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
      {"group 1\n", "none of the three forms"},
      {"group 1 stride 3 of 8\n", "3 does not divide 8 ranks"},
      {"group 1 stride 0 of 8\n", "stride must be from 1"},
      {"group 1 rows 2 of 8\n", "none of the three forms"},
      {"group x 1\n", "the communicator must be"},
      {"group 1 1,2,1\n", "rank 1 is in communicator 1 twice"},
      {"group 1 0..3\ngroup 1 3..4\n", "rank 3 is in communicator 1 twice"},
      {"group 1 3..1\n", "a rank must be from 3"},
      {"group 1 1,\n", "a rank must be from 0"},
      {"group 1 0..3\nbarrier 0 3 1 - 0\n", "3 ranks, but a group of communicator 1 above has 4"},
      {"barrier 0 3 1 - 0\ngroup 1 0..2\n", "a call of communicator 1 precedes"},
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
    std::string text = random() % 2 == 0 ? kGrouped : kLines;
    for (auto n = random() % 6 + 1; n > 0; --n) {
      const size_t at = random() % text.size();
      if (random() % 3 == 0)
        text.erase(at, random() % 9);
      else
        text[at] = static_cast<char>(random() % 4 == 0 ? random() % 256
                                                       : "0123456789e-. \n#,"[random() % 17]);
      if (text.empty()) text = "\n";
    }
    try {
      const Workload workload = parse_workload(text, "w");
      EXPECT_LE(workload.ranks(), 1 << 20);
      EXPECT_EQ(workload_text(parse_workload(workload_text(workload), "again")),
                workload_text(workload));
      for (const WorkloadCall& call : workload.calls) {
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
