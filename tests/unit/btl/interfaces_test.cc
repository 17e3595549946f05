// SPDX-License-Identifier: Apache-2.0
// Selection of a host's network interfaces by words.
#include "btl/net/interfaces.hpp"

#include <gtest/gtest.h>

namespace tern::btl::net {
namespace {

const std::vector<Interface> kTwo = {{"eth0", "10.0.0.1"}, {"docker0", "172.17.0.1"}};
std::string nowhere(const std::string&) { return ""; }

TEST(Interfaces, AreNamedWithTheirAddresses) {
  EXPECT_EQ(words_on({}, {}, "V"), "");
  EXPECT_EQ(words_on({{"eth0", "10.0.0.1"}, {"eth0", "fd00::1"}}, {}, "V"),
            "this host has eth0 (10.0.0.1) and eth0 (fd00::1)");
  EXPECT_EQ(words_on({{"eth0", "10.0.0.1"}, {"ib0", "10.1.0.1"}, {"eth1", "10.2.0.1"}}, {}, "V"),
            "this host has eth0 (10.0.0.1), ib0 (10.1.0.1) and eth1 (10.2.0.1); V=NAME chooses");
}

TEST(Interfaces, ThoseOfContainersAreLeftOut) {
  EXPECT_EQ(words_on(kTwo, choose(kTwo, {}, nowhere), "V"),
            "this host has eth0 (10.0.0.1) and docker0 (172.17.0.1); used: eth0, because docker0 "
            "reaches no other host; V=NAME chooses others");
  const Choice several = choose(
      {{"virbr0", "192.168.122.1"}, {"eth0", "a"}, {"br-12ab", "b"}, {"ib0", "c"}}, {}, nowhere);
  EXPECT_EQ(names_of(several.used), "eth0,ib0");
  EXPECT_EQ(several.why, "virbr0 and br-12ab reach no other host");
  EXPECT_TRUE(choose({{"docker0", "172.17.0.1"}}, {}, nowhere).used.empty());
}

TEST(Interfaces, ThoseWithoutCarrierAreLeftOut) {
  const Choice choice = choose({{"eth0", "a", false}, {"eth1", "b"}}, {}, nowhere);
  EXPECT_EQ(names_of(choice.used), "eth1");
  EXPECT_EQ(choice.why, "eth0 has no carrier");
}

TEST(Interfaces, TheKernelsWayToPeersIsPreferred) {
  const std::vector<Interface> all = {{"eth0", "10.0.0.1"}, {"eth1", "10.1.0.1"}};
  const Choice choice =
      choose(all, {"10.1.0.2", "10.1.0.3"}, [](const std::string&) { return "10.1.0.1"; });
  EXPECT_EQ(names_of(choice.used), "eth1");
  EXPECT_EQ(choice.why, "the names of other hosts lead to eth1, not to eth0");
  // Several ways, and ways over the loopback, exclude nothing.
  EXPECT_TRUE(choose(all, {"x", "y"}, [](const std::string& to) {
                return to == "x" ? "10.0.0.1" : "10.1.0.1";
              }).used.empty());
  EXPECT_TRUE(choose(all, {"x", "y"}, [](const std::string& to) {
                return to == "x" ? "10.1.0.1" : "10.0.0.1";
              }).used.empty());
  EXPECT_TRUE(choose(all, {"x"}, [](const std::string&) { return "127.0.0.1"; }).used.empty());
}

TEST(Interfaces, TheRouteIsTheKernels) {
  EXPECT_EQ(route("127.0.0.1"), "127.0.0.1");
  EXPECT_EQ(route("no address"), "");
}

TEST(Interfaces, TheLoopbackIsNone) {
  for (const Interface& one : interfaces()) {
    EXPECT_NE(one.name, "lo");
    EXPECT_FALSE(one.address.empty());
  }
}

}  // namespace
}  // namespace tern::btl::net
