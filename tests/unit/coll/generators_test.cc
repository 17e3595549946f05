// SPDX-License-Identifier: Apache-2.0
// Generated machines: sizes, closed routes against the graph, words that are refused.
#include "coll/topology/generators.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "base/error.hpp"
#include "coll/topology/machines.hpp"
#include "coll/topology/routes.hpp"

namespace tern::coll {
namespace {

const char* const kMachines[] = {"fat-tree:2",
                                 "fat-tree:4",
                                 "fat-tree:8,2",
                                 "fat-tree:4,1,ranks=3",
                                 "dragonfly:5,4,2,1",
                                 "dragonfly:1,4,2,1",
                                 "dragonfly:9,4,2,2,ranks=2",
                                 "dragonfly:3,4,2,4",
                                 "dragonfly+:5,4,2,1",
                                 "dragonfly+:2,2,3,5",
                                 "torus:4x4x4",
                                 "torus:2x3x1",
                                 "torus:5,ranks=4",
                                 "torus:2",
                                 "torus:1",
                                 "torus:2x2x2x2x2x2",
                                 "rails:4,4,2,2",
                                 "rails:8,8,8,0",
                                 "rails:3,2,2,1",
                                 "rails:1,1,1,0"};

TEST(Generators, RoutesAreWaysOfTheGraph) {
  for (const char* const words : kMachines) {
    const Topology machine = generate_machine(words);
    Routes routes(machine);
    for (int32_t from = 0; from < machine.ranks(); ++from)
      for (int32_t to = 0; to < machine.ranks(); ++to) {
        if (from == to) continue;
        int32_t at = machine.gpus[static_cast<size_t>(from)];
        for (const int32_t link : routes.between(from, to).links) {
          ASSERT_EQ(machine.links.at(static_cast<size_t>(link)).from, at) << words;
          at = machine.links[static_cast<size_t>(link)].to;
        }
        ASSERT_EQ(at, machine.gpus[static_cast<size_t>(to)]) << words << from << " " << to;
      }
  }
}

// Trees and tori are never longer than Dijkstra's routes; others take at most one link between
// groups, or change rails at the source.
TEST(Generators, RoutesOfTreesAndToriAreShortest) {
  for (const char* const words : {"fat-tree:4", "fat-tree:8,2", "torus:4x4x4", "torus:2x3x1",
                                  "dragonfly:5,4,2,1", "rails:8,8,8,0"}) {
    const Topology machine = generate_machine(words);
    Topology graph = machine;  // routed by Dijkstra
    graph.closed = nullptr;
    Routes closed(machine), shortest(graph);
    for (int32_t from = 0; from < machine.ranks(); ++from)
      for (int32_t to = 0; to < machine.ranks(); ++to)
        EXPECT_NEAR(closed.between(from, to).latency, shortest.between(from, to).latency, 1e-9)
            << words;
  }
}

TEST(Generators, LinksAreUnique) {
  for (const char* const words : kMachines) {
    std::set<std::pair<int32_t, int32_t>> seen;
    for (const Topology::Link& link : generate_machine(words).links) {
      EXPECT_NE(link.from, link.to) << words;
      EXPECT_TRUE(seen.emplace(link.from, link.to).second) << words;
    }
  }
}

TEST(Generators, SizesAndFigures) {
  EXPECT_EQ(generate_machine("fat-tree:64").ranks(), 65536);
  EXPECT_EQ(generate_machine("dragonfly:9,4,2,2,ranks=3").ranks(), 9 * 4 * 2 * 3);
  EXPECT_EQ(generate_machine("torus:16x16x16").ranks(), 4096);
  EXPECT_EQ(generate_machine("rails:16384,8,32,32").ranks(), 131072);
  const Topology half = generate_machine("fat-tree:4,2,bandwidth=40,latency=3,background=0.25");
  EXPECT_NEAR(half.links[0].bandwidth(), 30, 1e-9);
  EXPECT_NEAR(half.links[0].latency, 3, 1e-9);
  EXPECT_NEAR(half.links.back().bandwidth(), 15, 1e-9);
  // Two links of a pair of groups between the same switches are one of twice the capacity.
  const Topology wide = generate_machine("dragonfly:2,1,1,3,bandwidth=10");
  EXPECT_NEAR(wide.links.back().bandwidth(), 30, 1e-9);
}

// The known machine has the same way between hosts, in two links.
TEST(Generators, RailsAreTheKnownRails) {
  const Topology made = generate_machine("rails:2,8,2,0"), known = load_topology("2x8-rail");
  Routes a(made), b(known);
  for (int32_t from = 0; from < 16; ++from)
    for (int32_t to = 0; to < 16; ++to) {
      EXPECT_NEAR(a.between(from, to).latency, b.between(from, to).latency, 1e-9);
      EXPECT_EQ(a.between(from, to).mapped, b.between(from, to).mapped);
    }
}

TEST(Generators, WrongWordsAreSaid) {
  const struct {
    const char* words;
    const char* fault;
  } kWrong[] = {
      {"", "\"\" is not a machine"},
      {"cube:3", "\"cube\" is not a machine"},
      {"fat-tree", "0 sizes"},
      {"fat-tree:3", "K must be even"},
      {"fat-tree:x", "\"x\" is not a number"},
      {"fat-tree:0", "size 0 is not from 1"},
      {"fat-tree:-4", "\"-4\" is not a number"},
      {"fat-tree:4,0", "TAPER at least 0.001"},
      {"fat-tree:1000", "ranks, of at most 1048576"},
      {"fat-tree:1e9", "size 1000000000 is not from"},
      {"fat-tree:4,", "\"\" is not a number"},
      {"fat-tree:4,foo=1", "\"foo\" is not a property"},
      {"fat-tree:4,background=1", "background must be below 1"},
      {"fat-tree:4,bandwidth=0", "a bandwidth must be above 0"},
      {"fat-tree:4,bandwidth=nan", "\"nan\" is not a number"},
      {"fat-tree:4,ranks=0", "ranks must be from 1 to 1024"},
      {"fat-tree:4,ranks=1e9", "ranks must be from 1 to 1024"},
      {"rails:1,2,3", "3 sizes"},
      {"rails:1.5,2,3,4", "\"1.5\" is not a whole number"},
      {"rails:8,8,4,0", "a leaf of 4 hosts does not join 8"},
      {"rails:4,4,2,2,ranks=3", "\"ranks\" is not a property"},
      {"rails:1000000,1,1,1000000", "links to spines, of at most"},
      {"torus:4x", "\"\" is not a number"},
      {"torus:0x3", "size 0 is not from 1"},
      {"torus:1000x1000x1000", "ranks, of at most 1048576"},
      {"torus:2x2x2x2x2x2x2", "7 sizes"},
      {"dragonfly:100,2,2,1", "2 links of a group reach only 2 of 99"},
      {"dragonfly:2,100000,1,1", "links within groups"},
  };
  for (const auto& wrong : kWrong) {
    try {
      (void)generate_machine(wrong.words);
      ADD_FAILURE() << wrong.words << " is accepted";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(wrong.fault), std::string::npos)
          << wrong.words << ": " << error.what();
    }
  }
}

}  // namespace
}  // namespace tern::coll
