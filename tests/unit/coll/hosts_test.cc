// SPDX-License-Identifier: Apache-2.0
// Rows with levels of hosts: proofs, and exact traffic between hosts from the schedules.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

#include "coll/algorithms/algorithms.hpp"
#include "coll/laboratory/verify/verify.hpp"

namespace tern::coll {
namespace {

using enum Collective;

/// Communicators make no levels for hosts of one rank, but the test does.
Levels shape(int32_t hosts, int32_t each, bool dealt = false) {
  Levels levels;
  levels.groups.emplace_back();
  for (int32_t rank = 0; rank < hosts * each; ++rank)
    levels.groups[0].push_back(dealt ? rank % hosts : rank / each * each);
  return levels;
}

constexpr int64_t kBytes = 1152;
struct Traffic {
  int64_t messages = 0, bytes = 0;
  int64_t busiest = 0;
  int32_t rounds = 0;
  bool operator==(const Traffic&) const = default;
  friend void PrintTo(const Traffic& t, std::ostream* out) {
    *out << "{" << t.messages << ", " << t.bytes << ", " << t.busiest << ", " << t.rounds << "}";
  }
};

class Count {
 public:
  Count(const Algorithm& row, const Levels& levels, int32_t root) : host_(levels.groups[0]) {
    for (int32_t rank = 0; rank < levels.ranks(); ++rank)
      schedules_.push_back(build(row, levels.ranks(), rank, root, &levels));
    depth_.resize(schedules_.size());
    sent_.resize(schedules_.size());
    received_.resize(schedules_.size());
  }

  Traffic run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t rank = 0; rank < schedules_.size(); ++rank)
        while (step(rank)) moved = true;
    }
    for (size_t rank = 0; rank < schedules_.size(); ++rank) {
      EXPECT_EQ(depth_[rank].size(), schedules_[rank].steps.size()) << "rank " << rank << " waits";
      traffic_.busiest = std::max({traffic_.busiest, sent_[rank], received_[rank]});
      for (const int32_t depth : depth_[rank]) traffic_.rounds = std::max(traffic_.rounds, depth);
    }
    return traffic_;
  }

 private:
  bool step(size_t rank) {
    const Schedule& schedule = schedules_[rank];
    std::vector<int32_t>& depth = depth_[rank];
    if (depth.size() == schedule.steps.size()) return false;
    const Step& step = schedule.steps[depth.size()];
    int32_t now = 0;
    for (int32_t i = 0; i < step.after; ++i) now = std::max(now, depth[static_cast<size_t>(i)]);
    if (step.verb == Verb::kSend || step.verb == Verb::kSignal) send(rank, step, now);
    if (step.verb == Verb::kRecv || step.verb == Verb::kWait) {
      auto& line = lines_[{step.peer, static_cast<int32_t>(rank)}];
      if (line.empty()) return false;
      now = std::max(now, line.front());
      line.pop_front();
    }
    depth.push_back(now);
    return true;
  }

  void send(size_t rank, const Step& step, int32_t now) {
    const auto to = static_cast<size_t>(step.peer);
    const bool leaves = host_[rank] != host_[to];
    lines_[{static_cast<int32_t>(rank), step.peer}].push_back(now + (leaves ? 1 : 0));
    if (!leaves) return;
    ++traffic_.messages;
    if (step.verb == Verb::kSignal) return;
    const int32_t parts = schedules_[rank].parts;
    EXPECT_EQ(kBytes % parts, 0);
    const int64_t bytes = kBytes / parts * schedules_[rank].source(step).blocks;
    traffic_.bytes += bytes;
    sent_[rank] += bytes;
    received_[to] += bytes;
  }

  std::vector<int32_t> host_;
  std::vector<Schedule> schedules_;
  std::vector<std::vector<int32_t>> depth_;
  std::vector<int64_t> sent_, received_;
  std::map<std::pair<int32_t, int32_t>, std::deque<int32_t>> lines_;
  Traffic traffic_;
};

Traffic traffic(Collective what, const char* name, const Levels& levels, int32_t root = 0) {
  return Count(*find_algorithm(what, name), levels, root).run();
}

// Every rank sends a block to each round of another host, and all ranks use their network alike.
TEST(Sliced, BlocksGoBetweenHostsOncePerRank) {
  for (const Collective what : {kAllgather, kReduceScatter})
    for (const auto& [hosts, each] : {std::pair{2, 8}, std::pair{8, 3}, std::pair{3, 1}})
      for (const bool dealt : {false, true}) {
        const Levels levels = shape(hosts, each, dealt);
        for (int32_t rank = 0; rank < levels.ranks(); ++rank) {
          const Schedule schedule =
              build(*find_algorithm(what, "sliced"), levels.ranks(), rank, 0, &levels);
          int32_t sent = 0, received = 0;
          for (const Step& step : schedule.steps) {
            if (step.peer == kSelf) continue;
            const auto& host = levels.groups[0];
            if (host[static_cast<size_t>(step.peer)] == host[static_cast<size_t>(rank)]) continue;
            EXPECT_EQ(schedule.slices[step.operand].blocks, 1);
            (step.verb == Verb::kSend ? sent : received) += 1;
          }
          EXPECT_EQ(sent, hosts - 1) << name_of(what) << " rank " << rank;
          EXPECT_EQ(received, hosts - 1) << name_of(what) << " rank " << rank;
        }
      }
}

TEST(Sliced, IsProvedOnHostsOfOneSize) {
  const std::pair<int32_t, int32_t> shapes[] = {{2, 1}, {3, 1}, {4, 1}, {2, 2}, {2, 4}, {4, 2},
                                                {3, 3}, {5, 2}, {6, 4}, {2, 8}, {8, 16}};
  for (const Collective what : {kAllreduce, kReduce, kBcast, kAllgather, kReduceScatter})
    for (const auto& [hosts, each] : shapes)
      for (const bool dealt : {false, true}) {
        const Levels levels = shape(hosts, each, dealt);
        const Algorithm& row = *find_algorithm(what, "sliced");
        ASSERT_TRUE(serves(row, levels.ranks(), &levels));
        for (int32_t root = 0; root < (rooted(what) ? levels.ranks() : 1); ++root) {
          if (levels.ranks() > 24 && root % 41 != 3 && root > 0) continue;
          const Proof proof = verify(row, levels.ranks(), root, &levels);
          ASSERT_TRUE(proof.holds()) << name_of(what) << " on " << levels.text() << ", root "
                                     << root << (dealt ? ", dealt out: " : ": ") << proof.fault;
        }
      }
}

TEST(Sliced, IsNotForHostsOfSeveralSizesOrNone) {
  const Levels uneven = Levels::from_sizes(7, {4});
  for (const Collective what : {kAllreduce, kReduce, kBcast}) {
    EXPECT_FALSE(serves(*find_algorithm(what, "sliced"), 7, &uneven));
    EXPECT_FALSE(serves(*find_algorithm(what, "sliced"), 8, nullptr));
  }
}

struct Row {
  int32_t hosts, each;
  Traffic sliced, two_level;
};

void expect_counts(Collective what, std::initializer_list<Row> rows) {
  for (const Row& row : rows)
    for (const bool dealt : {false, true}) {
      const Levels levels = shape(row.hosts, row.each, dealt);
      SCOPED_TRACE(std::string(name_of(what)) + " on " + levels.text());
      EXPECT_EQ(traffic(what, "sliced", levels), row.sliced);
      EXPECT_EQ(traffic(what, "two_level", levels), row.two_level);
    }
}

TEST(Sliced, CountsOfAllreduce) {
  expect_counts(kAllreduce, {{2, 1, {2, 2304, 1152, 1}, {2, 2304, 1152, 1}},
                             {2, 2, {4, 2304, 576, 1}, {2, 2304, 1152, 1}},
                             {2, 4, {8, 2304, 288, 1}, {2, 2304, 1152, 1}},
                             {4, 2, {32, 6912, 864, 4}, {8, 9216, 2304, 2}},
                             {3, 3, {36, 4608, 512, 4}, {4, 4608, 2304, 2}},
                             {8, 16, {768, 16128, 126, 6}, {24, 27648, 3456, 3}}});
}

TEST(Sliced, CountsOfReduce) {
  expect_counts(kReduce, {{2, 1, {1, 1152, 1152, 1}, {1, 1152, 1152, 1}},
                          {2, 2, {2, 1152, 576, 1}, {1, 1152, 1152, 1}},
                          {2, 4, {4, 1152, 288, 1}, {1, 1152, 1152, 1}},
                          {4, 2, {6, 3456, 576, 3}, {3, 3456, 2304, 2}},
                          {3, 3, {6, 2304, 384, 2}, {2, 2304, 2304, 1}},
                          {8, 16, {112, 8064, 72, 7}, {7, 8064, 3456, 3}}});
}

TEST(Sliced, CountsOfBcast) {
  expect_counts(kBcast, {{2, 1, {1, 1152, 1152, 1}, {1, 1152, 1152, 1}},
                         {2, 2, {2, 1152, 576, 1}, {1, 1152, 1152, 1}},
                         {2, 4, {4, 1152, 288, 1}, {1, 1152, 1152, 1}},
                         {4, 2, {6, 3456, 576, 3}, {3, 3456, 2304, 2}},
                         {3, 3, {6, 2304, 384, 2}, {2, 2304, 2304, 1}},
                         {8, 16, {112, 8064, 72, 7}, {7, 8064, 3456, 3}}});
}

struct TwoLevelRow {
  Collective what;
  int32_t hosts, each;
  Traffic expected;
  const char* name = "two_level";
};

// A barrier sends only signals. The other collectives have a block of kBytes per rank or pair.
TEST(TwoLevel, CountsOfTheOtherCollectives) {
  const TwoLevelRow rows[] = {
      {kBarrier, 2, 2, {2, 0, 0, 1}},
      {kBarrier, 4, 2, {8, 0, 0, 2}},
      {kBarrier, 3, 3, {6, 0, 0, 2}},
      {kBarrier, 8, 16, {24, 0, 0, 3}},
      {kGather, 2, 2, {1, 2304, 2304, 1}},
      {kGather, 4, 2, {3, 9216, 6912, 2}},
      {kGather, 8, 16, {7, 221184, 129024, 3}},
      {kScatter, 2, 2, {1, 2304, 2304, 1}},
      {kScatter, 4, 2, {3, 9216, 6912, 2}},
      {kScatter, 8, 16, {7, 221184, 129024, 3}},
      {kAllgather, 2, 2, {2, 4608, 2304, 1}},
      {kAllgather, 4, 2, {9, 27648, 6912, 2}},
      {kAllgather, 8, 16, {28, 1032192, 129024, 3}},
      {kAlltoall, 2, 2, {4, 9216, 2304, 1}},
      {kAlltoall, 4, 2, {24, 55296, 6912, 3}},
      {kAlltoall, 8, 16, {896, 16515072, 129024, 7}},
      {kReduceScatter, 2, 2, {2, 4608, 2304, 1}},
      {kReduceScatter, 4, 2, {12, 27648, 6912, 1}},
      {kReduceScatter, 8, 16, {56, 1032192, 129024, 1}},
      {kReduceScatter, 2, 2, {2, 4608, 2304, 1}, "two_level_halving"},
      {kReduceScatter, 4, 2, {8, 27648, 6912, 2}, "two_level_halving"},
      {kReduceScatter, 3, 3, {4, 24192, 17280, 2}, "two_level_halving"},
      {kReduceScatter, 8, 16, {24, 1032192, 129024, 3}, "two_level_halving"}};
  for (const TwoLevelRow& row : rows) {
    const Levels levels = shape(row.hosts, row.each);
    SCOPED_TRACE(std::string(name_of(row.what)) + " on " + levels.text());
    EXPECT_EQ(traffic(row.what, row.name, levels), row.expected);
  }
}

TEST(TwoLevel, IsProvedOnAllShapes) {
  const std::pair<int32_t, int32_t> shapes[] = {{2, 1}, {3, 1}, {2, 2}, {2, 4},
                                                {4, 2}, {3, 3}, {8, 16}};
  for (const Algorithm& row : global_algorithms())
    for (const auto& [hosts, each] : shapes)
      for (const bool dealt : {false, true}) {
        const Levels levels = shape(hosts, each, dealt);
        if ((row.limits & kLevels) == 0 || !serves(row, levels.ranks(), &levels)) continue;
        for (const int32_t root : {0, levels.ranks() - 1}) {
          if (root != 0 && !rooted(row.collective)) continue;
          const Proof proof = verify(row, levels.ranks(), root, &levels);
          ASSERT_TRUE(proof.holds()) << name_of(row.collective) << " by " << row.name << " on "
                                     << levels.text() << ", root " << root << ": " << proof.fault;
        }
      }
}

// Rows without levels do as well only on in-order powers of two.
TEST(Sliced, CountsOfRowsThatKnowNoHosts) {
  const Levels in_order = shape(8, 16), dealt = shape(8, 16, true), threes = shape(3, 3);
  EXPECT_EQ(traffic(kAllreduce, "rabenseifner", in_order), (Traffic{768, 16128, 126, 6}));
  EXPECT_EQ(traffic(kAllreduce, "rabenseifner", dealt), (Traffic{768, 258048, 2016, 6}));
  EXPECT_EQ(traffic(kAllreduce, "rabenseifner", threes), (Traffic{32, 8064, 2016, 6}));
  EXPECT_EQ(traffic(kAllreduce, "ring", in_order), (Traffic{2032, 18288, 2286, 16}));
  EXPECT_EQ(traffic(kAllreduce, "ring", dealt), (Traffic{32512, 292608, 2286, 254}));
  EXPECT_EQ(traffic(kReduce, "scatter_gather", in_order), (Traffic{496, 9072, 1071, 4}));
  EXPECT_EQ(traffic(kBcast, "scatter_allgather", in_order), (Traffic{711, 8064, 1152, 7}));
}

}  // namespace
}  // namespace tern::coll
