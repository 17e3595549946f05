// SPDX-License-Identifier: Apache-2.0
// LearntFile: merges by several writers, and remarks on foreign, unsafe and invalid files.
#include "base/learnt_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <random>
#include <sstream>
#include <thread>

#include "base/error.hpp"

namespace tern {
namespace {

constexpr const char* kMachine = "a CPU, 2 CPUs, L1 32K, bound";

class LearntFileTest : public testing::Test {
 protected:
  LearntFileTest() {
    std::string name = testing::TempDir() + "learnt.XXXXXX";
    folder = ::mkdtemp(name.data());
    path = folder + "/deep/er/file";
  }
  ~LearntFileTest() override { (void)std::system(("rm -rf " + folder).c_str()); }

  [[nodiscard]] std::string lines() {
    remark.clear();
    return LearntFile(path, kMachine).read(&remark);
  }
  [[nodiscard]] std::string contents() const {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  void write(const std::string& text) const {
    std::ofstream(path, std::ios::binary) << text;
    ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  }

  std::string folder, path, remark;
};

TEST_F(LearntFileTest, LinesComeBack) {
  EXPECT_EQ(lines(), "");
  EXPECT_EQ(remark, "");
  LearntFile(path, kMachine)
      .merge({"bcast 2 1..2 flat one_host  # 1 us", "scan 2 8 flat one_host"});
  EXPECT_EQ(lines(), "bcast 2 1..2 flat one_host  # 1 us\nscan 2 8 flat one_host\n");
  EXPECT_EQ(remark, "");
}

TEST_F(LearntFileTest, NewerLinesReplaceOlderOnes) {
  const LearntFile file(path, kMachine);
  file.merge({"bcast 2 1..2 flat one_host  # 1 us", "bcast 4 1..2 flat one_host"});
  file.merge({"bcast 2 1..2 linear one_host  # 2 us", "bcast 2 1..2 ring many_hosts"});
  EXPECT_EQ(lines(),
            "bcast 2 1..2 ring many_hosts\nbcast 2 1..2 linear one_host  # 2 us\n"
            "bcast 4 1..2 flat one_host\n");
}

TEST_F(LearntFileTest, LinesOfAnyOrderComeFirst) {
  LearntFile(path, kMachine)
      .merge({"allreduce 4 8 flat one_host  # 1 us", "allreduce 4 8 ring one_host  # any order"});
  EXPECT_EQ(lines(),
            "allreduce 4 8 ring one_host  # any order\nallreduce 4 8 flat one_host  # 1 us\n");
}

TEST_F(LearntFileTest, ManyWritersLoseNothing) {
  std::vector<std::thread> writers;
  for (int writer = 0; writer < 8; ++writer)
    writers.emplace_back([&, writer] {
      for (int i = 0; i < 10; ++i)
        LearntFile(path, kMachine).merge({strf("bcast %d %d flat one_host", writer, i)});
    });
  for (std::thread& one : writers) one.join();
  const std::string text = lines();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 80);
}

TEST_F(LearntFileTest, AnotherMachinesFileIsIgnored) {
  LearntFile(path, "another machine").merge({"bcast 2 1 flat one_host"});
  EXPECT_EQ(lines(), "");
  EXPECT_NE(remark.find(path + " is ignored: another version of Tern or another machine"),
            std::string::npos)
      << remark;
}

TEST_F(LearntFileTest, TornFilesAreIgnored) {
  LearntFile(path, kMachine).merge({"bcast 2 1 flat one_host", "bcast 2 2 flat one_host"});
  const std::string whole = contents();
  for (size_t length = 0; length < whole.size(); ++length) {
    write(whole.substr(0, length));
    EXPECT_EQ(lines(), "") << length;
    EXPECT_NE(remark, "") << length;
  }
}

TEST_F(LearntFileTest, WhatOthersMayWriteIsIgnored) {
  LearntFile(path, kMachine).merge({"bcast 2 1 flat one_host"});
  ASSERT_EQ(::chmod(path.c_str(), 0620), 0);
  EXPECT_EQ(lines(), "");
  EXPECT_NE(remark.find("others may write the file"), std::string::npos) << remark;
}

TEST_F(LearntFileTest, AFolderIsNoFile) {
  path = folder;
  EXPECT_EQ(lines(), "");
  EXPECT_NE(remark.find("not a regular file"), std::string::npos) << remark;
}

TEST_F(LearntFileTest, StaysBelowItsLimit) {
  std::vector<std::string> many;
  for (int i = 0; i < 5000; ++i) many.push_back(strf("bcast 2 %d scatter_allgather one_host", i));
  LearntFile(path, kMachine).merge(many);
  EXPECT_LE(contents().size(), LearntFile::kMostBytes);
  EXPECT_GT(lines().size(), LearntFile::kMostBytes / 2);
  write(contents() + std::string(LearntFile::kMostBytes, '\n'));
  EXPECT_EQ(lines(), "");
  EXPECT_NE(remark.find("too large"), std::string::npos) << remark;
}

TEST_F(LearntFileTest, AFullFileKeepsNewLinesAndThoseOfManyMeasurements) {
  const LearntFile file(path, kMachine);
  std::vector<std::string> old, fresh;
  for (int i = 0; i < 1300; ++i)
    old.push_back(strf("bcast 2 %d linear many_hosts  # 1.00 us, %d rounds", i, 1 + i % 5));
  for (int i = 0; i < 400; ++i)
    fresh.push_back(strf("scan 2 %d flat many_hosts  # 1.00 us, 1 rounds", i));
  file.merge(old);
  file.merge(fresh);
  EXPECT_LE(contents().size(), LearntFile::kMostBytes);
  std::map<std::string, int> kept;
  std::istringstream stream(lines());
  for (std::string line; std::getline(stream, line);)
    ++kept[line.substr(0, line.find(' ')) + line.substr(line.find(", "))];
  EXPECT_EQ(kept["scan, 1 rounds"], 400);
  for (int rounds = 3; rounds <= 5; ++rounds)
    EXPECT_EQ(kept[strf("bcast, %d rounds", rounds)], 260) << rounds;
  EXPECT_LT(kept["bcast, 2 rounds"], 260);
  EXPECT_EQ(kept["bcast, 1 rounds"], 0);
}

TEST_F(LearntFileTest, NoiseIsIgnored) {
  LearntFile(path, kMachine).merge({"bcast 2 1 flat one_host"});
  std::mt19937 random(3);
  const std::string whole = contents();
  for (int round = 0; round < 300; ++round) {
    std::string text = whole;
    for (int i = 0; i < 3; ++i) text[random() % text.size()] = static_cast<char>(random() % 256);
    write(text);
    (void)lines();
  }
}

TEST_F(LearntFileTest, WithoutAPlaceNothingHappens) {
  const LearntFile none("none", kMachine), nowhere("/proc/nowhere/file", kMachine);
  for (const LearntFile* file : {&none, &nowhere}) {
    file->merge({"bcast 2 1 flat one_host"});
    EXPECT_EQ(file->read(&remark), "");
    EXPECT_FALSE(file->forget());
  }
}

TEST_F(LearntFileTest, ForgetRemovesIt) {
  const LearntFile file(path, kMachine);
  file.merge({"bcast 2 1 flat one_host"});
  EXPECT_TRUE(file.forget());
  EXPECT_EQ(lines(), "");
  EXPECT_FALSE(file.forget());
}

TEST_F(LearntFileTest, TravelsAsText) {
  const LearntFile file(path, kMachine);
  file.merge({"bcast 2 1 flat many_hosts", "bcast 2 2 flat many_hosts"});
  const LearntFile::Packed packed = LearntFile::unpack(file.pack(&remark));
  EXPECT_EQ(packed.file.path(), path);
  EXPECT_EQ(packed.lines, "bcast 2 1 flat many_hosts\nbcast 2 2 flat many_hosts\n");
  packed.file.merge({"bcast 2 3 flat many_hosts"});
  EXPECT_EQ(lines(), packed.lines + "bcast 2 3 flat many_hosts\n");
  EXPECT_EQ(LearntFile("none", kMachine).pack(&remark), "");
  for (const char* text : {"", "one line", "two\nlines"})
    EXPECT_EQ(LearntFile::unpack(text).file.path(), "");
}

TEST_F(LearntFileTest, TheMachinesOwnFileIsInTheCache) {
  ASSERT_EQ(::setenv("XDG_CACHE_HOME", folder.c_str(), 1), 0);
  const LearntFile one("auto", kMachine), other("auto", "another");
  EXPECT_EQ(one.path().rfind(folder + "/tern/collectives-", 0), 0U) << one.path();
  EXPECT_NE(one.path(), other.path());
  ASSERT_EQ(::unsetenv("XDG_CACHE_HOME"), 0);
}

}  // namespace
}  // namespace tern
