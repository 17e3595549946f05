// SPDX-License-Identifier: Apache-2.0
// Lowered schedules: proofs with all ranks mapped and with islands, mutations, elimination of
// copies.
#include "coll/lower/lower.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/error.hpp"
#include "coll/algorithms/algorithms.hpp"
#include "coll/emitters.hpp"
#include "coll/laboratory/verify/verify.hpp"
#include "tests/unit/coll/mutations.hpp"
#include "tests/unit/coll/rows.hpp"

namespace tern::coll {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

struct Edges {
  const char* name;
  std::function<bool(int32_t ranks, int32_t from, int32_t to)> has;
};
const Edges kEdges[] = {
    {"all", [](int32_t, int32_t, int32_t) { return true; }},
    {"halves", [](int32_t n, int32_t a, int32_t b) { return (a < n / 2) == (b < n / 2); }},
    {"parity", [](int32_t, int32_t a, int32_t b) { return a % 2 == b % 2; }},
    {"all but one", [](int32_t n, int32_t a, int32_t b) { return a != n / 2 && b != n / 2; }},
};
Mapped mapped_by(const Edges& edges, int32_t ranks) {
  return [&edges, ranks](int32_t from, int32_t to) { return edges.has(ranks, from, to); };
}
bool everywhere(int32_t, int32_t) { return true; }

class EveryLoweredRow : public testing::TestWithParam<Algorithm> {};
INSTANTIATE_TEST_SUITE_P(Table, EveryLoweredRow, testing::ValuesIn(rows(true)),
                         [](const testing::TestParamInfo<Algorithm>& row) {
                           return std::string(name_of(row.param.collective)) + "_" + row.param.name;
                         });

std::vector<int32_t> some_roots(const Algorithm& row, int32_t ranks) {
  if (!rooted(row.collective) || ranks == 1) return {0};
  if (ranks > 17) return {ranks / 3};
  if (ranks > 4) return {0, ranks / 2, ranks - 1};
  std::vector<int32_t> all;
  for (int32_t root = 0; root < ranks; ++root) all.push_back(root);
  return all;
}

std::vector<Levels> some_machines(const Algorithm& row, int32_t ranks) {
  if ((row.limits & kLevels) == 0) return {Levels{}};
  std::vector<int64_t> uneven;
  for (int32_t r = 0; r < ranks; ++r) uneven.push_back(r < 1 ? 0 : r < 4 ? 1 : 2 + r / 7);
  return {Levels::from_sizes(ranks, {ranks > 17 ? 8 : 4}), Levels::from_sizes(ranks, {8, 2}),
          Levels::from_names({uneven})};
}

void expect_lowered(const Algorithm& row, int32_t ranks, const Levels* levels) {
  if (!serves(row, ranks, levels)) return;
  const std::span edges_of(kEdges);
  const bool few = kSanitized && ranks > 32;
  for (const int32_t root : some_roots(row, ranks))
    for (const Edges& edges : edges_of.first(few ? 2 : edges_of.size())) {
      const Proof proof = verify_lowered(row, ranks, root, levels, mapped_by(edges, ranks));
      ASSERT_TRUE(proof.holds()) << ranks << " ranks, root " << root << ", mapped: " << edges.name
                                 << ", " << (levels == nullptr ? "no levels" : levels->text())
                                 << ": " << proof.fault;
    }
}

void expect_lowered_everywhere(const Algorithm& row, int32_t ranks) {
  for (const Levels& levels : some_machines(row, ranks))
    if (levels.empty() == ((row.limits & kLevels) == 0))
      expect_lowered(row, ranks, levels.empty() ? nullptr : &levels);
}

TEST_P(EveryLoweredRow, IsProvedTo17Ranks) {
  for (int32_t ranks = 1; ranks <= 17 && !HasFatalFailure(); ++ranks)
    expect_lowered_everywhere(GetParam(), ranks);
}

TEST_P(EveryLoweredRow, IsProvedAt32And64Ranks) {
  for (const int32_t ranks : {32, 64}) expect_lowered_everywhere(GetParam(), ranks);
}

class LoweredMutations : public testing::Test {
 protected:
  struct Whole {
    const Algorithm* row;
    std::vector<Schedule> schedules;
    [[nodiscard]] std::string name() const {
      return std::string(name_of(row->collective)) + " " + row->name;
    }
  };
  static std::vector<Whole> all(int32_t about, const Edges& edges) {
    static const std::vector<Algorithm> kRows = rows(true);
    std::vector<Whole> made;
    for (const Algorithm& row : kRows)
      for (int32_t ranks = about;; ++ranks) {
        const Levels levels = Levels::from_sizes(ranks, {ranks % 3 == 0 ? 3 : 2});
        const Levels* told = levels.empty() ? nullptr : &levels;
        if (!serves(row, ranks, told)) continue;
        std::vector<Schedule> source;
        for (int32_t r = 0; r < ranks; ++r) source.push_back(build(row, ranks, r, 0, told));
        made.push_back({&row, lower(source, mapped_by(edges, ranks))});
        break;
      }
    return made;
  }
  static std::string fault(const Algorithm& row, const std::vector<Schedule>& schedules) {
    const bool commutative = (row.limits & kCommutative) != 0;
    for (const bool in_place : {false, true}) {
      const Proof proof = verify_lowered(schedules, in_place, commutative);
      if (!proof.holds()) return proof.fault;
    }
    return "";
  }
  static bool needs(const Whole& whole, int32_t rank, const Step& wait) {
    std::vector<Schedule> schedules = whole.schedules;
    for (Step& step : schedules[static_cast<size_t>(rank)].steps)
      if (step.verb == Verb::kWait && step.slot == wait.slot) step.verb = Verb::kJoin;
    for (Step& step : schedules[static_cast<size_t>(wait.peer)].steps)
      if (step.verb == Verb::kSignal && step.peer == rank && step.slot == wait.slot)
        step.verb = Verb::kJoin;
    return !fault(*whole.row, schedules).empty();
  }
  static bool reads_late(const Whole& whole) {
    return whole.row->emit == allreduce_one_shot || whole.row->emit == allreduce_two_shot ||
           whole.row->emit == reduce_scatter_ordered || whole.row->emit == reduce_linear ||
           whole.row->emit == reduce_scatter_pairwise || whole.row->emit == reduce_scatter_bine ||
           whole.row->emit == allreduce_swing;
  }
  static int32_t sender_of(const Schedule& schedule, int32_t slot) {
    for (const Step& step : schedule.steps)
      if (step.verb == Verb::kWait && step.slot == slot) return step.peer;
    return kSelf;
  }
  static bool word_step(const Step& step) {
    return step.verb == Verb::kSignal || step.verb == Verb::kWait;
  }
};

TEST_F(LoweredMutations, ADroppedStepIsCaught) {
  for (const Edges& edges : {kEdges[0], kEdges[2]})
    for (const Whole& whole : all(5, edges)) {
      ASSERT_EQ(fault(*whole.row, whole.schedules), "") << whole.name();
      each_dropped_step(whole.schedules,
                        [&](const std::vector<Schedule>& schedules, size_t rank, size_t i) {
                          EXPECT_NE(fault(*whole.row, schedules), "")
                              << whole.name() << ", mapped: " << edges.name << ": "
                              << whole.schedules[rank].describe(0, static_cast<int32_t>(i));
                        });
    }
}

// The schedule does not deadlock, but loses ordering. Other messages imply some credits, but not
// for one-way data.
TEST_F(LoweredMutations, ADroppedSignalAndItsWaitAreCaught) {
  int needed = 0;
  for (const Whole& whole : all(5, kEdges[0])) {
    const Collective what = whole.row->collective;
    const bool one_way =
        what == Collective::kBcast || what == Collective::kGather || what == Collective::kScatter;
    const bool levels = (whole.row->limits & kLevels) != 0;
    int implied = 0;
    for (const Schedule& schedule : whole.schedules)
      for (const Step& wait : schedule.steps) {
        if (wait.verb != Verb::kWait) continue;
        const bool caught = needs(whole, schedule.rank, wait);
        const bool credit = schedule.is_credit(wait.slot);
        needed += credit && caught;
        implied += !credit && !caught;
        EXPECT_TRUE(caught || (credit && (!one_way || levels)) || (!credit && reads_late(whole)))
            << whole.name() << ", rank " << schedule.rank << ", " << (credit ? "credit" : "data")
            << " word " << wait.slot;
      }
    EXPECT_LE(implied, std::ssize(whole.schedules)) << whole.name();
  }
  EXPECT_GT(needed, 200);
}

TEST_F(LoweredMutations, ASignalBeforeItsPutIsCaught) {
  int tried = 0, harmless = 0;
  for (const Whole& whole : all(6, kEdges[0]))
    for (const Schedule& schedule : whole.schedules)
      for (size_t i = 0; i + 1 < schedule.steps.size(); ++i) {
        const bool puts =
            schedule.steps[i].verb == Verb::kPut ||
            (schedule.steps[i].verb == Verb::kReduce && schedule.steps[i].peer != kSelf);
        if (!puts || schedule.steps[i + 1].verb != Verb::kSignal) continue;
        std::vector<Schedule> schedules = whole.schedules;
        std::vector<Step>& steps = schedules[static_cast<size_t>(schedule.rank)].steps;
        std::swap(steps[i], steps[i + 1]);
        std::swap(steps[i].after, steps[i + 1].after);
        const std::string found = fault(*whole.row, schedules);
        harmless += found.empty() && !reads_late(whole);
        if (!found.empty()) {
          EXPECT_NE(found.find("may not have been written"), std::string::npos) << found;
        }
        ++tried;
      }
  EXPECT_GT(tried, 500);
  EXPECT_LE(harmless, 1);  // exscan two_level: another wait covers the slot
}

TEST_F(LoweredMutations, WaitsAndCreditsOutOfOrderAreCaught) {
  int tried = 0, harmless = 0, implied = 0;
  const auto gathers = [](const Algorithm& row) {
    return row.emit == allgather_sliced || row.emit == allgather_bine || row.emit == allgather_pat;
  };
  for (const Whole& whole : all(6, kEdges[0]))
    for (const Schedule& schedule : whole.schedules)
      for (size_t i = 0; i + 1 < schedule.steps.size(); ++i) {
        const Step& one = schedule.steps[i];
        const Step& two = schedule.steps[i + 1];
        const auto reads = [&](const Step& step, int32_t slot) {
          for (int k = 0; k < step.sources; ++k)
            if (schedule.source(step, k).space == Space::kInbox &&
                (slot < 0 || schedule.source(step, k).place == slot))
              return true;
          return false;
        };
        const bool late =
            one.verb == Verb::kWait && !schedule.is_credit(one.slot) && reads(two, one.slot);
        bool early = two.verb == Verb::kSignal && one.verb == Verb::kCopy && reads(one, -1) &&
                     sender_of(schedule, schedule.source(one).place) == two.peer;
        early = early && whole.schedules[static_cast<size_t>(two.peer)].is_credit(two.slot);
        early = early && needs(whole, two.peer,
                               {.verb = Verb::kWait, .peer = schedule.rank, .slot = two.slot});
        if (!late && !early) continue;
        std::vector<Schedule> schedules = whole.schedules;
        std::vector<Step>& steps = schedules[static_cast<size_t>(schedule.rank)].steps;
        std::swap(steps[i], steps[i + 1]);
        std::swap(steps[i].after, steps[i + 1].after);
        (early && gathers(*whole.row) ? implied : harmless) += fault(*whole.row, schedules).empty();
        ++tried;
      }
  EXPECT_GT(tried, 200);
  EXPECT_LE(harmless, 1);  // reduce sliced: the peer's next wait covers the slot
  EXPECT_LE(implied, 16);  // the peer's last message follows one that this rank sends later
}

TEST_F(LoweredMutations, AWrongSlotOrWordIsCaught) {
  for (const Whole& whole : all(5, kEdges[0]))
    for (size_t r = 0; r < whole.schedules.size(); ++r) {
      const Schedule& schedule = whole.schedules[r];
      for (size_t i = 0; i < schedule.slices.size(); ++i) {
        if (schedule.slices[i].space != Space::kInbox) continue;
        std::vector<Schedule> schedules = whole.schedules;
        Slice& victim = schedules[r].slices[i];
        const Schedule& owner =
            victim.owner == kSelf ? schedule : whole.schedules[static_cast<size_t>(victim.owner)];
        victim.place = (victim.place + 1) % owner.inbox_slots;
        if (owner.inbox_slots == 1) victim.place = 1;
        EXPECT_NE(fault(*whole.row, schedules), "") << whole.name() << ", rank " << r;
      }
      for (size_t i = 0; i < schedule.steps.size(); ++i) {
        if (!word_step(schedule.steps[i])) continue;
        std::vector<Schedule> schedules = whole.schedules;
        ++schedules[r].steps[i].slot;
        EXPECT_NE(fault(*whole.row, schedules), "")
            << whole.name() << ", rank " << r << ", step " << i;
      }
    }
}

TEST(Lowered, AnOrderThatWaitsForItselfIsCaught) {
  const Algorithm& row = *find_algorithm(Collective::kAllgather, "ring");
  std::vector<Schedule> schedules;
  for (int32_t r = 0; r < 4; ++r) schedules.push_back(build(row, 4, r, 0));
  schedules = lower(schedules, everywhere);
  for (Schedule& schedule : schedules) {
    const auto first = std::find_if(schedule.steps.begin(), schedule.steps.end(), [&](auto& step) {
      return step.verb == Verb::kWait && !schedule.is_credit(step.slot);
    });
    std::rotate(schedule.steps.begin(), first, first + 1);
    for (size_t i = 0; i < schedule.steps.size(); ++i)
      schedule.steps[i].after = static_cast<int32_t>(i);
  }
  const Proof proof = verify_lowered(schedules, false, true);
  EXPECT_NE(proof.fault.find("deadlock"), std::string::npos) << proof.fault;
}

TEST_F(LoweredMutations, OperandsOutOfOrderAreCaught) {
  int tried = 0;
  for (const Whole& whole : all(6, kEdges[0])) {
    if ((whole.row->limits & kCommutative) != 0) continue;
    for (const Schedule& schedule : whole.schedules)
      for (const Step& step : schedule.steps) {
        if (step.verb != Verb::kReduce) continue;
        std::vector<Schedule> schedules = whole.schedules;
        std::vector<Slice>& slices = schedules[static_cast<size_t>(schedule.rank)].slices;
        std::swap(slices[step.operand], slices[step.operand + 1]);
        EXPECT_NE(fault(*whole.row, schedules), "") << whole.name();
        ++tried;
      }
  }
  EXPECT_GT(tried, 50);
}

struct StepCount {
  int puts = 0, far_reduces = 0, reduces = 0, copies = 0, signals = 0, waits = 0, other = 0;
  bool operator==(const StepCount&) const = default;
};
StepCount count_of(Collective collective, const char* name, int32_t ranks, int32_t rank,
                   const Mapped& mapped) {
  std::vector<Schedule> all;
  for (int32_t r = 0; r < ranks; ++r)
    all.push_back(build(*find_algorithm(collective, name), ranks, r, 0));
  const Schedule schedule = lower(all, mapped)[static_cast<size_t>(rank)];
  StepCount count;
  for (const Step& step : schedule.steps) {
    const bool far = step.peer != kSelf;
    ++(step.verb == Verb::kPut      ? count.puts
       : step.verb == Verb::kReduce ? (far ? count.far_reduces : count.reduces)
       : step.verb == Verb::kCopy   ? count.copies
       : step.verb == Verb::kSignal ? count.signals
       : step.verb == Verb::kWait   ? count.waits
                                    : count.other);
  }
  return count;
}

TEST(Lowered, ReducesReadAndWriteSlots) {
  // In a ring of 4, each rank reduces 3 messages, 2 into the next slot. 3 messages bring results,
  // and the rank forwards 2.
  EXPECT_EQ(count_of(Collective::kAllreduce, "ring", 4, 1, everywhere),
            (StepCount{.puts = 1 + 1 + 2,
                       .far_reduces = 2,
                       .reduces = 1,
                       .copies = 3,
                       .signals = 6 + 1,
                       .waits = 6 + 1}));
  // The middle rank takes one step between two slots.
  EXPECT_EQ(count_of(Collective::kReduce, "chain", 3, 1, everywhere),
            (StepCount{.far_reduces = 1, .signals = 1 + 1, .waits = 1 + 1}));
  // The middle rank forwards from slot to slot, then copies.
  EXPECT_EQ(count_of(Collective::kBcast, "chain", 3, 1, everywhere),
            (StepCount{.puts = 1, .copies = 1, .signals = 2, .waits = 2}));
}

TEST(Lowered, WhatIsNotMappedStaysAMessage) {
  const auto none = [](int32_t, int32_t) { return false; };
  EXPECT_EQ(count_of(Collective::kBcast, "chain", 3, 1, none),
            (StepCount{.copies = 0, .other = 2}));
  EXPECT_EQ(count_of(Collective::kBarrier, "dissemination", 4, 1, none), (StepCount{.other = 4}));
}

TEST(Lowered, SaysWhatItDoesNotLower) {
  const auto reason = [](const Schedule& schedule) {
    try {
      (void)lower({schedule}, everywhere);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const auto around = std::make_shared<Neighbors>(grid_of(1, 1, true)[0]);
  EXPECT_NE(reason(build(algorithms(Collective::kNeighborAllgather)[0], 1, 0, around))
                .find("neighbourhood"),
            std::string::npos);
  EXPECT_NE(reason(build_between(*between_groups(Collective::kBarrier), 1, 1, 0, 0)).find("groups"),
            std::string::npos);
}

}  // namespace
}  // namespace tern::coll
