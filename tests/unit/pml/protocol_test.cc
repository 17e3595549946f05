// SPDX-License-Identifier: Apache-2.0
// Every point-to-point protocol: sizes around every limit, wildcards, truncation, synchronous mode,
// many messages.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <numeric>
#include <thread>
#include <vector>

#include "core/datatype_build.hpp"
#include "tests/unit/world.hpp"

namespace tern::test {
namespace {

using core::Outcome;
using core::Process;
using pml::Buffer;
using pml::Envelope;
using pml::Mode;

Buffer bytes_of(Process& process, std::vector<uint8_t>& data) {
  return {data.data(), static_cast<MPI_Count>(data.size()),
          &core::predefined_type(process, MPI_BYTE)};
}

std::vector<uint8_t> pattern(size_t bytes, unsigned seed) {
  std::vector<uint8_t> data(bytes);
  for (size_t i = 0; i < bytes; ++i) data[i] = static_cast<uint8_t>(i * 131 + seed);
  return data;
}

int wait(Process& process, core::Request* request) {
  process.channel(0).progress.mutex.lock();
  process.channel(0).progress.wait([request] { return request->done(); },
                                   [request](WaitReport* report) { request->describe(report); });
  process.channel(0).progress.mutex.unlock();
  const int error = request->outcome.error;
  request->release();
  return error;
}

Envelope with(Process& process, int rank, int tag) { return {process.world, rank, tag}; }

class Protocol : public testing::TestWithParam<const char*> {
 protected:
  World world(int ranks) { return World(ranks, {{"TERN_SM_SINGLE_COPY", GetParam()}}); }
};

TEST_P(Protocol, EverySizeArrivesWhole) {
  const std::vector<size_t> sizes = {0,    1,    47,   48,    49,    2031,  2032,   2033,
                                     8191, 8192, 8193, 32751, 32752, 32753, 262145, 3000001};
  world(2).run([&](Process& process) {
    for (const size_t size : sizes) {
      const auto sent = pattern(size, 7);
      auto data = process.world_rank == 0 ? sent : std::vector<uint8_t>(size);
      if (process.world_rank == 0) {
        ASSERT_EQ(process.channel(0).pml->send(bytes_of(process, data), with(process, 1, 5),
                                               Mode::kStandard),
                  0);
      } else {
        Outcome outcome;
        ASSERT_EQ(
            process.channel(0).pml->recv(bytes_of(process, data), with(process, 0, 5), &outcome),
            0);
        EXPECT_EQ(data, sent) << size;
        EXPECT_EQ(outcome.bytes, static_cast<MPI_Count>(size));
        EXPECT_EQ(outcome.source, 0);
        EXPECT_EQ(outcome.tag, 5);
      }
    }
  });
}

TEST_P(Protocol, ARankThatLeavesStillAnswers) {
  world(2).run([&](Process& process) {
    if (process.world_rank == 1) return;
    for (const size_t size : {size_t{8}, size_t{1000000}}) {
      auto data = pattern(size, 1);
      core::Request* request = nullptr;
      ASSERT_EQ(process.channel(0).pml->isend(bytes_of(process, data), with(process, 1, 5),
                                              Mode::kSynchronous, &request),
                0);
      EXPECT_TRUE(request->cancel());
      request->retain();
      EXPECT_EQ(wait(process, request), 0);
      EXPECT_TRUE(request->outcome.cancelled);
      request->release();
    }
  });
}

TEST_P(Protocol, BothDirectionsAtOnce) {
  world(2).run([&](Process& process) {
    const int other = 1 - process.world_rank;
    auto out = pattern(1500000, static_cast<unsigned>(process.world_rank));
    std::vector<uint8_t> in(out.size());
    core::Request* send = nullptr;
    core::Request* receive = nullptr;
    ASSERT_EQ(process.channel(0).pml->isend(bytes_of(process, out), with(process, other, 1),
                                            Mode::kStandard, &send),
              0);
    ASSERT_EQ(
        process.channel(0).pml->irecv(bytes_of(process, in), with(process, other, 1), &receive), 0);
    EXPECT_EQ(wait(process, receive), 0);
    EXPECT_EQ(wait(process, send), 0);
    EXPECT_EQ(in, pattern(in.size(), static_cast<unsigned>(other)));
  });
}

struct Layout {
  Layout(Process& process, MPI_Count blocks, int every, const std::vector<uint8_t>& content)
      : type(core::TypeBuilder().hvector(
            blocks, 1, every,
            *core::TypeBuilder().contiguous(12, core::predefined_type(process, MPI_BYTE)))),
        memory(static_cast<size_t>(blocks * every), 0xee) {
    type->unpack(memory.data(), 1, 0, content.data(), static_cast<size_t>(type->size()));
  }
  Buffer buffer() { return {memory.data(), 1, type.get()}; }
  core::Ref<core::Datatype> type;
  std::vector<uint8_t> memory;
};

// Under ThreadSanitizer, hundreds of megabytes take forty seconds and show no more races.
#if defined(__SANITIZE_THREAD__)
constexpr MPI_Count kMostBlocks = 30000;
#else
constexpr MPI_Count kMostBlocks = 130001;
#endif

TEST_P(Protocol, LayoutsArriveWhole) {
  world(2).run([&](Process& process) {
    pml::Pml& pml = *process.channel(0).pml;
    for (const bool oversubscribed : {false, true})
      for (const MPI_Count blocks : {MPI_Count{2000}, MPI_Count{25000}, kMostBlocks}) {
        const auto sent = pattern(static_cast<size_t>(blocks) * 12, 5);
        const std::vector<uint8_t> nothing(sent.size(), 0);
        for (const int every : {12, 20, 400})
          for (const int at_receiver : {12, 28, 300}) {
            process.node.oversubscribed = oversubscribed;
            if (process.world_rank == 0) {
              Layout from(process, blocks, every, sent);
              ASSERT_EQ(pml.send(from.buffer(), with(process, 1, 1), Mode::kStandard), 0);
              ASSERT_EQ(pml.send(from.buffer(), with(process, 1, 2), Mode::kSynchronous), 0);
              continue;
            }
            Layout whole(process, blocks, at_receiver, nothing),
                expected(process, blocks, at_receiver, sent);
            Outcome outcome;
            ASSERT_EQ(pml.recv(whole.buffer(), with(process, 0, 1), &outcome), 0);
            EXPECT_EQ(outcome.bytes, blocks * 12);
            EXPECT_TRUE(whole.memory == expected.memory) << blocks << " " << every;
            Layout half(process, blocks / 2, at_receiver, nothing);
            EXPECT_EQ(pml.recv(half.buffer(), with(process, 0, 2), &outcome), MPI_ERR_TRUNCATE);
            expected.memory.resize(half.memory.size());
            EXPECT_TRUE(half.memory == expected.memory) << blocks << " " << every;
          }
      }
  });
}

// Oversubscribed ranks use larger fragments.
TEST_P(Protocol, OneEndSharesItsCore) {
  world(2).run([&](Process& process) {
    const int other = 1 - process.world_rank;
    for (const int crowded : {0, 1}) {
      process.node.oversubscribed = process.world_rank == crowded;
      for (const size_t size : {9000UL, 70000UL, 262144UL, 262145UL, 1000001UL}) {
        auto out = pattern(size, static_cast<unsigned>(process.world_rank));
        std::vector<uint8_t> in(size);
        core::Request* send = nullptr;
        pml::Pml& pml = *process.channel(0).pml;
        ASSERT_EQ(
            pml.isend(bytes_of(process, out), with(process, other, 1), Mode::kSynchronous, &send),
            0);
        ASSERT_EQ(pml.recv(bytes_of(process, in), with(process, other, 1), nullptr), 0);
        EXPECT_EQ(wait(process, send), 0);
        EXPECT_EQ(in, pattern(size, static_cast<unsigned>(other))) << size;
      }
    }
  });
}

TEST_P(Protocol, TruncationKeepsWhatFits) {
  world(2).run([&](Process& process) {
    for (const size_t size : {100UL, 20000UL, 500000UL}) {
      auto data = pattern(size, 3);
      if (process.world_rank == 0) {
        ASSERT_EQ(process.channel(0).pml->send(bytes_of(process, data), with(process, 1, 0),
                                               Mode::kStandard),
                  0);
        continue;
      }
      std::vector<uint8_t> half(size / 2);
      Outcome outcome;
      EXPECT_EQ(
          process.channel(0).pml->recv(bytes_of(process, half), with(process, 0, 0), &outcome),
          MPI_ERR_TRUNCATE);
      data.resize(half.size());
      EXPECT_EQ(half, data);
    }
  });
}

TEST_P(Protocol, ToItself) {
  world(1).run([&](Process& process) {
    for (const size_t size : {0UL, 100UL, 100000UL, 1000000UL}) {
      auto out = pattern(size, 9);
      std::vector<uint8_t> in(size);
      core::Request* send = nullptr;
      ASSERT_EQ(process.channel(0).pml->isend(bytes_of(process, out), with(process, 0, 2),
                                              Mode::kStandard, &send),
                0);
      ASSERT_EQ(process.channel(0).pml->recv(bytes_of(process, in),
                                             with(process, MPI_ANY_SOURCE, 2), nullptr),
                0);
      EXPECT_EQ(wait(process, send), 0);
      EXPECT_EQ(in, out);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Ways, Protocol, testing::Values("auto", "pipeline", "pull", "both"));

TEST(PointToPoint, MessagesOfOneEnvelopeKeepTheirOrder) {
  constexpr int kMessages = 5000;
  World(2).run([](Process& process) {
    core::Datatype& type = core::predefined_type(process, MPI_INT);
    for (int i = 0; i < kMessages; ++i) {
      int value = process.world_rank == 0 ? i : -1;
      const Buffer buffer{&value, 1, &type};
      if (process.world_rank == 0) {
        ASSERT_EQ(process.channel(0).pml->send(buffer, with(process, 1, 0), Mode::kStandard), 0);
      } else {
        ASSERT_EQ(process.channel(0).pml->recv(buffer, with(process, 0, 0), nullptr), 0);
        ASSERT_EQ(value, i);
      }
    }
  });
}

TEST(PointToPoint, UnexpectedMessagesAreFoundByTagBackwards) {
  constexpr int kMessages = 3000;
  World(2).run([](Process& process) {
    core::Datatype& type = core::predefined_type(process, MPI_INT);
    if (process.world_rank == 0) {
      for (int tag = 0; tag < kMessages; ++tag)
        ASSERT_EQ(
            process.channel(0).pml->send({&tag, 1, &type}, with(process, 1, tag), Mode::kStandard),
            0);
      return;
    }
    for (int tag = kMessages - 1; tag >= 0; --tag) {
      int value = -1;
      ASSERT_EQ(process.channel(0).pml->recv({&value, 1, &type}, with(process, 0, tag), nullptr),
                0);
      ASSERT_EQ(value, tag);
    }
  });
}

TEST(PointToPoint, WildcardsTakeTheEarliestOfEachSource) {
  World(4).run([](Process& process) {
    core::Datatype& type = core::predefined_type(process, MPI_INT);
    if (process.world_rank != 0) {
      for (int i = 0; i < 100; ++i)
        ASSERT_EQ(
            process.channel(0).pml->send({&i, 1, &type}, with(process, 0, i % 3), Mode::kStandard),
            0);
      return;
    }
    std::vector<int> next(4, 0);
    for (int i = 0; i < 300; ++i) {
      int value = -1;
      Outcome outcome;
      ASSERT_EQ(process.channel(0).pml->recv({&value, 1, &type},
                                             with(process, MPI_ANY_SOURCE, MPI_ANY_TAG), &outcome),
                0);
      const auto source = static_cast<size_t>(outcome.source);
      ASSERT_EQ(value, next[source]++);
      ASSERT_EQ(outcome.tag, value % 3);
    }
  });
}

TEST(PointToPoint, SynchronousSendEndsOnlyWhenMatched) {
  World(2).run([](Process& process) {
    core::Datatype& type = core::predefined_type(process, MPI_INT);
    int value = 4, go = 0;
    if (process.world_rank == 0) {
      core::Request* send = nullptr;
      ASSERT_EQ(process.channel(0).pml->isend({&value, 1, &type}, with(process, 1, 0),
                                              Mode::kSynchronous, &send),
                0);
      for (int i = 0; i < 100; ++i) process.channel(0).progress.poll();
      EXPECT_FALSE(send->done());
      ASSERT_EQ(process.channel(0).pml->send({&go, 1, &type}, with(process, 1, 1), Mode::kStandard),
                0);
      EXPECT_EQ(wait(process, send), 0);
    } else {
      ASSERT_EQ(process.channel(0).pml->recv({&go, 1, &type}, with(process, 0, 1), nullptr), 0);
      ASSERT_EQ(process.channel(0).pml->recv({&value, 1, &type}, with(process, 0, 0), nullptr), 0);
    }
  });
}

TEST(PointToPoint, ManySendsThatFindNoRoomKeepTheirOrder) {
  constexpr int kMessages = 2000;
  World(2).run([](Process& process) {
    std::vector<std::vector<uint8_t>> data;
    std::vector<core::Request*> sends;
    for (int i = 0; i < kMessages; ++i)
      data.push_back(pattern(process.world_rank == 0 ? 4000 : 0, static_cast<unsigned>(i)));
    if (process.world_rank == 0) {
      for (auto& message : data) {
        core::Request* send = nullptr;
        ASSERT_EQ(process.channel(0).pml->isend(bytes_of(process, message), with(process, 1, 0),
                                                Mode::kStandard, &send),
                  0);
        sends.push_back(send);
      }
      for (core::Request* send : sends) EXPECT_EQ(wait(process, send), 0);
      return;
    }
    for (int i = 0; i < kMessages; ++i) {
      std::vector<uint8_t> in(4000);
      ASSERT_EQ(process.channel(0).pml->recv(bytes_of(process, in), with(process, 0, 0), nullptr),
                0);
      ASSERT_EQ(in, pattern(4000, static_cast<unsigned>(i)));
    }
  });
}

TEST(PointToPoint, ProbeSeesWhatTheReceiveTakes) {
  World(2).run([](Process& process) {
    for (const size_t size : {10UL, 100000UL}) {
      auto data = pattern(size, 1);
      if (process.world_rank == 0) {
        ASSERT_EQ(process.channel(0).pml->send(bytes_of(process, data), with(process, 1, 8),
                                               Mode::kStandard),
                  0);
        continue;
      }
      Outcome outcome;
      ASSERT_EQ(process.channel(0).pml->probe(with(process, MPI_ANY_SOURCE, MPI_ANY_TAG), &outcome),
                0);
      EXPECT_EQ(outcome.bytes, static_cast<MPI_Count>(size));
      EXPECT_EQ(outcome.tag, 8);
      std::vector<uint8_t> in(size);
      ASSERT_EQ(process.channel(0).pml->recv(bytes_of(process, in), with(process, 0, 8), nullptr),
                0);
      EXPECT_EQ(in, data);
    }
  });
}

TEST(PointToPoint, ARankThatComputesStopsNoLargeMessageToAnother) {
  constexpr int kEager = 100;
  std::atomic<bool> arrived = false;
  World(3, {{"TERN_SM_SINGLE_COPY", "pipeline"}}).run([&](Process& process) {
    pml::Pml& pml = *process.channel(0).pml;
    auto large = pattern(1000000, 3), small = pattern(4000, 5);
    if (process.world_rank == 1) {
      ASSERT_EQ(pml.recv(bytes_of(process, large), with(process, 0, 1), nullptr), 0);
      arrived = true;
    } else if (process.world_rank == 2) {
      for (int i = 0; i < 500 && !arrived; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      EXPECT_TRUE(arrived);
      for (int i = 0; i < kEager; ++i)
        ASSERT_EQ(pml.recv(bytes_of(process, small), with(process, 0, 2), nullptr), 0);
    } else {
      std::vector<core::Request*> sends(kEager);
      for (core::Request*& send : sends)
        ASSERT_EQ(pml.isend(bytes_of(process, small), with(process, 2, 2), Mode::kStandard, &send),
                  0);
      ASSERT_EQ(pml.send(bytes_of(process, large), with(process, 1, 1), Mode::kStandard), 0);
      for (core::Request* send : sends) ASSERT_EQ(wait(process, send), 0);
    }
  });
}

TEST(PointToPoint, CancelledReceiveTakesNothing) {
  World(2).run([](Process& process) {
    core::Datatype& type = core::predefined_type(process, MPI_INT);
    int value = 1, wrong = -1;
    if (process.world_rank == 0) {
      ASSERT_EQ(process.channel(0).pml->recv({&value, 1, &type}, with(process, 1, 9), nullptr), 0);
      value = 42;
      ASSERT_EQ(
          process.channel(0).pml->send({&value, 1, &type}, with(process, 1, 0), Mode::kStandard),
          0);
      return;
    }
    core::Request* receive = nullptr;
    ASSERT_EQ(process.channel(0).pml->irecv({&wrong, 1, &type}, with(process, 0, 0), &receive), 0);
    EXPECT_TRUE(receive->cancel());
    EXPECT_TRUE(receive->outcome.cancelled);
    EXPECT_EQ(wait(process, receive), 0);
    ASSERT_EQ(
        process.channel(0).pml->send({&value, 1, &type}, with(process, 0, 9), Mode::kStandard), 0);
    ASSERT_EQ(process.channel(0).pml->recv({&value, 1, &type}, with(process, 0, 0), nullptr), 0);
    EXPECT_EQ(value, 42);
    EXPECT_EQ(wrong, -1);
  });
}

TEST(PointToPoint, ThreadsOfOneRankSendAndReceiveAtOnce) {
  constexpr int kThreads = 3, kMessages = 300;
  World(2, {}, core::ThreadLevel::kMultiple).run([](Process& process) {
    std::vector<std::thread> threads;
    for (int tag = 0; tag < kThreads; ++tag)
      threads.emplace_back([&process, tag] {
        const int other = 1 - process.world_rank;
        for (int i = 0; i < kMessages; ++i) {
          auto out = pattern(static_cast<size_t>(i) * 40, static_cast<unsigned>(tag));
          std::vector<uint8_t> in(out.size());
          core::Request* receive = nullptr;
          ASSERT_EQ(process.channel(0).pml->irecv(bytes_of(process, in), with(process, other, tag),
                                                  &receive),
                    0);
          ASSERT_EQ(process.channel(0).pml->send(bytes_of(process, out), with(process, other, tag),
                                                 Mode::kStandard),
                    0);
          ASSERT_EQ(wait(process, receive), 0);
          ASSERT_EQ(in, out);
        }
      });
    for (std::thread& thread : threads) thread.join();
  });
}

}  // namespace
}  // namespace tern::test
