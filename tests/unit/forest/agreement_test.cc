// SPDX-License-Identifier: Apache-2.0
// The agreement on forests of earlier jobs: the lowest rank's text counts on all ranks, or none;
// jobs keep and take forests, whatever the files of other ranks hold.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "coll/coll.hpp"
#include "coll/forest/plan.hpp"
#include "coll/forest/store.hpp"
#include "tests/unit/forest/graphs.hpp"
#include "tests/unit/world.hpp"

namespace tern::coll::forest {
namespace {

using test::World;

constexpr int kRanks = 4;
constexpr const char* kRing =
    "gpu a b c d\nlink a b 25 3\nlink b c 25 3\nlink c d 50 3\nlink d a 25 3\n";

class AgreementTest : public testing::Test {
 protected:
  AgreementTest() {
    char name[] = "/tmp/tern-agreement-XXXXXX";
    folder_ = ::mkdtemp(name);
    std::ofstream(folder_ + "/topo") << kRing;
  }
  ~AgreementTest() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] World::Settings settings(const std::string& forced = "forest") const {
    return {{"TERN_TOPOLOGY", folder_ + "/topo"},
            {"TERN_PLAN_CACHE", folder_ + "/plans"},
            {"TERN_COLL.allgather", forced}};
  }
  [[nodiscard]] PlanStore store() const { return PlanStore(folder_ + "/plans"); }
  /// Nonblocking allgathers on all ranks; returns the forest of each rank.
  std::vector<Forests> run() const {
    std::vector<Forests> found(kRanks);
    World(kRanks, settings()).run([&](core::Process& process) {
      core::Communicator& world = *process.world;
      std::vector<int> all(kRanks, -1);
      int mine = world.rank() + 10;
      Operation operation;
      operation.collective = Collective::kAllgather;
      operation.communicator = &world;
      core::Datatype& type = core::predefined_type(process, MPI_INT);
      operation.input = {&mine, 1, &type};
      operation.output = {all.data(), 1, &type};
      EXPECT_EQ(world.channel().coll->run(operation), MPI_SUCCESS);
      for (int rank = 0; rank < kRanks; ++rank)
        EXPECT_EQ(all[static_cast<size_t>(rank)], rank + 10);
      const auto& state = static_cast<const CommState&>(*world.coll);
      found[static_cast<size_t>(world.rank())] =
          static_cast<const ForestPlan&>(*state.plan).forests(Collective::kAllgather, 0);
    });
    return found;
  }
  /// agree() runs the agreement with a text and a machine of each rank.
  std::vector<Forests> agree(const std::vector<std::string>& texts,
                             const std::vector<std::string>& machines) const {
    std::vector<Forests> found(kRanks);
    World(kRanks, settings("auto")).run([&](core::Process& process) {
      core::Communicator& world = *process.world;
      const auto rank = static_cast<size_t>(world.rank());
      found[rank] = world.channel().coll->agree_on_forests(
          world, parse_topology(machines[rank], "machine"), texts[rank]);
    });
    return found;
  }

  std::string folder_;
  Topology machine_ = parse_topology(kRing, "ring");
  Forest made_ = make_forest(machine_, Collective::kAllgather, 0);
};

/// Another forest that certify() accepts.
Forest changed(Forest forest) {
  forest.k *= 2;
  forest.time.over *= 2;
  for (Tree& tree : forest.trees) tree.weight *= 2;
  return forest;
}

TEST_F(AgreementTest, JobsKeepAndTakeForests) {
  EXPECT_EQ(run(), std::vector(kRanks, Forests{made_}));
  EXPECT_EQ(store().load(machine_), Forests{made_});
  const Forest other = changed(made_);
  ASSERT_EQ(certify(other, machine_), "");
  ASSERT_NE(other, made_);
  store().keep(machine_, {other});
  EXPECT_EQ(run(), std::vector(kRanks, Forests{other}));
}

TEST_F(AgreementTest, TakesTheLowestRanksText) {
  const std::vector<std::string> machines(kRanks, kRing);
  const std::string text = text_of({made_}), other = text_of({changed(made_)});
  EXPECT_EQ(agree({text, other, "", "torn"}, machines), std::vector(kRanks, Forests{made_}));
  EXPECT_EQ(agree({"", text, text, text}, machines), std::vector(kRanks, Forests()));
}

// As on a rank whose memory is full or damaged: no rank takes the forests, and none waits.
TEST_F(AgreementTest, ARankThatCannotCertifyRefusesForAll) {
  std::vector<std::string> machines(kRanks, kRing);
  machines[2] = "gpu a b c d\nlink a b 25 3\nlink b c 1 3\nlink c d 50 3\nlink d a 25 3\n";
  const std::string text = text_of({made_});
  EXPECT_EQ(agree({text, "", "", ""}, machines), std::vector(kRanks, Forests()));
}

TEST_F(AgreementTest, TornAndForeignTextsAreRefused) {
  const std::vector<std::string> machines(kRanks, kRing);
  const std::string text = text_of({made_});
  for (size_t size = 1; size < text.size(); size += 5)
    EXPECT_EQ(agree({text.substr(0, size), "", "", ""}, machines), std::vector(kRanks, Forests()));
  EXPECT_EQ(agree({std::string(PlanStore::kMostBytes + 1, 'x'), "", "", ""}, machines),
            std::vector(kRanks, Forests()));
  const Topology pair = parse_topology("gpu a b\nlink a b 10 1\n", "pair");
  EXPECT_EQ(agree({text_of({make_forest(pair, Collective::kAllgather, 0)}), "", "", ""}, machines),
            std::vector(kRanks, Forests()));
}

TEST_F(AgreementTest, DamagedFilesAreReplaced) {
  (void)run();
  const std::string path = store().path_of(machine_);
  std::ofstream(path) << "forests 1\nforest allgather";
  EXPECT_EQ(run(), std::vector(kRanks, Forests{made_}));
  EXPECT_EQ(store().load(machine_), Forests{made_});
}

}  // namespace
}  // namespace tern::coll::forest
