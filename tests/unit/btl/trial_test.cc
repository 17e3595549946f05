// SPDX-License-Identifier: Apache-2.0
// Trials of transports: each has a verdict, and a cure if the transport fails.
#include "btl/transport.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>

#include <csignal>

#include "btl/sm/sm.hpp"

namespace tern::btl {
namespace {

TEST(Trial, EveryTransportIsTriedAndSaysWhatItDid) {
  const std::vector<Trial> trials = try_transports();
  ASSERT_EQ(trials.size(), 5u);
  EXPECT_EQ(trials[0].name, "self");
  EXPECT_EQ(trials[1].name, "sm");
  EXPECT_EQ(trials[2].name, "sm single copy");
  EXPECT_EQ(trials[3].name, "ucx");
  EXPECT_EQ(trials[4].name, "ofi");
  for (const Trial& trial : trials) {
    EXPECT_FALSE(trial.finding.empty()) << trial.name;
    EXPECT_FALSE(trial.reaches.empty()) << trial.name;
    EXPECT_EQ(trial.works, trial.cure.empty()) << trial.name;
  }
  EXPECT_TRUE(trials[0].works);
  EXPECT_TRUE(trials[1].works) << trials[1].finding;
}

// RLIMIT_FSIZE also limits memory files.
std::vector<Trial> try_with_files_of(rlim_t bytes) {
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{bytes, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  std::vector<Trial> trials = sm::try_here();
  ::setrlimit(RLIMIT_FSIZE, &before);
  return trials;
}

TEST(Trial, WithoutMemoryFilesSharedMemoryIsRefusedWithTheReason) {
  const std::vector<Trial> trials = try_with_files_of(4096);
  ASSERT_EQ(trials.size(), 2u);
  EXPECT_FALSE(trials[0].works);
  EXPECT_NE(trials[0].finding.find("File too large"), std::string::npos) << trials[0].finding;
  EXPECT_FALSE(trials[0].cure.empty());
  EXPECT_FALSE(trials[1].works);
  EXPECT_NE(trials[1].finding.find("not tried"), std::string::npos);
}

bool children_die = false;

TEST(Trial, AProcessThatDiesIsReported) {
  ::pthread_atfork(nullptr, nullptr, [] {
    if (children_die) ::raise(SIGKILL);
  });
  children_die = true;
  const std::vector<Trial> trials = sm::try_here();
  children_die = false;
  EXPECT_FALSE(trials[0].works);
  EXPECT_NE(trials[0].finding.find("killed by signal"), std::string::npos) << trials[0].finding;
  EXPECT_FALSE(trials[1].works);
}

}  // namespace
}  // namespace tern::btl
