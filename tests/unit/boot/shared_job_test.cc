// SPDX-License-Identifier: Apache-2.0
// mpirun's shared memory: limits, and rejection of garbage.
#include "boot/shared_job.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <random>

#include "base/error.hpp"

namespace tern::boot {
namespace {

struct Memory {
  explicit Memory(int size)
      : bytes(SharedJob::bytes_for(size)),
        fd(make_memfd("test", bytes)),
        job(SharedJob::create(fd.get(), {size, 2 * size, 99, 5, "job"})) {}
  std::size_t bytes;
  Fd fd;
  SharedJob job;
};

TEST(SharedJob, FactsReachTheRanks) {
  const Memory memory(3);
  const SharedJob rank = SharedJob::attach(memory.fd.get());
  ASSERT_TRUE(rank.valid());
  const auto facts = rank.facts();
  EXPECT_EQ(facts.size, 3);
  EXPECT_EQ(facts.universe_size, 6);
  EXPECT_EQ(facts.server_pid, 99);
  EXPECT_EQ(facts.event_fd, 5);
  EXPECT_EQ(facts.id, "job");
}

TEST(SharedJob, KnownWorldsAndTheCrowd) {
  const Memory memory(2);
  const KnownWorlds& worlds = memory.job.worlds;
  EXPECT_FALSE(worlds.has(0, 7));
  worlds.set(0, {});
  EXPECT_FALSE(worlds.has_met(0));
  worlds.set(0, {7, 8});
  EXPECT_TRUE(worlds.has_met(0));
  EXPECT_TRUE(worlds.has(0, 7));
  EXPECT_TRUE(worlds.has(0, 8));
  EXPECT_FALSE(worlds.has(0, 9));
  EXPECT_FALSE(worlds.has(0, 0)) << "an empty place is no world";
  EXPECT_FALSE(worlds.has(1, 7));
  worlds.set(0, {1, 2, 3, 4});
  EXPECT_TRUE(worlds.has(0, 9)) << "more worlds than places";
  worlds.set(0, {});
  EXPECT_FALSE(worlds.has(0, 1));
  EXPECT_TRUE(worlds.has_met(0));
  EXPECT_FALSE(worlds.has_met(1));
  worlds.set_crowd(5);
  EXPECT_EQ(SharedJob::attach(memory.fd.get()).worlds.crowd(), 5);
}

TEST(SharedJob, OtherDescriptorsAreNotJobs) {
  EXPECT_FALSE(SharedJob::attach(-1).valid());
  const Fd null(::open("/dev/null", O_RDWR));
  EXPECT_FALSE(SharedJob::attach(null.get()).valid());
  const Fd zeros = make_memfd("zeros", 1 << 20);
  EXPECT_FALSE(SharedJob::attach(zeros.get()).valid());
  const Fd directory(::open("/usr", O_RDONLY));
  EXPECT_FALSE(SharedJob::attach(directory.get()).valid());
  const Fd program(::open("/proc/self/exe", O_RDONLY));
  EXPECT_FALSE(SharedJob::attach(program.get()).valid());
  const Memory memory(2);
  const Fd for_reading(::open(strf("/proc/self/fd/%d", memory.fd.get()).c_str(), O_RDONLY));
  EXPECT_FALSE(SharedJob::attach(for_reading.get()).valid());
}

TEST(SharedJob, ARankBelongsToOneProcessUntilThatHasEnded) {
  Memory memory(2);
  const pid_t own = ::getpid(), parent = ::getppid();
  EXPECT_TRUE(memory.job.may_claim(0, own));
  EXPECT_TRUE(memory.job.claim(0, own));
  EXPECT_TRUE(memory.job.claim(0, own));
  EXPECT_FALSE(memory.job.may_claim(0, parent));
  EXPECT_FALSE(memory.job.claim(0, parent));
  EXPECT_TRUE(memory.job.claim(1, parent));
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  siginfo_t how{};
  ::waitid(P_PID, static_cast<id_t>(child), &how, WEXITED | WNOWAIT);
  Memory other(1);
  EXPECT_TRUE(other.job.claim(0, child));
  EXPECT_TRUE(other.job.claim(0, own));
  ::waitpid(child, nullptr, 0);
}

TEST(SharedJob, StatesAndTheFirstAbort) {
  Memory memory(2);
  EXPECT_EQ(memory.job.state(1), RankState::kStarted);
  memory.job.set_state(1, RankState::kInitialised);
  EXPECT_EQ(memory.job.state(1), RankState::kInitialised);
  EXPECT_EQ(memory.job.abort().rank, -1);
  memory.job.record_abort(1, 7, std::string(2000, 'x'));
  memory.job.record_abort(0, 8, "later");
  const auto abort = memory.job.abort();
  EXPECT_EQ(abort.rank, 1);
  EXPECT_EQ(abort.code, 7);
  EXPECT_LT(abort.text.size(), 600u);
  EXPECT_EQ(memory.job.state(0), RankState::kAborted);
}

TEST(SharedJob, AFullHeapIsAnErrorAndKeepsWhatWasThere) {
  Memory memory(1);
  memory.job.put(0, "first", "value");
  const std::string block(60000, 'b');
  EXPECT_THROW(for (int i = 0; i < 1000; ++i) memory.job.put(0, strf("key %d", i), block), Error);
  std::string value;
  EXPECT_TRUE(memory.job.get(0, "first", &value));
  EXPECT_EQ(value, "value");
  EXPECT_TRUE(memory.job.get(0, "key 0", &value));
  EXPECT_EQ(value, block);
}

TEST(SharedJob, GarbageIsNeverFollowed) {
  Memory memory(4);
  for (int rank = 0; rank < 4; ++rank)
    for (int i = 0; i < 8; ++i) memory.job.put(rank, strf("key %d", i), "some value");
  const SharedJob victim = SharedJob::attach(memory.fd.get());
  const Mapping raw = Mapping::shared(memory.fd.get(), memory.bytes);
  std::mt19937 random(4711);
  const std::size_t used = 16384;
  for (int round = 0; round < 20000; ++round) {
    std::uint32_t word = static_cast<std::uint32_t>(random());
    if (round % 3 == 0) word %= static_cast<std::uint32_t>(memory.bytes);
    if (round % 3 == 1) word = word % static_cast<std::uint32_t>(memory.bytes) / 8 * 8;
    std::memcpy(raw.data() + random() % (used / 4) * 4, &word, sizeof word);
    std::string value;
    (void)victim.get(round % 4, strf("key %d", round % 9), &value);
    EXPECT_LE(value.size(), memory.bytes);
    (void)victim.abort();
    (void)victim.facts();
    (void)SharedJob::attach(memory.fd.get()).valid();
  }
}

}  // namespace
}  // namespace tern::boot
