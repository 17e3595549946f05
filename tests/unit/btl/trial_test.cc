// SPDX-License-Identifier: Apache-2.0
// Trials of the transports: each has a verdict, and a cure where it does not work.
#include "btl/trial.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace tern::btl {
namespace {

TEST(Trial, EveryTransportIsTriedAndSaysWhatItDid) {
  const std::vector<Trial> trials = try_transports();
  ASSERT_EQ(trials.size(), 3u);
  EXPECT_EQ(trials[0].name, "self");
  EXPECT_EQ(trials[1].name, "sm");
  EXPECT_EQ(trials[2].name, "sm single copy");
  for (const Trial& trial : trials) {
    EXPECT_FALSE(trial.finding.empty()) << trial.name;
    EXPECT_FALSE(trial.reaches.empty()) << trial.name;
    EXPECT_EQ(trial.works, trial.cure.empty()) << trial.name;
  }
  EXPECT_TRUE(trials[0].works);
  EXPECT_TRUE(trials[1].works) << trials[1].finding;
}

TEST(Trial, WithoutDescriptorsSharedMemoryIsRefusedWithTheReason) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const std::vector<Trial> trials = sm::try_here();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_EQ(trials.size(), 2u);
  EXPECT_FALSE(trials[0].works);
  EXPECT_NE(trials[0].finding.find("Too many open files"), std::string::npos) << trials[0].finding;
  EXPECT_FALSE(trials[0].cure.empty());
  EXPECT_FALSE(trials[1].works);
  EXPECT_NE(trials[1].finding.find("not tried"), std::string::npos);
}

}  // namespace
}  // namespace tern::btl
