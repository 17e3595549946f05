// SPDX-License-Identifier: Apache-2.0
// After a cut of the network, pending requests fail with peer and reason, and other peers go on.
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "coll/coll.hpp"
#include "pml/pml.hpp"
#include "tests/unit/world.hpp"

namespace tern::test {
namespace {

using core::Process;
using pml::Buffer;
using pml::Envelope;
using pml::Mode;

Buffer bytes_of(Process& process, std::vector<uint8_t>& data) {
  return {data.data(), static_cast<MPI_Count>(data.size()),
          &core::predefined_type(process, MPI_BYTE)};
}
Envelope with(Process& process, int rank, int tag) { return {process.world, rank, tag}; }
pml::Pml& pml_of(Process& process) { return *process.channel(0).pml; }

struct End {
  int error = MPI_SUCCESS;
  std::string text;
};
End end_of(Process& process, core::Request* request) {
  core::Progress& progress = process.channel(0).progress;
  progress.wait([request] { return request->done(); },
                [request](WaitReport* report) { request->describe(report); });
  End end{request->outcome.error, request->error_text == nullptr ? "" : *request->error_text};
  request->release();
  return end;
}

class Steps {
 public:
  void reach(int step) { at_ = step; }
  void await(Process& process, int step) const {
    while (at_ < step) {
      process.channel(0).progress.poll();
      std::this_thread::yield();
    }
  }

 private:
  std::atomic<int> at_{0};
};

TEST(LostPeer, WhatIsUnderWayWithItFailsAndOthersGoOn) {
  World world(3);
  world.use(3);
  Steps steps;
  world.run([&](Process& process) {
    std::vector<uint8_t> small(100, 7), large(1000000, 8), in(100), large_in(1000000);
    if (process.world_rank == 1) {
      ASSERT_EQ(
          pml_of(process).send(bytes_of(process, small), with(process, 0, 1), Mode::kStandard),
          MPI_SUCCESS);
      return steps.await(process, 1);
    }
    if (process.world_rank == 2) {
      steps.await(process, 1);
      ASSERT_EQ(
          pml_of(process).send(bytes_of(process, small), with(process, 0, 9), Mode::kStandard),
          MPI_SUCCESS);
      return;
    }
    core::Outcome outcome;
    ASSERT_EQ(pml_of(process).probe(with(process, 1, 1), &outcome), MPI_SUCCESS);
    std::vector<core::Request*> doomed(4);
    core::Request* any = nullptr;
    pml::Pml& pml = pml_of(process);
    ASSERT_EQ(pml.irecv(bytes_of(process, in), with(process, 1, 2), &doomed[0]), 0);
    ASSERT_EQ(pml.irecv(bytes_of(process, large_in), with(process, 1, 5000), &doomed[1]), 0);
    ASSERT_EQ(pml.isend(bytes_of(process, large), with(process, 1, 3), Mode::kStandard, &doomed[2]),
              0);
    ASSERT_EQ(
        pml.isend(bytes_of(process, small), with(process, 1, 4), Mode::kSynchronous, &doomed[3]),
        0);
    std::vector<uint8_t> from_any(100);
    ASSERT_EQ(pml.irecv(bytes_of(process, from_any), with(process, MPI_ANY_SOURCE, 9), &any), 0);
    world.between().cut(0, 1);
    for (core::Request* const request : doomed) {
      const End end = end_of(process, request);
      EXPECT_EQ(end.error, MPI_ERR_PROC_ABORTED);
      EXPECT_NE(end.text.find("rank 1 on "), std::string::npos) << end.text;
      EXPECT_NE(end.text.find("is lost: late: the test has cut the link"), std::string::npos);
    }
    core::Request* later = nullptr;
    ASSERT_EQ(pml.isend(bytes_of(process, small), with(process, 1, 3), Mode::kStandard, &later), 0);
    EXPECT_EQ(end_of(process, later).error, MPI_ERR_PROC_ABORTED);
    EXPECT_EQ(pml.send(bytes_of(process, small), with(process, 1, 3), Mode::kStandard),
              MPI_ERR_PROC_ABORTED);
    EXPECT_EQ(pml.recv(bytes_of(process, in), with(process, 1, 6), nullptr), MPI_ERR_PROC_ABORTED);
    EXPECT_NE(take_last_error().text.find("is lost"), std::string::npos);
    EXPECT_EQ(pml.probe(with(process, 1, 6), &outcome), MPI_ERR_PROC_ABORTED);
    bool found = false;
    EXPECT_EQ(pml.iprobe(with(process, 1, 6), &found, &outcome), MPI_ERR_PROC_ABORTED);
    EXPECT_EQ(pml.recv(bytes_of(process, in), with(process, 1, 1), nullptr), MPI_SUCCESS);
    EXPECT_EQ(in, small);
    steps.reach(1);
    EXPECT_EQ(end_of(process, any).error, MPI_SUCCESS);
    EXPECT_EQ(from_any, small);
  });
}

TEST(LostPeer, ALargeMessageEndsAtBothEnds) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    World world(2);
    world.use(seed);
    world.run([&](Process& process) {
      std::vector<uint8_t> data(3000000);
      core::Request* request = nullptr;
      if (process.world_rank == 0)
        ASSERT_EQ(pml_of(process).isend(bytes_of(process, data), with(process, 1, 3),
                                        Mode::kStandard, &request),
                  0);
      else
        ASSERT_EQ(pml_of(process).irecv(bytes_of(process, data), with(process, 0, 3), &request), 0);
      for (unsigned round = 0; round < seed * 40 && !request->done(); ++round)
        process.channel(0).progress.poll();
      world.between().cut(0, 1);
      const int error = end_of(process, request).error;
      EXPECT_TRUE(error == MPI_SUCCESS || error == MPI_ERR_PROC_ABORTED) << error;
    });
  }
}

TEST(LostPeer, ProbesEnd) {
  World world(2);
  world.use(5);
  Steps steps;
  world.run([&](Process& process) {
    std::vector<uint8_t> data(200000);
    if (process.world_rank == 1) {
      core::Request* request = nullptr;
      ASSERT_EQ(pml_of(process).isend(bytes_of(process, data), with(process, 0, 3), Mode::kStandard,
                                      &request),
                0);
      steps.await(process, 1);
      world.between().cut(0, 1);
      EXPECT_EQ(end_of(process, request).error, MPI_ERR_PROC_ABORTED);
      return;
    }
    pml::Matched* matched = nullptr;
    core::Outcome outcome;
    ASSERT_EQ(pml_of(process).mprobe(with(process, 1, 3), &matched, &outcome), MPI_SUCCESS);
    steps.reach(1);
    EXPECT_EQ(pml_of(process).probe(with(process, 1, 4), &outcome), MPI_ERR_PROC_ABORTED);
    core::Request* request = nullptr;
    ASSERT_EQ(pml_of(process).imrecv(bytes_of(process, data), *matched, &request), MPI_SUCCESS);
    EXPECT_EQ(end_of(process, request).error, MPI_ERR_PROC_ABORTED);
  });
}

TEST(LostPeer, EveryRequestEndsWhereverTheLinkIsCut) {
  constexpr int kRanks = 4, kRounds = 30;
  for (unsigned seed = 1; seed <= 10; ++seed) {
    World world(kRanks);
    world.use(seed);
    world.run([&](Process& process) {
      std::mt19937 random(seed);
      for (int round = 0; round < kRounds; ++round) {
        const size_t bytes = random() % 3 == 0 ? random() % 100000 : random() % 300;
        const bool cuts = round == static_cast<int>(seed * 2);
        std::vector<std::vector<uint8_t>> in(kRanks, std::vector<uint8_t>(bytes));
        std::vector<uint8_t> out(bytes, static_cast<uint8_t>(round + process.world_rank));
        std::vector<std::pair<int, core::Request*>> receives;
        std::vector<core::Request*> sends;
        for (int rank = 0; rank < kRanks; ++rank) {
          if (rank == process.world_rank) continue;
          core::Request* request = nullptr;
          if (pml_of(process).irecv(bytes_of(process, in[static_cast<size_t>(rank)]),
                                    with(process, rank, round), &request) == MPI_SUCCESS)
            receives.emplace_back(rank, request);
          ASSERT_EQ(pml_of(process).isend(bytes_of(process, out), with(process, rank, round),
                                          random() % 2 == 0 ? Mode::kStandard : Mode::kSynchronous,
                                          &request),
                    MPI_SUCCESS);
          sends.push_back(request);
        }
        if (cuts && process.world_rank == 0) world.between().cut(1, 2);
        for (const auto& [rank, request] : receives) {
          const int error = end_of(process, request).error;
          if (error == MPI_SUCCESS)
            EXPECT_EQ(in[static_cast<size_t>(rank)],
                      std::vector<uint8_t>(bytes, static_cast<uint8_t>(round + rank)));
          else
            EXPECT_EQ(error, MPI_ERR_PROC_ABORTED);
          const bool on_link = process.world_rank + rank == 3 && rank != 0 && rank != 3;
          EXPECT_TRUE(error == MPI_SUCCESS || on_link);
        }
        for (core::Request* const request : sends) (void)end_of(process, request);
      }
    });
  }
}

}  // namespace
}  // namespace tern::test
