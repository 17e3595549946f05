// SPDX-License-Identifier: Apache-2.0
// A core held by a job is not taken by another job.
#include "topo/core_hold.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

namespace tern::topo {
namespace {

class Holds : public ::testing::Test {
 protected:
  Holds() {
    char name[] = "/tmp/tern-hold-test.XXXXXX";
    root = ::mkdtemp(name);
    for (int cpu = 0; cpu < 4; ++cpu)
      std::filesystem::create_directories(root + "/devices/system/cpu/cpu" + std::to_string(cpu));
  }
  ~Holds() override { std::filesystem::remove_all(root); }
  std::string root;
  const std::vector<Core> cores = {{{0, 1}, 0}, {{2}, 0}, {{3}, 0}};
};

TEST_F(Holds, OneAtATime) {
  CoreHold first(root), second(root);
  EXPECT_EQ(first.take(cores).size(), 3u);
  EXPECT_TRUE(second.take(cores).empty());
  first.release();
  EXPECT_EQ(second.take(cores).size(), 3u);
}

TEST_F(Holds, OneThreadOfACoreHoldsIt) {
  CoreHold first(root), second(root);
  EXPECT_EQ(first.take({{{1}, 0}}).size(), 1u);
  const auto free = second.take(cores);
  ASSERT_EQ(free.size(), 2u);
  EXPECT_EQ(free[0].cpus.front(), 2);
  CoreHold third(root);
  EXPECT_EQ(third.take({{{0}, 0}}).size(), 1u) << "a core taken by half is given back";
}

TEST_F(Holds, WhatIsNotKeptIsFree) {
  CoreHold first(root), second(root);
  EXPECT_EQ(first.take(cores).size(), 3u);
  first.keep({0, 1});
  EXPECT_EQ(second.take(cores).size(), 2u);
}

TEST_F(Holds, AKilledHolderLetsGo) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    CoreHold theirs(root);
    const char taken = static_cast<char>(theirs.take(cores).size());
    if (::write(ready[1], &taken, 1) == 1) ::pause();
    ::_exit(1);
  }
  char taken = 0;
  ASSERT_EQ(::read(ready[0], &taken, 1), 1);
  EXPECT_EQ(taken, 3);
  CoreHold ours(root);
  EXPECT_TRUE(ours.take(cores).empty());
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(ours.take(cores).size(), 3u);
}

TEST_F(Holds, ProcessorsWithoutAFolderAreFree) {
  CoreHold first(root), second(root);
  EXPECT_EQ(first.take({{{77}, 0}}).size(), 1u);
  EXPECT_EQ(second.take({{{77}, 0}}).size(), 1u);
}

TEST_F(Holds, TheKernelsOwnFoldersCanBeLocked) {
  // Other processes may hold cores too.
  CoreHold first, second;
  const auto mine = first.take(allowed_cores());
  EXPECT_TRUE(second.take(mine).empty());
}

}  // namespace
}  // namespace tern::topo
