// SPDX-License-Identifier: Apache-2.0
// Small messages in a fixed order, for instruction counts: every message arrives before its receive
// looks, and counted functions never wait.
// Usage, in the build tree (4000 messages of 8 bytes):
//   valgrind --tool=callgrind --callgrind-out-file=OUT --toggle-collect='*counted_send*'
//     --toggle-collect='*counted_receive*' tests/unit/pml/small_messages_test --gtest_filter='*Way'
// with a WAY of Blocking, Posted, Unexpected, Synchronous.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "tests/unit/world.hpp"

namespace tern::test {
namespace {

using core::Process;
using pml::Buffer;
using pml::Envelope;
using pml::Mode;

constexpr int kRounds = 500, kWindow = 8, kInts = 2;

class Turns {
 public:
  void wait_for(int turn) const {
    while (now_.load() != turn) std::this_thread::yield();
  }
  void next() { ++now_; }

 private:
  std::atomic<int> now_{0};
};

struct Ends {
  pml::Pml& pml;
  core::Progress& progress;
  Envelope envelope;
};

Ends ends_of(Process& process, int tag) {
  core::Channel& channel = process.channel(0);
  return {*channel.pml, channel.progress, {process.world, 1 - process.world_rank, tag}};
}

bool all_done(const std::vector<core::Request*>& requests) {
  for (const core::Request* request : requests)
    if (!request->done()) return false;
  return true;
}

void end(std::vector<core::Request*>* requests) {
  for (core::Request* request : *requests) {
    EXPECT_EQ(request->outcome.error, MPI_SUCCESS);
    request->release();
  }
  requests->clear();
}

void poll(const Ends& ends) {
  const core::ChannelLock lock(ends.progress);
  static_cast<void>(ends.progress.poll());
}

}  // namespace

// valgrind finds functions by name.
__attribute__((noinline)) int counted_send(const Ends& to, const Buffer& buffer) {
  return to.pml.send(buffer, to.envelope, Mode::kStandard);
}
__attribute__((noinline)) int counted_receive(const Ends& from, const Buffer& buffer) {
  core::Outcome outcome;
  return from.pml.recv(buffer, from.envelope, &outcome);
}
__attribute__((noinline)) void counted_send_started(const Ends& to, const Buffer& buffer, Mode mode,
                                                    std::vector<core::Request*>* requests) {
  core::Request* request = nullptr;
  ASSERT_EQ(to.pml.isend(buffer, to.envelope, mode, &request), MPI_SUCCESS);
  requests->push_back(request);
}
__attribute__((noinline)) void counted_receive_started(const Ends& from, const Buffer& buffer,
                                                       std::vector<core::Request*>* requests) {
  core::Request* request = nullptr;
  ASSERT_EQ(from.pml.irecv(buffer, from.envelope, &request), MPI_SUCCESS);
  requests->push_back(request);
}
__attribute__((noinline)) void counted_receive_ended(const Ends& ends,
                                                     std::vector<core::Request*>* requests) {
  while (!all_done(*requests)) poll(ends);
  end(requests);
}
__attribute__((noinline)) void counted_receive_polled(const Ends& ends) { poll(ends); }

namespace {

struct Way {
  Mode mode = Mode::kStandard;
  bool blocking = false, posted = false;
};

// Receives are posted before or after the send. Ranks act in turn.
void exchange(const Way& way) {
  Turns turns;
  World(2).run([&](Process& process) {
    const Ends ends = ends_of(process, 3);
    core::Datatype& type = core::predefined_type(process, MPI_INT);
    std::vector<std::vector<int>> data(kWindow, std::vector<int>(kInts));
    const auto buffer = [&](int i) {
      return Buffer{data[static_cast<size_t>(i)].data(), kInts, &type, cuda::MemoryKind::kHost};
    };
    std::vector<core::Request*> requests;
    const auto start_receives = [&] {
      for (int i = 0; i < kWindow; ++i) counted_receive_started(ends, buffer(i), &requests);
    };
    for (int round = 0; round < kRounds; ++round) {
      const int turn = round * 3;
      if (process.world_rank == 1) {
        turns.wait_for(turn);
        if (way.posted) start_receives();
        turns.next();
        turns.wait_for(turn + 2);
        if (way.blocking) {
          for (int i = 0; i < kWindow; ++i)
            ASSERT_EQ(counted_receive(ends, buffer(i)), MPI_SUCCESS);
        } else {
          if (!way.posted) {
            counted_receive_polled(ends);
            start_receives();
          }
          counted_receive_ended(ends, &requests);
        }
        for (int i = 0; i < kWindow; ++i) ASSERT_EQ(data[static_cast<size_t>(i)].back(), round + i);
        turns.next();
        continue;
      }
      turns.wait_for(turn + 1);
      for (int i = 0; i < kWindow; ++i) {
        data[static_cast<size_t>(i)].back() = round + i;
        if (way.blocking)
          ASSERT_EQ(counted_send(ends, buffer(i)), MPI_SUCCESS);
        else
          counted_send_started(ends, buffer(i), way.mode, &requests);
      }
      turns.next();
      while (!all_done(requests)) poll(ends);
      end(&requests);
    }
  });
}

TEST(SmallMessages, Blocking) { exchange({.blocking = true}); }
TEST(SmallMessages, Posted) { exchange({.posted = true}); }
TEST(SmallMessages, Unexpected) { exchange({}); }
TEST(SmallMessages, Synchronous) { exchange({.mode = Mode::kSynchronous, .posted = true}); }

}  // namespace
}  // namespace tern::test
