// SPDX-License-Identifier: Apache-2.0
// Selection of a host's network interfaces by words.
#include "btl/net/interfaces.hpp"

#include <gtest/gtest.h>

namespace tern::btl::net {
namespace {

TEST(Interfaces, AreNamedWithTheirAddresses) {
  EXPECT_EQ(words_on({}, "V"), "");
  EXPECT_EQ(words_on({{"eth0", "10.0.0.1"}}, "V"), "this host has eth0 (10.0.0.1)");
  EXPECT_EQ(words_on({{"eth0", "10.0.0.1"}, {"ib0", "10.1.0.1"}, {"eth1", "10.2.0.1"}}, "V"),
            "this host has eth0 (10.0.0.1), ib0 (10.1.0.1) and eth1 (10.2.0.1)");
}

TEST(Interfaces, ThoseOfContainersAreLeftOutByTheVariable) {
  EXPECT_EQ(
      words_on({{"eth0", "10.0.0.1"}, {"docker0", "172.17.0.1"}}, "V"),
      "this host has eth0 (10.0.0.1) and docker0 (172.17.0.1); docker0 reaches no other host: "
      "V=eth0 excludes it");
  EXPECT_EQ(
      words_on({{"virbr0", "192.168.122.1"}, {"eth0", "a"}, {"br-12ab", "b"}, {"ib0", "c"}}, "V"),
      "this host has virbr0 (192.168.122.1), eth0 (a), br-12ab (b) and ib0 (c); virbr0 and "
      "br-12ab reach no other host: V=eth0,ib0 excludes them");
  EXPECT_EQ(words_on({{"docker0", "172.17.0.1"}}, "V"),
            "this host has docker0 (172.17.0.1); docker0 reaches no other host");
}

TEST(Interfaces, TheLoopbackIsNone) {
  for (const Interface& one : interfaces()) {
    EXPECT_NE(one.name, "lo");
    EXPECT_FALSE(one.address.empty());
  }
}

}  // namespace
}  // namespace tern::btl::net
