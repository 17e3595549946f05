// SPDX-License-Identifier: Apache-2.0
// Canonical texts: equal for equal graphs, and read back exactly.
#include "coll/topology/canonical.hpp"

#include <gtest/gtest.h>

#include <string>

#include "base/error.hpp"
#include "coll/topology/machines.hpp"
#include "coll/topology/routes.hpp"

namespace tern::coll {
namespace {

std::string canonical(const std::string& text) {
  return canonical_text(parse_topology(text, "text"));
}

TEST(Canonical, ManyTextsAreOneGraph) {
  const std::string wanted =
      "gpu a memory=0.5\ngpu g0\ngpu g1\nnode s multicast\nnet w\nlink a s 370.8 1.75\n"
      "link g0 s 10 1\nlink g1 s 10 1\noneway s w 2 0\noneway w g0 0.000001 3\n"
      "route a g0 via s\n";
  EXPECT_EQ(canonical("gpu a memory=0.5\ngpu g0 g1\nnode s multicast\nnet w\nlink a s 370.8 1.75\n"
                      "link g0..g1 s 10 1\noneway s w 2 0\noneway w g0 0.000001 3\n"
                      "route a g0 via s\n"),
            wanted);
  EXPECT_EQ(canonical("gpu a memory=.50 # a comment\r\n\ngpu g0..g1\nnode multicast s\nnet w\n"
                      "oneway w g0 0.000001 3.0\noneway s w 2.000 0\nlink g1 s 010 1\n"
                      "oneway s g0 10 1\noneway g0 s 10 1\nlink s a 370.8 1.75\n"
                      "route g0 a via s\n"),
            wanted);
  EXPECT_EQ(canonical(wanted), wanted);
}

TEST(Canonical, NodesButGpusMayChangeOrder) {
  const char* const links = "link a s 10 1\nlink b t 20 1\nlink s t 30 1\nroute a b via s t\n";
  const auto text = [&](const char* nodes) {
    return canonical_text(parse_topology(std::string(nodes) + links, "x"));
  };
  EXPECT_EQ(text("gpu a b\nnode s t\n"), text("node t\ngpu a b\nnode s\n"));
  EXPECT_NE(text("gpu a b\nnode s t\n"), text("gpu b a\nnode s t\n"));
}

TEST(Canonical, ADifferenceIsSeen) {
  const std::string base = "gpu a b\nlink a b 10 1\n";
  for (const char* other :
       {"gpu b a\nlink a b 10 1\n", "gpu a b\nlink a b 10.000001 1\n", "gpu a b\nlink a b 10 1.1\n",
        "gpu a b memory=1\nlink a b 10 1\n", "gpu a b\noneway a b 10 1\noneway b a 10 2\n",
        "gpu a b\nnode s\nlink a b 10 1\n"})
    EXPECT_NE(canonical(other), canonical(base)) << other;
}

TEST(Canonical, KnownMachinesReadBack) {
  for (const std::string& name : known_topologies()) {
    const Topology first = load_topology(name);
    const std::string text = canonical_text(first);
    const Topology second = parse_topology(text, name);
    EXPECT_EQ(canonical_text(second), text) << name;
    EXPECT_EQ(first.ranks(), second.ranks());
    EXPECT_EQ(first.links.size(), second.links.size());
    Routes one(first), two(second);
    for (int32_t to = 0; to < first.ranks(); ++to) {
      EXPECT_DOUBLE_EQ(one.between(0, to).latency, two.between(0, to).latency);
      EXPECT_EQ(one.between(0, to).mapped, two.between(0, to).mapped);
    }
  }
}

TEST(Canonical, AJobHasAGraphOrNone) {
  EXPECT_EQ(job_topology(""), nullptr);
  const auto job = job_topology("dgx-h100");
  ASSERT_NE(job, nullptr);
  EXPECT_NE(job->hash, 0U);
  EXPECT_NE(job->hash, job_topology("pcie-4")->hash);
  EXPECT_EQ(job->graph.ranks(), 8);
  try {
    (void)job_topology("/nowhere/graph");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("TERN_TOPOLOGY: the topology /nowhere/graph"),
              std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace tern::coll
