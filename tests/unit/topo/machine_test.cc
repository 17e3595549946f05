// SPDX-License-Identifier: Apache-2.0
// Machines synthesized by hwloc.
#include "topo/machine.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

namespace tern::topo {
namespace {

Machine made_up(const char* description) {
  ::setenv("HWLOC_SYNTHETIC", description, 1);
  EXPECT_TRUE(machine_is_made_up());
  Machine machine = machine_by_hwloc();
  ::unsetenv("HWLOC_SYNTHETIC");
  return machine;
}

TEST(Machine, MadeUp) {
  const Machine machine = made_up("pack:2 numa:2 l3:2 core:4 pu:2");
  EXPECT_FALSE(machine.this_machine);
  ASSERT_EQ(machine.cores.size(), 32u);
  EXPECT_EQ(machine.cores[0].cpus, (std::vector<int>{0, 1}));
  const Core& last = machine.cores[31];
  EXPECT_EQ(last.cpus, (std::vector<int>{62, 63}));
  EXPECT_EQ(last.package, 1);
  EXPECT_EQ(last.numa, 3);
  EXPECT_EQ(last.l3, 7);
  EXPECT_EQ(machine.cores[4].l3, 1);
  EXPECT_EQ(machine.cores[4].numa, 0);
}

TEST(Machine, WithoutCaches) {
  const Machine machine = made_up("pack:2 core:2 pu:1");
  ASSERT_EQ(machine.cores.size(), 4u);
  EXPECT_EQ(machine.cores[3].l3, machine.cores[3].package);
  EXPECT_EQ(machine.cores[3].numa, machine.cores[0].numa);
}

TEST(Machine, ThisOneAgreesWithTheKernel) {
  if (machine_is_made_up()) GTEST_SKIP() << "hwloc's variables are set";
  const Machine machine = machine_by_hwloc();
  EXPECT_TRUE(machine.this_machine);
  std::vector<int> cpus;
  for (const Core& core : machine.cores)
    cpus.insert(cpus.end(), core.cpus.begin(), core.cpus.end());
  EXPECT_EQ(format_cpu_list(cpus), format_cpu_list(allowed_cpus()));
  EXPECT_EQ(machine.cores.size(), allowed_cores().size());
}

}  // namespace
}  // namespace tern::topo
