// SPDX-License-Identifier: Apache-2.0
// Topologies: exact capacities, routes, and every error of the text.
#include "coll/topology/topology.hpp"

#include <gtest/gtest.h>

#include <string>

#include "base/error.hpp"
#include "coll/topology/machines.hpp"
#include "coll/topology/routes.hpp"

namespace tern::coll {
namespace {

// Routes through a network switch are not mapped, and keep to their rail.
TEST(Topology, RailsAreTaken) {
  const Topology rails = load_topology("2x8-rail");
  Routes routes(rails);
  EXPECT_TRUE(routes.between(0, 7).mapped);
  EXPECT_FALSE(routes.between(0, 8).mapped);
  EXPECT_NEAR(routes.between(0, 8).latency, 14, 1e-9);
  EXPECT_EQ(routes.between(0, 8).links.size(), 4U);   // NIC, rail, NIC, GPU
  EXPECT_EQ(routes.between(0, 15).links.size(), 6U);  // plus two to the rail's GPU
}

TEST(Topology, ARouteThatIsToldIsTaken) {
  const char* const text =
      "gpu a b   # two ranks\nnode fast slow\nlink a fast 10 1\nlink b fast 10 1\n"
      "link a slow 10 5\nlink b slow 10 5\n";
  const Topology plain = parse_topology(text, "x");
  EXPECT_NEAR(Routes(plain).between(0, 1).latency, 2, 1e-9);
  const Topology told = parse_topology(std::string(text) + "route a b via slow\n", "x");
  Routes routes(told);
  EXPECT_NEAR(routes.between(0, 1).latency, 10, 1e-9);
  EXPECT_NEAR(routes.between(1, 0).latency, 10, 1e-9);
}

TEST(Topology, SaysWhatIsWrongAndWhere) {
  const auto fault = [](const std::string& text) {
    try {
      (void)parse_topology(text, "file");
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("nothing");
  };
  const struct {
    const char* text;
    const char* words;
  } kWrong[] = {
      {"", "no gpu"},
      {"gpu a\n\ngpus b\n", "file:3: \"gpus\" is not a statement"},
      {"gpu a a\n", "file:1: there is a \"a\" already"},
      {"gpu g3..g1\n", "file:1: \"g3..g1\" is not a range"},
      {"gpu a..b\n", "file:1: \"a..b\" is not a range"},
      {"gpu a mem=3\n", "file:1: \"mem=3\" is not a property"},
      {"gpu a memory=fast\n", "memory must be a number >= 0, not \"fast\""},
      {"gpu a b\nlink a b 10\n", "file:2: link takes two ends"},
      {"gpu a b\nlink a c 10 1\n", "file:2: there is no \"c\" above"},
      {"gpu a b\nlink a b -1 1\n", "bandwidth in GB/s must be a number >= 0"},
      {"gpu a b\nlink a b 0 1\n", "file:2: a link needs a bandwidth above 0"},
      {"gpu a b\nlink a a 1 1\n", "file:2: a link from a to itself"},
      {"gpu a b\nlink a b 1 1\noneway b a 1 1\n", "file:3: duplicate link from b to a"},
      {"gpu a b\nlink a b 1e3 1\n", "bandwidth in GB/s must be a number >= 0, not \"1e3\""},
      {"gpu a b\nlink a b 1.0000001 1\n", "not \"1.0000001\": digits"},
      {"gpu a b\nlink a b 1000000001 1\n", "not \"1000000001\": digits up to 10^9"},
      {"gpu a b\nlink a b 99999999999999999999999 1\n", "up to 10^9"},
      {"gpu a b\nlink a b . 1\n", "not \".\""},
      {"gpu a b\nlink a b 1.2.3 1\n", "not \"1.2.3\""},
      {"gpu a b\nlink a b 1 inf\n", "latency in us must be a number >= 0, not \"inf\""},
      {"gpu a multicast\n", "file:1: multicast is a property of a node"},
      {"net s multicast\n", "file:1: multicast is a property of a node"},
      {"node multicast\n", "file:1: a name is missing"},
      {"gpu a b\nlink a b 1 1\nroute a b via a\n", "file:3: no link from a to a above"},
      {"gpu a b\nnode s\nlink a..b s 1 1\n", "file:3: \"a..b\" is not a range"},
      {"gpu a b c\nlink a b 1 1\nlink b c 1 1\nroute a c via b\nroute c a via b\n",
       "file:5: duplicate route from c to a"},
      {"gpu a b\n", "no way from a to b"},
      {"gpu a b\noneway a b 1 1\n", "no way from b to a"},
      {"gpu a0..a1 b0..b2\nlink b0..b2 a0..a1 1 1\n", "3 ends meet 2"},
      {"gpu a b\nlink a b 1 1\nroute a b s\n", "file:3: route takes"},
      {"gpu a b\nnode s\nlink a b 1 1\nroute a b via s\n", "file:4: no link from a to s above"},
  };
  for (const auto& wrong : kWrong)
    EXPECT_NE(fault(wrong.text).find(wrong.words), std::string::npos)
        << wrong.text << ": " << fault(wrong.text);
}

TEST(Topology, CapacitiesAreExact) {
  const Topology made = parse_topology(
      "gpu a b memory=0.5\nlink a b 370.8 1.75\nnode s t multicast\noneway a s 0.000001 0\n"
      "oneway s b 1000000000 .5\r\n",
      "x");
  ASSERT_EQ(made.links.size(), 4U);
  EXPECT_EQ(made.links[0].capacity, 370800000);
  EXPECT_EQ(made.links[1].capacity, 370800000);
  EXPECT_EQ(made.links[1].from, made.links[0].to);
  EXPECT_EQ(made.links[2].capacity, 1);
  EXPECT_EQ(made.links[3].capacity, 1000000000000000);
  EXPECT_DOUBLE_EQ(made.links[0].bandwidth(), 370.8);
  EXPECT_DOUBLE_EQ(made.links[0].latency, 1.75);
  EXPECT_DOUBLE_EQ(made.links[3].latency, 0.5);
  EXPECT_DOUBLE_EQ(made.nodes[0].memory, 0.5);
  EXPECT_TRUE(made.nodes[2].multicast && made.nodes[3].multicast);
  EXPECT_FALSE(made.nodes[0].multicast);
  EXPECT_EQ(made.links_out()[0], (std::vector<int32_t>{0, 2}));
}

// With equal latencies a message takes fewer links.
TEST(Topology, ShortRoutesWin) {
  const Topology made = parse_topology(
      "gpu a b\nnode s t\nlink a s 1 1\nlink s t 1 0\nlink t b 1 0\nlink s b 1 0\n", "x");
  Routes routes(made);
  EXPECT_EQ(routes.between(0, 1).links.size(), 2U);
  EXPECT_TRUE(routes.between(0, 0).links.empty());
}

TEST(Topology, AMissingFileIsNamed) {
  EXPECT_THROW((void)load_topology("/nowhere/topology"), Error);
}

}  // namespace
}  // namespace tern::coll
