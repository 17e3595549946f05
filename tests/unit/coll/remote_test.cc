// SPDX-License-Identifier: Apache-2.0
// Schedules of puts and gets: proofs, and dropped steps.
#include <gtest/gtest.h>

#include <functional>

#include "coll/laboratory/verify/verify.hpp"
#include "coll/schedule/builder.hpp"
#include "tests/unit/coll/mutations.hpp"

namespace tern::coll {
namespace {

using EmitSteps = std::function<void(Builder&)>;

std::vector<Schedule> all(Collective collective, const char* name, int32_t ranks,
                          const EmitSteps& emit) {
  std::vector<Schedule> schedules;
  for (int32_t r = 0; r < ranks; ++r) {
    Builder b(collective, name, ranks, r, 0);
    emit(b);
    schedules.push_back(b.finish());
  }
  return schedules;
}

std::string fault_of_remote(const std::vector<Schedule>& schedules) {
  for (const bool in_place : {false, true}) {
    const Proof proof = verify(schedules, in_place, false);
    if (!proof.holds()) return proof.fault;
  }
  return "";
}

constexpr int32_t kEntered = 0, kThere = 1, kTaken = 2;

void ring_by_puts(Builder& b) {
  b.copy(Builder::input(), Builder::output(b.rank()));
  b.signal(b.ring(-1), kEntered);
  b.wait(b.ring(1), kEntered);
  for (int32_t round = 1; round < b.ranks(); ++round) {
    const int32_t block = b.ring(1 - round);
    b.put(b.ring(1), Builder::output(block), Builder::output(block));
    b.signal(b.ring(1), kThere);
    b.wait(b.ring(-1), kThere);
  }
}

void star_by_gets(Builder& b) {
  if (b.rank() != b.root()) {
    b.wait(b.root(), kThere);
    b.get(b.root(), Builder::output(), Builder::output());
    b.signal(b.root(), kTaken);
    return;
  }
  for (int32_t rank = 1; rank < b.ranks(); ++rank) b.signal(rank, kThere);
  for (int32_t rank = 1; rank < b.ranks(); ++rank) b.wait(rank, kTaken);
}

void slots_by_puts(Builder& b) {
  b.stage(b.ranks());
  for (int32_t d = 1; d < b.ranks(); ++d) b.signal(b.ring(d), kEntered);
  for (int32_t d = 1; d < b.ranks(); ++d) {
    b.wait(b.ring(d), kEntered);
    b.put(b.ring(d), Builder::input(), Builder::staged(b.rank()));
    b.signal(b.ring(d), kThere);
  }
  for (int32_t d = 1; d < b.ranks(); ++d) b.wait(b.ring(d), kThere);
  std::vector<Slice> sources;
  for (int32_t rank = 0; rank < b.ranks(); ++rank)
    sources.push_back(rank == b.rank() ? Builder::input() : Builder::staged(rank));
  b.copy(Builder::input(), Builder::staged(b.rank()));
  sources[static_cast<size_t>(b.rank())] = Builder::staged(b.rank());
  b.reduce(sources, Builder::output());
}

struct Named {
  Collective collective;
  const char* name;
  void (*emit)(Builder&);
};
constexpr Named kRemoteRows[] = {{Collective::kAllgather, "ring by puts", ring_by_puts},
                                 {Collective::kBcast, "star by gets", star_by_gets},
                                 {Collective::kAllreduce, "slots by puts", slots_by_puts}};

TEST(Remote, RightOnesAreProved) {
  for (const Named& row : kRemoteRows)
    for (int32_t ranks = 1; ranks <= 16; ++ranks)
      EXPECT_EQ(fault_of_remote(all(row.collective, row.name, ranks, row.emit)), "")
          << ranks << " ranks";
}

TEST(Remote, ADroppedStepIsCaught) {
  for (const Named& row : kRemoteRows) {
    const std::vector<Schedule> whole = all(row.collective, row.name, 4, row.emit);
    each_dropped_step(whole, [&](const std::vector<Schedule>& schedules, size_t rank, size_t i) {
      EXPECT_NE(fault_of_remote(schedules), "") << row.name << " rank " << rank << " step " << i;
    });
  }
}

// The schedule does not deadlock, but loses ordering.
TEST(Remote, ADroppedWaitAndItsSignalAreCaught) {
  const auto without = [](Collective collective, void (*emit)(Builder&), int32_t slot) {
    std::vector<Schedule> schedules = all(collective, "mutated", 4, emit);
    for (Schedule& schedule : schedules)
      for (Step& step : schedule.steps)
        if ((step.verb == Verb::kSignal || step.verb == Verb::kWait) && step.slot == slot)
          step.verb = Verb::kJoin;
    return fault_of_remote(schedules);
  };
  const auto has = [](const std::string& text, const char* words) {
    return text.find(words) != std::string::npos;
  };
  EXPECT_PRED2(has, without(Collective::kAllgather, ring_by_puts, kEntered),
               "may not have entered");
  EXPECT_NE(without(Collective::kAllgather, ring_by_puts, kThere), "");
  EXPECT_PRED2(has, without(Collective::kBcast, star_by_gets, kThere), "may not have entered");
  EXPECT_PRED2(has, without(Collective::kBcast, star_by_gets, kTaken), "may have left");
  EXPECT_PRED2(has, without(Collective::kAllreduce, slots_by_puts, kThere), "was not written");
}

TEST(Remote, ASignalThatOvertakesIsCaught) {
  std::vector<Schedule> schedules = all(Collective::kAllreduce, "slots by puts", 3, slots_by_puts);
  for (Step& step : schedules[1].steps)
    if (step.verb == Verb::kSignal && step.slot == kThere) step.after = 0;
  EXPECT_NE(fault_of_remote(schedules).find("may still access it"), std::string::npos)
      << fault_of_remote(schedules);
}

TEST(Remote, TwoWritersAreCaught) {
  const std::vector<Schedule> schedules =
      all(Collective::kAllreduce, "one slot", 3, [](Builder& b) {
        b.stage(1);
        for (int32_t d = 1; d < 3; ++d) b.signal(b.ring(d), kEntered);
        for (int32_t d = 1; d < 3; ++d) {
          b.wait(b.ring(d), kEntered);
          b.put(b.ring(d), Builder::input(), Builder::staged(0));
          b.signal(b.ring(d), kThere);
        }
        for (int32_t d = 1; d < 3; ++d) b.wait(b.ring(d), kThere);
        b.reduce(Builder::staged(0), Builder::input(), Builder::output());
      });
  EXPECT_NE(fault_of_remote(schedules).find("of rank"), std::string::npos)
      << fault_of_remote(schedules);
}

}  // namespace
}  // namespace tern::coll
