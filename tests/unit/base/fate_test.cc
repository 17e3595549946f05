// SPDX-License-Identifier: Apache-2.0
// Fate: the first reason wins, also among threads and without free memory.
#include "base/fate.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "mpi.h"

namespace {
thread_local bool has_memory = true;
}

void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  if (!has_memory) return nullptr;
  try {
    return ::operator new(bytes);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

namespace tern {
namespace {

TEST(Fate, IsAliveAtFirst) {
  const Fate fate;
  EXPECT_FALSE(fate.dead());
  EXPECT_EQ(fate.code(), MPI_SUCCESS);
  EXPECT_STREQ(fate.why(), "");
  EXPECT_FALSE(fate.reason());
  EXPECT_EQ(fate.fail(), MPI_SUCCESS);
}

TEST(Fate, KeepsTheFirstReason) {
  Fate fate;
  EXPECT_TRUE(fate.end(failure(MPI_ERR_PROC_ABORTED, "rank %d is lost", 3)));
  EXPECT_FALSE(fate.end(failure(MPI_ERR_OTHER, "rank 4 is lost")));
  EXPECT_TRUE(fate.dead());
  EXPECT_EQ(fate.code(), MPI_ERR_PROC_ABORTED);
  EXPECT_STREQ(fate.why(), "rank 3 is lost");
  EXPECT_EQ(fate.reason().code, MPI_ERR_PROC_ABORTED);
  EXPECT_EQ(fate.reason().text, "rank 3 is lost");
  EXPECT_EQ(fate.fail(), MPI_ERR_PROC_ABORTED);
  EXPECT_EQ(take_last_error().text, "rank 3 is lost");
}

TEST(Fate, IsTakenOnce) {
  Fate fate;
  EXPECT_FALSE(fate.take());
  EXPECT_TRUE(fate.end(failure(MPI_ERR_OTHER, "first")));
  const Failure first = fate.take();
  EXPECT_EQ(first.code, MPI_ERR_OTHER);
  EXPECT_EQ(first.text, "first");
  EXPECT_FALSE(fate.dead());
  EXPECT_TRUE(fate.end(failure(MPI_ERR_TYPE, "second")));
  EXPECT_EQ(fate.take().text, "second");
}

TEST(Fate, NeedsNoMemory) {
  Fate fate;
  const Failure why =
      failure(MPI_ERR_RANK, "a reason that is too long for a string without allocation");
  has_memory = false;
  EXPECT_TRUE(fate.end(why));
  EXPECT_FALSE(fate.end(failure(MPI_ERR_OTHER, "later")));
  has_memory = true;
  EXPECT_FALSE(fate.end(failure(MPI_ERR_OTHER, "later still")));
  EXPECT_EQ(fate.code(), MPI_ERR_RANK);
  EXPECT_NE(std::string(fate.why()), "");
  EXPECT_EQ(fate.take().code, MPI_ERR_RANK);
  EXPECT_FALSE(fate.dead());
}

TEST(Fate, HasAReasonForTheClassAlone) {
  Fate fate;
  EXPECT_TRUE(fate.end({MPI_ERR_OTHER, ""}));
  EXPECT_EQ(fate.code(), MPI_ERR_OTHER);
  EXPECT_NE(std::string(fate.why()), "");
}

TEST(Fate, OneOfSeveralThreadsEndsIt) {
  constexpr int kThreads = 4, kRounds = 500;
  std::vector<Fate> fates(kRounds);
  std::atomic<int> winners{0};
  std::vector<std::thread> threads;
  for (int i = 1; i <= kThreads; ++i)
    threads.emplace_back([&, i] {
      for (Fate& fate : fates) {
        if (fate.end(failure(i, "thread %d of the test has ended the object", i))) ++winners;
        EXPECT_TRUE(fate.dead());
        EXPECT_EQ(fate.why(), strf("thread %d of the test has ended the object", fate.code()));
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(winners.load(), kRounds);
}

TEST(Fate, IsTakenByOneThread) {
  constexpr int kRounds = 2000;
  Fate fate;
  std::atomic<bool> over{false};
  std::atomic<int> taken{0};
  const auto take_all = [&] {
    while (const Failure one = fate.take()) {
      EXPECT_EQ(one.text, "an error of the producing thread, to be taken once");
      ++taken;
    }
  };
  std::thread consumer([&] {
    while (!over) take_all();
    take_all();
  });
  int ended = 0;
  for (int i = 0; i < kRounds; ++i)
    ended += fate.end(failure(MPI_ERR_OTHER, "an error of the producing thread, to be taken once"));
  over = true;
  consumer.join();
  EXPECT_EQ(taken.load(), ended);
}

}  // namespace
}  // namespace tern
