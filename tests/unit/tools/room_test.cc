// SPDX-License-Identifier: Apache-2.0
// Room for ranks: errors with numbers and cure. Limits of the machine, and of cgroups v1 and v2.
#include "tools/mpirun/room.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace {

using tern::mpirun::lack_in_words;
using tern::mpirun::Room;
using tern::mpirun::room_here;
namespace fs = std::filesystem;

constexpr std::int64_t kMiB = 1024 * 1024;

TEST(RoomForRanks, AMachineWithoutLimitsHasRoom) {
  EXPECT_EQ(lack_in_words(Room(), 1000000, 2), "");
}

TEST(RoomForRanks, EachLackIsNamedWithItsNumbersAndItsCure) {
  const struct {
    std::int64_t Room::*limit;
    std::int64_t enough;
    const char *words, *cure;
  } cases[] = {
      {&Room::descriptors, 308, "308 descriptors in mpirun, but ulimit -Hn allows 307",
       "ulimit -Hn"},
      {&Room::user_processes, 102,
       "102 processes, mpirun and its guard included, but ulimit -u "
       "allows this user 101",
       "ulimit -u"},
      {&Room::system_processes, 102, "but this system has 101", "kernel.pid_max"},
      {&Room::group_processes, 102, "but the job's cgroup has room for 101", "pids.max"},
      {&Room::memory, 50 * kMiB, "50 MiB of memory at least, but this machine has 49 MiB free",
       "more memory"},
      {&Room::group_memory, 50 * kMiB, "but the job's cgroup has 49 MiB", "memory.max"},
  };
  for (const auto& one : cases) {
    Room room;
    room.*one.limit = one.enough;
    EXPECT_EQ(lack_in_words(room, 100, 2), "") << one.words;
    room.*one.limit = one.enough - 1;
    const std::string words = lack_in_words(room, 100, 2);
    EXPECT_EQ(words.find("100 ranks need "), 0U) << words;
    EXPECT_NE(words.find(one.words), std::string::npos) << words;
    EXPECT_NE(words.find(std::string("Cure: ")), std::string::npos) << words;
    EXPECT_NE(words.find(one.cure, words.find("Cure: ")), std::string::npos) << words;
  }
}

TEST(RoomForRanks, RanksWithoutPipesNeedFewerDescriptors) {
  Room room;
  room.descriptors = 108;
  EXPECT_EQ(lack_in_words(room, 100, 0), "");
  EXPECT_NE(lack_in_words(room, 101, 0), "");
}

class FakeMachine : public ::testing::Test {
 protected:
  FakeMachine() {
    char name[] = "/tmp/tern_room_XXXXXX";
    root_ = ::mkdtemp(name);
    write("/proc/meminfo", "MemTotal: 4000 kB\nMemAvailable:    2000 kB\nSwapFree:  48 kB\n");
    write("/proc/sys/kernel/pid_max", "32768\n");
    write("/proc/sys/kernel/threads-max", "1000\n");
  }
  ~FakeMachine() override { fs::remove_all(root_); }
  void write(const std::string& path, const std::string& text) const {
    fs::create_directories(fs::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  std::string root_;
};

TEST_F(FakeMachine, ItsMemoryAndProcesses) {
  const Room room = room_here(root_);
  EXPECT_EQ(room.memory, 2048 * 1024);
  EXPECT_EQ(room.system_processes, 1000);
  EXPECT_EQ(room.group_processes, Room::kNone);
  EXPECT_EQ(room.group_memory, Room::kNone);
}

TEST_F(FakeMachine, TheTightestOfNestedCgroups) {
  write("/proc/self/cgroup", "0::/outer/inner\n");
  write("/sys/fs/cgroup/outer/inner/pids.max", "max\n");
  write("/sys/fs/cgroup/outer/inner/pids.current", "1\n");
  write("/sys/fs/cgroup/outer/pids.max", "100\n");
  write("/sys/fs/cgroup/outer/pids.current", "30\n");
  write("/sys/fs/cgroup/outer/inner/memory.max", "1000\n");
  write("/sys/fs/cgroup/outer/memory.max", "2000\n");
  const Room room = room_here(root_);
  EXPECT_EQ(room.group_processes, 70);
  EXPECT_EQ(room.group_memory, 1000);
}

TEST_F(FakeMachine, CgroupsOfVersionOne) {
  write("/proc/self/cgroup", "5:cpu,cpuacct:/a\n8:pids:/p\n4:memory:/m\n0::/\n");
  write("/sys/fs/cgroup/pids/p/pids.max", "10\n");
  write("/sys/fs/cgroup/pids/p/pids.current", "20\n");
  write("/sys/fs/cgroup/memory/m/memory.limit_in_bytes", "5000\n");
  const Room room = room_here(root_);
  EXPECT_EQ(room.group_processes, 0);
  EXPECT_EQ(room.group_memory, 5000);
}

TEST_F(FakeMachine, ABareMachineHasNoLimits) {
  fs::remove_all(root_ + "/proc");
  const Room room = room_here(root_);
  EXPECT_EQ(room.memory, Room::kNone);
  EXPECT_EQ(room.system_processes, Room::kNone);
  EXPECT_EQ(lack_in_words(room, 10, 2), "");
}

}  // namespace
