// SPDX-License-Identifier: Apache-2.0
// Cores and nodes of a fake machine.
#include "topo/cpus.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace tern::topo {
namespace {

class FakeMachine {
 public:
  FakeMachine() {
    char name[] = "/tmp/tern-cpus-test.XXXXXX";
    root_ = ::mkdtemp(name);
  }
  ~FakeMachine() { std::filesystem::remove_all(root_); }
  void file(const std::string& path, const std::string& text) const {
    const auto full = root_ / path;
    std::filesystem::create_directories(full.parent_path());
    std::ofstream(full) << text;
  }
  [[nodiscard]] std::string root() const { return root_.string(); }

 private:
  std::filesystem::path root_;
};

TEST(CpuLists, ThereAndBack) {
  EXPECT_EQ(parse_cpu_list("0-3,8,10-11\n"), (std::vector<int>{0, 1, 2, 3, 8, 10, 11}));
  EXPECT_EQ(parse_cpu_list("7"), (std::vector<int>{7}));
  EXPECT_TRUE(parse_cpu_list("").empty());
  EXPECT_TRUE(parse_cpu_list("no list").empty());
  EXPECT_EQ(format_cpu_list({11, 10, 8, 0, 1, 2, 3}), "0-3,8,10-11");
  EXPECT_EQ(format_cpu_list({}), "");
}

TEST(AllowedCores, ThisMachine) {
  const auto cores = allowed_cores();
  ASSERT_FALSE(cores.empty());
  std::size_t cpus = 0;
  for (const Core& core : cores) cpus += core.cpus.size();
  EXPECT_EQ(static_cast<int>(cpus), allowed_cpu_count());
  EXPECT_GE(current_place().cpu, 0);
  EXPECT_FALSE(host_name().empty());
}

TEST(AllowedCores, TwoThreadsOfOneCore) {
  if (allowed_cores().size() < 2 || allowed_cores()[1].cpus.front() != 1)
    GTEST_SKIP() << "processors 0 and 1 are not ours";
  const FakeMachine machine;
  machine.file("devices/system/cpu/smt/active", "1\n");
  machine.file("devices/system/cpu/cpu0/topology/thread_siblings_list", "0-1\n");
  machine.file("devices/system/cpu/cpu1/topology/thread_siblings_list", "0-1\n");
  const auto cores = allowed_cores(machine.root());
  EXPECT_EQ(cores[0].cpus, (std::vector<int>{0, 1}));
}

TEST(AllowedCores, OrderedByNode) {
  if (allowed_cores().size() < 2 || allowed_cores()[1].cpus.front() != 1)
    GTEST_SKIP() << "processors 0 and 1 are not ours";
  const FakeMachine machine;
  machine.file("devices/system/cpu/smt/active", "0\n");
  machine.file("devices/system/node/online", "0-1\n");
  machine.file("devices/system/node/node0/cpulist", "1\n");
  machine.file("devices/system/node/node1/cpulist", "0,2-512\n");
  const auto cores = allowed_cores(machine.root());
  EXPECT_EQ(cores[0].cpus, (std::vector<int>{1}));
  EXPECT_EQ(cores[0].numa, 0);
  EXPECT_EQ(cores[1].cpus, (std::vector<int>{0}));
  EXPECT_EQ(cores[1].numa, 1);
  EXPECT_EQ(allowed_numa(machine.root()), -1);
  machine.file("devices/system/node/node0/cpulist", "512\n");
  machine.file("devices/system/node/node1/cpulist", "0-511\n");
  EXPECT_EQ(allowed_numa(machine.root()), 1);
  machine.file("devices/system/node/online", "0\n");
  EXPECT_EQ(allowed_numa(machine.root()), -1);
}

}  // namespace
}  // namespace tern::topo
