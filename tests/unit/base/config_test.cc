// SPDX-License-Identifier: Apache-2.0
// tern.conf: search path, syntax, precedence.
#include "base/config.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace tern {
namespace {

class Config : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/tern-config-XXXXXX";
    folder_ = ::mkdtemp(name);
    ::setenv("XDG_CONFIG_HOME", (folder_ + "/user").c_str(), 1);
    ::setenv("XDG_CONFIG_DIRS", (folder_ + "/first:" + folder_ + "/second").c_str(), 1);
  }
  void TearDown() override {
    std::filesystem::remove_all(folder_);
    ::unsetenv("XDG_CONFIG_HOME");
    ::unsetenv("XDG_CONFIG_DIRS");
  }
  void write(const std::string& place, const std::string& text) {
    std::filesystem::create_directories(folder_ + "/" + place + "/tern");
    std::ofstream(folder_ + "/" + place + "/tern/tern.conf") << text;
  }
  Params load(const std::vector<const char*>& lines = {}) {
    std::vector<const char*> environment = lines;
    environment.push_back(nullptr);
    complaints_.clear();
    return load_params(environment.data(), &complaints_);
  }

  std::string folder_;
  std::vector<std::string> complaints_;
};

TEST_F(Config, PlacesInTheOrderInWhichTheyWin) {
  const std::vector<std::string> files = config_files();
  ASSERT_EQ(files.size(), 4U);
  EXPECT_NE(files[0].find("/etc/tern.conf"), std::string::npos);
  EXPECT_EQ(files[1], folder_ + "/second/tern/tern.conf");
  EXPECT_EQ(files[2], folder_ + "/first/tern/tern.conf");
  EXPECT_EQ(files[3], folder_ + "/user/tern/tern.conf");
}

TEST_F(Config, UserWinsOverSiteAndTheEnvironmentOverAll) {
  write("second", "TERN_SPIN = 1ms\nTERN_EAGER_LIMIT = 1k\nTERN_TEST=sm_fragments=3\n");
  write("first", "TERN_EAGER_LIMIT = 2k # two\n");
  write("user", "\n  # mine\nTERN_TEST\t= sm_fragments=4\r\n");
  const Params params = load({"TERN_SPIN=2ms"});
  EXPECT_TRUE(complaints_.empty());
  EXPECT_EQ(params.spin, 2000);
  EXPECT_EQ(params.eager_limit, 2048);
  EXPECT_EQ(params.sm_fragments, 4);
  EXPECT_EQ(params.source("TERN_SPIN"), "environment");
  EXPECT_EQ(params.source("TERN_EAGER_LIMIT"), folder_ + "/first/tern/tern.conf:1");
  EXPECT_EQ(params.source("TERN_TEST.sm_fragments"), folder_ + "/user/tern/tern.conf:3");
  EXPECT_EQ(params.source("TERN_TEST.sm_ring"), "default");
}

TEST_F(Config, WrongLinesAreNamedByFileAndLine) {
  write("user", "TERN_SPIN = soon\nnonsense\nTERN_SPUN = 1\nTERN_CHECK = types,leaks\n");
  const Params params = load();
  ASSERT_EQ(complaints_.size(), 3U);
  const std::string file = folder_ + "/user/tern/tern.conf";
  EXPECT_EQ(complaints_[0].find(file + ":1: TERN_SPIN is \"soon\""), 0U) << complaints_[0];
  EXPECT_EQ(complaints_[1], file + ":2: \"nonsense\" is not a line NAME = VALUE");
  EXPECT_EQ(complaints_[2].find(file + ":3: TERN_SPUN is not a parameter of Tern; did you mean "
                                       "TERN_SPIN?"),
            0U)
      << complaints_[2];
  EXPECT_TRUE(params.checks("types"));
  EXPECT_TRUE(params.checks("leaks"));
}

TEST_F(Config, AWrongValueKeepsTheOneBefore) {
  write("user", "TERN_SPIN = 1ms\n");
  const Params params = load({"TERN_SPIN=-1"});
  EXPECT_EQ(params.spin, 1000);
  ASSERT_EQ(complaints_.size(), 1U);
  EXPECT_NE(complaints_[0].find("the value before it, 1000, is used"), std::string::npos);
}

TEST_F(Config, AFolderInTheFilesPlaceIsNamed) {
  std::filesystem::create_directories(folder_ + "/user/tern/tern.conf");
  (void)load();
  ASSERT_EQ(complaints_.size(), 1U);
  EXPECT_NE(complaints_[0].find("cannot read " + folder_), std::string::npos) << complaints_[0];
}

}  // namespace
}  // namespace tern
