// SPDX-License-Identifier: Apache-2.0
// Levels from sizes, machine descriptions and bindings.
#include "coll/engine/places.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include "base/error.hpp"
#include "coll/coll.hpp"
#include "tests/unit/world.hpp"

namespace tern::coll {
namespace {

using Kind = topo::MachinePart::Kind;
using Sizes = std::vector<int32_t>;

Sizes sizes(const char* text) { return level_words(text, "--levels").sizes; }

TEST(LevelWords, AreSizesADescriptionOrParts) {
  EXPECT_EQ(sizes("8,2"), (Sizes{8, 2}));
  EXPECT_TRUE(level_words("", "--levels").empty());
  EXPECT_EQ(level_words("L3, package", "--levels").parts,
            (std::vector<Kind>{Kind::kPackage, Kind::kL3}));
  EXPECT_EQ(sizes("pack:2 l3:2 core:4"), (Sizes{16, 8, 4}));
  EXPECT_EQ(sizes("Package:2 [NUMANode(memory=1GB)] L3Cache:3(size=8MB) core:2 pu:2"),
            (Sizes{24, 12, 4, 2}));
}

TEST(LevelWords, SayWhatIsWrong) {
  const auto fault = [](const char* text) -> std::string {
    try {
      (void)level_words(text, "TERN_COLL_LEVELS");
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(fault("pakc:2 core:4").find("\"pakc\" is not a part of a machine"), std::string::npos);
  EXPECT_NE(fault("pack:0 core:4").find("0 is not a positive number"), std::string::npos);
  EXPECT_NE(fault("pack:2 l3:2(size=8M core:4").find("a bracket is not closed"), std::string::npos);
  EXPECT_NE(fault("pack:2 core").find("\"core\" has no count"), std::string::npos);
  EXPECT_NE(fault("packge").find("package, numa, l3, core"), std::string::npos);
  EXPECT_NE(fault("8,0").find("0 is not a positive number"), std::string::npos);
  EXPECT_NE(fault("pack:65536 core:65536").find("too many parts"), std::string::npos);
}

TEST(LevelWords, OfADescriptionAreTheLevelsOfItsMachine) {
  const Levels levels = Levels::from_sizes(16, sizes("pack:2 l3:2 core:4"));
  ASSERT_EQ(levels.groups.size(), 2u);
  EXPECT_EQ(levels.groups[0][9], 8);
  EXPECT_EQ(levels.groups[1][13], 12);
  EXPECT_EQ(Levels::from_sizes(32, sizes("pack:2 l3:2 core:4")).groups.size(), 3u);
}

void expect_levels(const char* machine, const char* words,
                   const std::vector<std::vector<int32_t>>& groups) {
  ::setenv("HWLOC_SYNTHETIC", machine, 1);
  test::World(static_cast<int>(groups.empty() ? 4 : groups[0].size()),
              {{"TERN_COLL_LEVELS", words}})
      .run([&](core::Process& process) {
        const int in = 1;
        int out = 0;
        Operation operation{};
        operation.collective = Collective::kAllreduce;
        operation.communicator = process.world;
        operation.op = process.handles.find<core::Op>(MPI_SUM);
        core::Datatype& type = core::predefined_type(process, MPI_INT);
        operation.input = {const_cast<int*>(&in), 1, &type};
        operation.output = {&out, 1, &type};
        ASSERT_EQ(process.channel(0).coll->run(operation), MPI_SUCCESS);
        EXPECT_EQ(out, process.world_size);
        const Levels* found = static_cast<CommState&>(*process.world->coll).levels;
        if (groups.empty()) {
          EXPECT_EQ(found, nullptr);
        } else {
          ASSERT_NE(found, nullptr);
          EXPECT_EQ(found->groups, groups);
        }
      });
  ::unsetenv("HWLOC_SYNTHETIC");
}

TEST(Places, ArePartsThatRanksAreBoundTo) {
  expect_levels("pack:2 l3:2 core:2 pu:1", "package,l3",
                {{0, 0, 0, 0, 4, 4, 4, 4}, {0, 0, 2, 2, 4, 4, 6, 6}});
  expect_levels("pack:2 numa:2 core:1 pu:2", "numa", {{0, 0, 2, 2, 4, 4, 6, 6}});
  // After the last processor, placement starts over.
  expect_levels("pack:2 core:2 pu:1", "package", {{0, 0, 2, 2, 0, 0}});
}

TEST(Places, AreNoneWhereNothingIsTold) {
  expect_levels("pack:1 core:4 pu:1", "package", {});
  expect_levels("pack:2 core:2 pu:1", "l3", {});
}

}  // namespace
}  // namespace tern::coll
