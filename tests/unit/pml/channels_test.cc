// SPDX-License-Identifier: Apache-2.0
// Channels: concurrent threads of a rank with separate communicators.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "tests/unit/world.hpp"

namespace tern::test {
namespace {

using core::Communicator;
using core::Process;
using core::Ref;
using pml::Buffer;
using pml::Mode;

constexpr int kComms = 6;
constexpr size_t kSizes[] = {0, 8, 3000, 40000, 300000};

std::vector<Ref<Communicator>> duplicates(Process& process) {
  std::vector<Ref<Communicator>> made;
  Communicator& world = *process.world;
  for (int i = 0; i < kComms; ++i) {
    const auto id =
        core::derive_context(world.id(), core::Derivation::kDuplicate, world.next_derivation(), 0);
    made.push_back(core::derive_communicator(world, Ref<core::Group>(&world.group()), id));
    made.back()->channel().pml->add_context(*made.back());
  }
  return made;
}

void exchange(Process& process, Communicator& comm, unsigned seed) {
  pml::Pml& pml = *comm.channel().pml;
  const int right = (comm.rank() + 1) % comm.size();
  const int left = (comm.rank() + comm.size() - 1) % comm.size();
  core::Datatype& byte = core::predefined_type(process, MPI_BYTE);
  for (const size_t size : kSizes) {
    const auto value = [&](int rank) { return static_cast<uint8_t>(seed * 7 + unsigned(rank)); };
    std::vector<uint8_t> out(size, value(comm.rank())), in(size);
    core::Request* receive = nullptr;
    const auto count = static_cast<MPI_Count>(size);
    ASSERT_EQ(pml.irecv({in.data(), count, &byte}, {&comm, left, 3}, &receive), MPI_SUCCESS);
    ASSERT_EQ(pml.send({out.data(), count, &byte}, {&comm, right, 3}, Mode::kStandard),
              MPI_SUCCESS);
    {
      core::Progress& progress = comm.channel().progress;
      const core::ChannelLock lock(progress);
      progress.wait([&] { return receive->done(); }, [](WaitReport*) {});
    }
    receive->release();
    EXPECT_EQ(in, std::vector<uint8_t>(size, value(left)));
  }
}

void use_side_by_side(Process& process, int threads) {
  const auto comms = duplicates(process);
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t)
    all.emplace_back([&, t] {
      for (unsigned round = 0; round < 20; ++round)
        for (int i = t; i < kComms; i += threads)
          exchange(process, *comms[static_cast<size_t>(i)], round + static_cast<unsigned>(i));
    });
  for (std::thread& thread : all) thread.join();
}

TEST(Channels, WhatIsDerivedTakesTurns) {
  World(1, {{"TERN_CHANNELS", "4"}}, core::ThreadLevel::kMultiple).run([](Process& process) {
    ASSERT_EQ(process.channel_count(), 4u);
    const auto comms = duplicates(process);
    EXPECT_EQ(process.world->channel().number, 0u);
    for (uint32_t i = 0; i < kComms; ++i) EXPECT_EQ(comms[i]->channel().number, (i + 1) % 4);
  });
}

TEST(Channels, BelowMultipleThereIsOne) {
  World(2, {{"TERN_CHANNELS", "8"}}, core::ThreadLevel::kSerialized).run([](Process& process) {
    EXPECT_EQ(process.channel_count(), 1u);
    use_side_by_side(process, 1);
  });
}

TEST(Channels, ThreadsUseThemSideBySide) {
  World(2, {{"TERN_CHANNELS", "4"}}, core::ThreadLevel::kMultiple).run([](Process& process) {
    use_side_by_side(process, 3);
  });
}

void wake(const std::function<core::Request*(Process&)>& begin,
          const std::function<void(Process&, core::Request&)>& act) {
  World(2, {{"TERN_TEST.longest_sleep", "20s"}}, core::ThreadLevel::kMultiple)
      .run([&](Process& process) {
        if (process.world_rank != 0) return;
        core::Request* const waited = begin(process);
        const auto start = std::chrono::steady_clock::now();
        std::thread waits([&] {
          core::Progress& progress = process.world->channel().progress;
          const core::ChannelLock lock(progress);
          progress.wait([&] { return waited->done(); }, [](WaitReport*) {});
        });
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        act(process, *waited);
        waits.join();
        EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
        waited->release();
      });
}

core::Request* receive_nothing(Process& process, int from) {
  core::Request* made = nullptr;
  core::Datatype& byte = core::predefined_type(process, MPI_BYTE);
  EXPECT_EQ(
      process.world->channel().pml->irecv({nullptr, 0, &byte}, {process.world, from, 1}, &made),
      MPI_SUCCESS);
  return made;
}

TEST(Channels, ASendToTheOwnRankWakesItsThreads) {
  wake([](Process& process) { return receive_nothing(process, 0); },
       [](Process& process, core::Request&) {
         core::Datatype& byte = core::predefined_type(process, MPI_BYTE);
         EXPECT_EQ(process.world->channel().pml->send({nullptr, 0, &byte}, {process.world, 0, 1},
                                                      Mode::kStandard),
                   MPI_SUCCESS);
       });
}

TEST(Channels, CancellingWakesWhoWaits) {
  wake([](Process& process) { return receive_nothing(process, 1); },
       [](Process&, core::Request& waited) { EXPECT_TRUE(waited.cancel()); });
}

TEST(Channels, AThreadForProgressJoinsIn) {
  World(3, {{"TERN_CHANNELS", "2"}, {"TERN_PROGRESS", "thread"}}, core::ThreadLevel::kMultiple)
      .run([](Process& process) { use_side_by_side(process, 2); });
}

}  // namespace
}  // namespace tern::test
