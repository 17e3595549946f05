// SPDX-License-Identifier: Apache-2.0
// Flat collectives in flight: more than a lane holds, late ranks, freed communicators, exhausted
// slabs.
#include <gtest/gtest.h>

#include <barrier>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "coll/coll.hpp"
#include "coll/flat/queue.hpp"
#include "core/slabs.hpp"
#include "tests/unit/coll/derived.hpp"
#include "tests/unit/coll/rows.hpp"
#include "tests/unit/coll/trial.hpp"
#include "tests/unit/world.hpp"

namespace tern::coll {
namespace {

using core::Process;
using core::Slabs;
using Trials = std::vector<std::unique_ptr<Trial>>;

const Algorithm& flat(Collective collective) { return *find_algorithm(collective, "flat"); }

std::vector<Algorithm> whole_rows() {
  std::vector<Algorithm> found;
  for (const Algorithm& row : rows(false))
    if (row.flat == FlatMethod::kWhole) found.push_back(row);
  return found;
}

void add(Trials& trials, Process& process, const Algorithm& row, int64_t count, int root,
         core::Communicator& communicator) {
  trials.push_back(std::make_unique<Trial>(process, row, count, root, communicator));
}

void start_all(Trials& trials) {
  for (auto& one : trials) one->start();
}

void finish_and_free(Trials& trials, bool backwards) {
  for (size_t i = 0; i < trials.size(); ++i) {
    Trial& one = *trials[backwards ? trials.size() - 1 - i : i];
    one.finish();
    one.free();
  }
  trials.clear();
}

bool flies(const core::Communicator& communicator, Slabs::Size size) {
  const auto& state = static_cast<const CommState&>(*communicator.coll);
  const auto& queue = state.flights[static_cast<size_t>(size)];
  return queue != nullptr && !queue->has_failed();
}

class Flight : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, Flight, testing::Values(2, 3, 8));

TEST_P(Flight, EveryRowAgreesWithASerialReference) {
  test::World(GetParam()).run([](Process& process) {
    const std::vector<Algorithm> all = whole_rows();
    Trials trials;
    for (const int64_t count : {0, 1, 17, 300, 1500, 5000})
      for (const Algorithm& row : all)
        for (int root = 0; root < (rooted(row.collective) && count < 20 ? process.world_size : 1);
             ++root)
          add(trials, process, row, count, root, *process.world);
    start_all(trials);
    finish_and_free(trials, false);
    EXPECT_TRUE(flies(*process.world, Slabs::Size::kSmall));
    EXPECT_TRUE(flies(*process.world, Slabs::Size::kLarge));
  });
}

TEST_P(Flight, LargeDataIsCopiedDirectly) {
  test::World(GetParam()).run([](Process& process) {
    std::vector<Algorithm> direct;
    for (const Algorithm& row : rows(false))
      if (row.flat == FlatMethod::kDirect) direct.push_back(row);
    ASSERT_EQ(direct.size(), 5U);
    Trials trials;
    for (const int64_t count : {16384, 20001, 150000})
      for (const Algorithm& row : direct) {
        add(trials, process, row, count, process.world_size - 1, *process.world);
        add(trials, process, flat(Collective::kAllreduce), 7, 0, *process.world);
      }
    start_all(trials);
    finish_and_free(trials, false);
    const auto& state = static_cast<const CommState&>(*process.world->coll);
    ASSERT_NE(state.flights[2], nullptr);
    EXPECT_FALSE(state.flights[2]->has_failed());
  });
}

TEST_P(Flight, ManyLargeOnesWaitForARankThatIsLate) {
  test::World(GetParam()).run([](Process& process) {
    for (int round = 0; round < 3; ++round) {
      if (process.world_rank == round) std::this_thread::sleep_for(std::chrono::milliseconds(3));
      Trials trials;
      for (int i = 0; i < 40; ++i)
        add(trials, process,
            *find_algorithm(i % 5 == 0 ? Collective::kAllgather : Collective::kAllreduce,
                            "flat_direct"),
            16384 + i, 0, *process.world);
      start_all(trials);
      finish_and_free(trials, round % 2 == 0);
    }
  });
}

// If the late rank does not ring, the peer's sleeps grow to 64 ms. The best round counts, because
// the cores may be busy.
TEST(FlightSleep, ALateRankRingsAtOnce) {
  using std::chrono::milliseconds;
  std::barrier all(2);
  test::World(2).run([&](Process& process) {
    process.node.oversubscribed = false;  // oversubscribed ranks always ask for rings
    core::Channel& channel = process.channel(0);
    Trials warm;
    add(warm, process, flat(Collective::kAllreduce), 1000, 0, *process.world);
    start_all(warm);
    finish_and_free(warm, false);
    constexpr uint32_t kSpins = 1;
    channel.progress.configure(
        {&channel.slabs->bell(process.world->peer(process.world_rank)), kSpins, 0, false});
    auto best = std::chrono::steady_clock::duration::max();
    for (int round = 0; round < 8; ++round) {
      all.arrive_and_wait();
      const auto began = std::chrono::steady_clock::now();
      if (process.world_rank == 1) std::this_thread::sleep_for(milliseconds(20));
      Trials trials;
      add(trials, process, flat(Collective::kAllreduce), 1000, 0, *process.world);
      start_all(trials);
      finish_and_free(trials, false);
      best = std::min(best, std::chrono::steady_clock::now() - began);
    }
    EXPECT_LT(best, milliseconds(50));
  });
}

// The lanes hold 8 and 16 epochs. Other operations wait in the queue.
TEST_P(Flight, MoreAreInFlightThanSlotsHold) {
  test::World(GetParam()).run([](Process& process) {
    for (const int64_t count : {3, 2500})
      for (int round = 0; round < 4; ++round) {
        Trials trials;
        if (process.world_rank == round) std::this_thread::sleep_for(std::chrono::milliseconds(3));
        for (int i = 0; i < 60; ++i)
          add(trials, process, flat(i % 5 == 0 ? Collective::kBcast : Collective::kAllreduce),
              count + i, i % process.world_size, *process.world);
        start_all(trials);
        finish_and_free(trials, round % 2 == 0);
      }
  });
}

TEST_P(Flight, BlockingOnesPassThoseInFlight) {
  test::World(GetParam()).run([](Process& process) {
    for (int round = 0; round < 30; ++round) {
      Trials trials;
      for (int i = 0; i < 12; ++i) {
        add(trials, process, flat(Collective::kAllreduce), 1 + 40 * i, 0, *process.world);
        trials.back()->start();
        const Collective other = i % 2 == 0 ? Collective::kAllreduce : Collective::kBcast;
        if (i % 3 == 0)
          Trial(process, flat(other), 5 + i, i % process.world_size, *process.world).run();
      }
      finish_and_free(trials, round % 2 == 0);
    }
  });
}

TEST_P(Flight, PollingCompletesThem) {
  test::World(GetParam()).run([](Process& process) {
    Trials trials;
    for (int i = 0; i < 40; ++i)
      add(trials, process, flat(Collective::kAllgather), 1 + i * 20, 0, *process.world);
    start_all(trials);
    for (auto& one : trials) {
      while (!one->done()) {
        process.channel(0).progress.poll();
        std::this_thread::yield();
      }
    }
    finish_and_free(trials, false);
  });
}

TEST_P(Flight, PersistentOnesStartInAnyOrder) {
  test::World(GetParam()).run([](Process& process) {
    Trials trials;
    for (int i = 0; i < 10; ++i) {
      add(trials, process, flat(i % 2 == 0 ? Collective::kAllreduce : Collective::kBcast),
          i * i * 12, i % process.world_size, *process.world);
      trials.back()->init();
    }
    const auto at = [&](int i) -> Trial& {
      return *trials[static_cast<size_t>((i * 3 + process.world_rank * 7) % 10)];
    };
    for (int round = 0; round < 50; ++round) {
      for (int i = 0; i < 10; ++i) at(i).start_again();
      for (int i = 0; i < 10; ++i) at(i + round).finish();
    }
    for (auto& one : trials) one->free();
  });
}

// The next communicator takes the slab of the freed communicator.
TEST_P(Flight, CommunicatorsAreFreedWhileTheirsAreInFlight) {
  test::World(GetParam()).run([](Process& process) {
    for (int round = 0; round < 40; ++round) {
      core::Ref<core::Communicator> copy = derived(process, round);
      Trials trials;
      for (int i = 0; i < 9; ++i)
        add(trials, process, flat(Collective::kAllreduce), 1 + 30 * i, 0, *copy);
      start_all(trials);
      copy->freed = true;
      ASSERT_GT(copy->pending, 0);
      static_cast<void>(copy.leak());
      finish_and_free(trials, round % 2 == 0);
    }
  });
}

// Rank 0 starts a request before any rank has an epoch.
TEST_P(Flight, ASlabServesTheSameCommunicatorAgain) {
  std::barrier<> everybody(GetParam());
  test::World(GetParam()).run([&](Process& process) {
    Trials trials;
    for (int i = 0; i < 2; ++i) {
      add(trials, process, flat(Collective::kAllreduce), 3, 0, *process.world);
      trials.back()->init();
    }
    for (int round = 0; round < 3; ++round) {
      trials[0]->start_again();
      trials[0]->finish();
    }
    trials[0]->free();
    everybody.arrive_and_wait();
    Coll& coll = *process.channel(0).coll;
    if (process.world_rank == 0) {
      EXPECT_TRUE(coll.all_read());
      trials[1]->start_again();
    }
    everybody.arrive_and_wait();
    EXPECT_TRUE(coll.all_read());
    if (process.world_rank != 0) trials[1]->start_again();
    trials[1]->finish();
    trials[1]->free();
  });
}

class FlightWithoutSlabs : public testing::TestWithParam<Slabs::Size> {};
INSTANTIATE_TEST_SUITE_P(Sizes, FlightWithoutSlabs,
                         testing::Values(Slabs::Size::kSmall, Slabs::Size::kLarge));

TEST_P(FlightWithoutSlabs, SchedulesServe) {
  test::World(3).run([](Process& process) {
    Slabs& slabs = *process.channel(0).slabs;
    std::vector<uint32_t> taken;
    for (uint32_t one = 0; process.world_rank == 1 && one != Slabs::kNone;) {
      one = slabs.claim(GetParam());
      if (one != Slabs::kNone) taken.push_back(one);
    }
    for (int round = 0; round < 3; ++round) {
      Trials trials;
      for (int i = 0; i < 10; ++i) {
        add(trials, process, flat(Collective::kAllreduce), 1 + i * 40, 0, *process.world);
        trials.back()->start();
        if (i % 4 != 0) continue;
        add(trials, process, flat(Collective::kBcast), 20000, 0, *process.world);
        trials.back()->start();
      }
      finish_and_free(trials, round == 1);
    }
    const bool small_lack = GetParam() == Slabs::Size::kSmall;
    EXPECT_EQ(flies(*process.world, Slabs::Size::kSmall), !small_lack);
    EXPECT_EQ(flies(*process.world, Slabs::Size::kLarge), small_lack);
    for (const uint32_t one : taken) slabs.release(GetParam(), one);
  });
}

}  // namespace
}  // namespace tern::coll
