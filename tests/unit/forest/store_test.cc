// SPDX-License-Identifier: Apache-2.0
// PlanStore: kept forests come back; torn, stale and untrusted files count as absent.
#include "coll/forest/store.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "coll/algorithms/algorithms.hpp"
#include "coll/forest/forest_plan.hpp"
#include "coll/forest/form.hpp"
#include "coll/forest/plan.hpp"
#include "tests/unit/forest/graphs.hpp"

namespace tern::coll::forest {
namespace {

class StoreTest : public testing::Test {
 protected:
  StoreTest() {
    char name[] = "/tmp/tern-plans-XXXXXX";
    folder_ = ::mkdtemp(name);
  }
  ~StoreTest() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string path() const { return store().path_of(machine_); }
  [[nodiscard]] PlanStore store() const { return PlanStore(folder_ + "/a/plans"); }
  [[nodiscard]] bool loads() const { return store().load(machine_) == made_; }
  void write(const std::string& text) const { std::ofstream(path()) << text; }
  [[nodiscard]] std::string text() const {
    std::ostringstream all;
    all << std::ifstream(path()).rdbuf();
    return all.str();
  }

  std::string folder_;
  Topology machine_ = parse_topology(known_graphs()[0].text, "dgx-1v");
  Forests made_ = {make_forest(machine_, Collective::kAllgather, 0)};
};

TEST_F(StoreTest, KeepsForests) {
  EXPECT_FALSE(loads());
  store().keep(machine_, made_);
  EXPECT_TRUE(loads());
  struct stat facts {};
  ASSERT_EQ(::stat(path().c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0600U);
}

TEST_F(StoreTest, KeepsSeveralForests) {
  made_.push_back(make_forest(machine_, Collective::kReduceScatter, 0));
  made_.push_back(make_forest(machine_, Collective::kBcast, 5));
  store().keep(machine_, made_);
  EXPECT_TRUE(loads());
}

TEST_F(StoreTest, LeavesOutForestsBeyondTheLimit) {
  const Forests one = made_;
  while (text_of(made_).size() <= PlanStore::kMostBytes)
    made_.insert(made_.end(), one.begin(), one.end());
  store().keep(machine_, made_);
  const Forests found = store().load(machine_);
  EXPECT_EQ(found.size(), made_.size() - 1);
}

TEST_F(StoreTest, IgnoresTornFiles) {
  store().keep(machine_, made_);
  const std::string whole = text();
  for (size_t size = 0; size < whole.size(); size += 7) {
    write(whole.substr(0, size));
    EXPECT_FALSE(loads()) << size;
  }
  store().keep(machine_, made_);
  EXPECT_TRUE(loads());
}

TEST_F(StoreTest, IgnoresStaleForests) {
  Forests stale = made_;
  stale.push_back(made_[0]);
  stale[1].trees[0].parents[1] = 5;  // no link
  store().keep(machine_, stale);
  EXPECT_TRUE(store().load(machine_).empty());
  const Topology other = parse_topology(known_graphs()[1].text, "mi250");
  write(text_of({make_forest(other, Collective::kAllgather, 0)}));
  EXPECT_TRUE(store().load(machine_).empty());
  write("forests 2" + text_of(made_).substr(9));
  EXPECT_TRUE(store().load(machine_).empty());
  write(std::string(PlanStore::kMostBytes + 1, '1'));
  EXPECT_TRUE(store().load(machine_).empty());
}

// Certified trees in another order, or cut finer than the maker cuts, are no plan of the maker.
TEST_F(StoreTest, IgnoresForestsThatTheMakerDoesNotMake) {
  store().keep(machine_, made_);
  Forests edited = made_;
  std::swap(edited[0].trees.front(), edited[0].trees.back());
  write(text_of(edited));
  EXPECT_TRUE(store().load(machine_).empty());
  edited = made_;
  Forest& fine = edited[0];
  for (Tree& tree : fine.trees) tree.weight *= 512;
  fine.k *= 512;
  fine.time.over *= 512;
  ASSERT_EQ(certify(fine, machine_), "");
  write(text_of(edited));
  EXPECT_TRUE(store().load(machine_).empty());
}

TEST_F(StoreTest, DistinguishesMachines) {
  std::string text = known_graphs()[0].text;
  text.replace(text.find("25 3"), 4, "25 4");
  EXPECT_NE(store().path_of(parse_topology(text, "x")), path());
}

TEST_F(StoreTest, IgnoresFilesThatOthersMayWrite) {
  store().keep(machine_, made_);
  ASSERT_EQ(::chmod(path().c_str(), 0620), 0);
  EXPECT_FALSE(loads());
  ASSERT_EQ(::chmod(path().c_str(), 0600), 0);
  EXPECT_TRUE(loads());
  std::filesystem::rename(path(), folder_ + "/elsewhere");
  std::filesystem::create_symlink(folder_ + "/elsewhere", path());
  EXPECT_FALSE(loads());
}

TEST_F(StoreTest, KeepsNothingWithoutAFolder) {
  const PlanStore off("off");
  off.keep(machine_, made_);
  EXPECT_TRUE(off.load(machine_).empty());
  std::ofstream(folder_ + "/file") << "x";
  const PlanStore in_file(folder_ + "/file");
  in_file.keep(machine_, made_);
  EXPECT_TRUE(in_file.load(machine_).empty());
}

TEST_F(StoreTest, FollowsTheUsersCache) {
  ASSERT_EQ(::setenv("XDG_CACHE_HOME", folder_.c_str(), 1), 0);
  EXPECT_EQ(PlanStore("auto").folder(), folder_ + "/tern/plans");
  ASSERT_EQ(::setenv("XDG_CACHE_HOME", "relative", 1), 0);
  ASSERT_EQ(::setenv("HOME", folder_.c_str(), 1), 0);
  EXPECT_EQ(PlanStore("auto").folder(), folder_ + "/.cache/tern/plans");
  ASSERT_EQ(::unsetenv("XDG_CACHE_HOME"), 0);
}

// Two jobs write the same file: a reader sees no file or a whole file.
TEST_F(StoreTest, TakesTwoJobsAtOnce) {
  pid_t jobs[2];
  for (pid_t& job : jobs) {
    job = ::fork();
    if (job != 0) continue;
    for (int i = 0; i < 200; ++i) store().keep(machine_, made_);
    ::_exit(0);
  }
  while (!loads()) ::usleep(100);
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(loads()) << i;
  for (const pid_t job : jobs) {
    int status = -1;
    ASSERT_EQ(::waitpid(job, &status, 0), job);
    EXPECT_EQ(status, 0);
  }
  size_t files = 0;
  for (const auto& file : std::filesystem::directory_iterator(store().folder()))
    files += file.is_regular_file() ? 1 : 0;
  EXPECT_EQ(files, 1U);
}

// From the file to a rank's schedule of an allreduce.
TEST_F(StoreTest, FirstUseOf64GpusIsCheap) {
  const Topology torus = parse_topology(torus_text(4), "torus");
  store().keep(torus, {make_forest(torus, Collective::kAllgather, 0),
                       make_forest(torus, Collective::kReduceScatter, 0)});
  const std::clock_t began = std::clock();
  const Forests found = store().load(torus);
  const ForestPlan plan(torus, found);
  const Schedule schedule =
      build(*find_algorithm(Collective::kAllreduce, "forest"), 64, 7, 0, nullptr, &plan);
  const double ms = 1e3 * static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC;
  EXPECT_EQ(found.size(), 2U);
  EXPECT_GT(schedule.steps.size(), 64U);
  RecordProperty("us", static_cast<int>(1e3 * ms));
  RecordProperty("bytes", static_cast<int>(text_of(found).size()));
  std::printf("%.2f ms, %zu bytes\n", ms, text_of(found).size());
  EXPECT_LT(text_of(found).size(), size_t{256} << 10);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_LT(ms, 20);
#endif
}

}  // namespace
}  // namespace tern::coll::forest
