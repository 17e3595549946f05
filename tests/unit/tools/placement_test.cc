// SPDX-License-Identifier: Apache-2.0
// The number of ranks, and cores beside other jobs.
#include "tools/mpirun/placement.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "base/error.hpp"
#include "tools/mpirun/option_parser.hpp"

namespace tern::mpirun {
namespace {

class Placement : public ::testing::Test {
 protected:
  Placement() {
    char name[] = "/tmp/tern-placement-test.XXXXXX";
    root = ::mkdtemp(name);
    for (int cpu = 0; cpu < 4; ++cpu) {
      std::filesystem::create_directories(root + "/devices/system/cpu/cpu" + std::to_string(cpu));
      machine.cores.push_back({{cpu}, cpu / 2, cpu / 2, cpu / 2});
    }
    for (const char* name_of : {"SLURM_JOB_ID", "SLURM_NTASKS", "SLURM_STEP_ID"})
      ::unsetenv(name_of);
  }
  ~Placement() override { std::filesystem::remove_all(root); }
  Places place(const std::vector<std::string>& words) {
    options = parse_options(words);
    return place_on(machine, options, topo::CoreHold(root));
  }
  std::string refusal(const std::vector<std::string>& words) {
    try {
      (void)place(words);
    } catch (const Error& error) {
      return error.what();
    }
    return "(taken)";
  }

  std::string root;
  topo::Machine machine;
  Options options;
};

TEST_F(Placement, HowManyRanks) {
  const std::pair<std::vector<std::string>, int> cases[] = {
      {{"a"}, 1},
      {{"-N", "3", "a"}, 3},
      {{"-n", "2", "-N", "3", "a"}, 2},
      {{"-host", "localhost:2,localhost:3", "a"}, 5},
      {{"-host", "localhost", "a"}, 1},
      {{"--map-by", "ppr:2:numa", "a"}, 4},
      {{"--map-by", "ppr:3:node", "a"}, 3},
      {{"-n", "2", "a", ":", "b"}, 3},
  };
  for (const auto& [words, ranks] : cases) {
    (void)place(words);
    EXPECT_EQ(options.ranks(), ranks) << words[0] << " " << words.back();
  }
}

TEST_F(Placement, WorldsBesideAnother) {
  const auto beside = [&](const Places& parent, const Cpus& taken, int ranks) {
    return place_beside(parent, taken, ranks, topo::CoreHold(root)).cpus;
  };
  using All = std::vector<Cpus>;
  const Places one = place({"--bind-to", "core", "a"});
  EXPECT_EQ(one.cpus, All{{0}});
  EXPECT_EQ(beside(one, {0}, 1), All{{1}});
  EXPECT_EQ(beside(one, {0, 1}, 2), (All{{2}, {3}}));
  EXPECT_EQ(beside(one, {0}, 4), (All{{}, {}, {}, {}})) << "too few cores";
  EXPECT_EQ(beside(one, {}, 1), All{{1}}) << "core 0 is held";
  const Places unbound = place({"--bind-to", "none", "a"});
  EXPECT_EQ(beside(unbound, {}, 1), All{{}});
}

TEST_F(Placement, AWorldHoldsItsCores) {
  const Places two = place({"-n", "2", "--map-by", "slot:PE=1", "a"});
  const Places child = place_beside(two, {0, 1}, 1, topo::CoreHold(root));
  EXPECT_EQ(child.cpus, std::vector<Cpus>{{2}});
  EXPECT_EQ(place_beside(two, {0, 1}, 1, topo::CoreHold(root)).cpus, std::vector<Cpus>{{3}});
}

TEST_F(Placement, TwoCoresEach) {
  const Places parent = place({"--map-by", "slot:PE=2", "a"});
  EXPECT_EQ(place_beside(parent, parent.cpus[0], 1, topo::CoreHold(root)).cpus,
            (std::vector<Cpus>{{2, 3}}));
  EXPECT_EQ(place_beside(parent, parent.cpus[0], 2, topo::CoreHold(root)).cpus,
            (std::vector<Cpus>{{2}, {3}}));
}

TEST_F(Placement, TasksOfASlurmAllocation) {
  ::setenv("SLURM_JOB_ID", "1", 1);
  ::setenv("SLURM_NTASKS", "3", 1);
  (void)place({"a"});
  EXPECT_EQ(options.ranks(), 3);
  (void)place({"-n", "2", "a"});
  EXPECT_EQ(options.ranks(), 2);
  ::setenv("SLURM_STEP_ID", "0", 1);
  (void)place({"a"});
  EXPECT_EQ(options.ranks(), 1);
  for (const char* name : {"SLURM_JOB_ID", "SLURM_NTASKS", "SLURM_STEP_ID"}) ::unsetenv(name);
}

TEST_F(Placement, InputOfNoRank) {
  EXPECT_EQ(refusal({"-n", "2", "--stdin", "2", "a"}),
            "--stdin: \"2\" is not a rank; this job has ranks 0..1");
}

TEST_F(Placement, SharesOfFreeCores) {
  const Places first = place({"-n", "2", "--bind-to", "core", "a"});
  EXPECT_EQ(first.cpus, (std::vector<Cpus>{{0}, {1}}));
  EXPECT_TRUE(first.remark.empty());
  const Places second = place({"-n", "2", "a"});
  EXPECT_EQ(second.cpus, (std::vector<Cpus>{{2}, {3}}));
  const Places third = place({"-n", "2", "a"});
  EXPECT_EQ(third.cpus, (std::vector<Cpus>{{}, {}}));
  EXPECT_EQ(
      third.remark,
      "4 of the 4 cores are held by another mpirun; nothing is bound, and both jobs share "
      "cores (--bind-to share:overload-allowed binds ranks, --bind-to none silences this remark)");
}

TEST_F(Placement, WhatIsGivenBackIsFree) {
  { const Places first = place({"-n", "4", "a"}); }
  EXPECT_EQ(place({"-n", "4", "a"}).cpus[3], (Cpus{3}));
}

TEST_F(Placement, OneRankGetsTheRestAndHoldsNothing) {
  const Places first = place({"-n", "2", "--bind-to", "core", "a"});
  const Places second = place({"a"}), third = place({"a"});
  EXPECT_EQ(second.cpus[0], (Cpus{2, 3}));
  EXPECT_EQ(third.cpus[0], (Cpus{2, 3}));
}

TEST_F(Placement, OneRankOfAFreeMachineIsNotBound) {
  const Places first = place({"a"});
  EXPECT_TRUE(first.cpus[0].empty());
  EXPECT_EQ(place({"-n", "4", "a"}).cpus[0], (Cpus{0}));
}

TEST_F(Placement, UnboundJobsHoldNothing) {
  const Places many = place({"-n", "9", "a"}), none = place({"-n", "2", "--bind-to", "none", "a"});
  EXPECT_EQ(place({"-n", "4", "a"}).cpus[0], (Cpus{0}));
}

TEST_F(Placement, AskedForCoresAreTakenNevertheless) {
  const Places first = place({"-n", "4", "a"});
  const Places second = place({"-n", "2", "--bind-to", "core", "a"});
  EXPECT_EQ(second.cpus[1], (Cpus{1}));
  EXPECT_EQ(second.remark,
            "4 of the 4 cores are held by another mpirun; both jobs share some cores");
  EXPECT_EQ(place({"-n", "4", "--bind-to", "share:overload-allowed", "a"}).cpus[3], (Cpus{3}));
}

TEST_F(Placement, AMadeUpMachineBindsNothing) {
  machine.this_machine = false;
  const Places first = place({"-n", "4", "a"}), second = place({"-n", "4", "a"});
  EXPECT_EQ(second.cpus, first.cpus);
  EXPECT_NE(second.remark.find("nothing is bound"), std::string::npos);
}

}  // namespace
}  // namespace tern::mpirun
