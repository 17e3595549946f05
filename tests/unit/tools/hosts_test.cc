// SPDX-License-Identifier: Apache-2.0
// Host lists and files, and names of this machine.
#include "tools/mpirun/hosts.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <fstream>

#include "base/error.hpp"
#include "topo/cpus.hpp"

namespace tern::mpirun {
namespace {

class HostFile : public ::testing::Test {
 protected:
  HostFile() {
    char name[] = "/tmp/tern-hosts-test.XXXXXX";
    ::close(::mkstemp(name));
    path = name;
  }
  ~HostFile() override { ::unlink(path.c_str()); }
  std::vector<Host> read(const char* text) const {
    std::ofstream(path) << text;
    std::vector<Host> hosts;
    add_host_file(hosts, path);
    return hosts;
  }
  std::string refusal(const char* text) const {
    try {
      (void)read(text);
    } catch (const Error& error) {
      return error.what();
    }
    return "(taken)";
  }
  std::string path;
};

TEST_F(HostFile, BothWaysOfWritingIt) {
  const auto hosts = read("# ours\na slots=4 max_slots=8\n\nb:2\n c  # last\n10.0.0.1 slots=1\n");
  ASSERT_EQ(hosts.size(), 4u);
  EXPECT_EQ(hosts[0].name, "a");
  EXPECT_EQ(hosts[0].slots, 4);
  EXPECT_EQ(hosts[1].slots, 2);
  EXPECT_EQ(hosts[2].name, "c");
  EXPECT_EQ(hosts[2].slots, 0);
  EXPECT_EQ(slots_of(hosts), 7);
}

TEST_F(HostFile, ErrorsNameFileAndLine) {
  EXPECT_EQ(refusal("a\nb slots=x\n"),
            path + ":2: \"x\" is not a number of ranks from 1 to 65536 for host b");
  EXPECT_EQ(refusal("a cores=2\n"),
            path + ":1: \"cores=2\" is unknown; the form of a line is: name slots=4");
  EXPECT_EQ(refusal("+n0\n"), path + ":1: \"+n0\" is not a host; the form is a,b:4");
  EXPECT_EQ(refusal("\n# only this\n"), path + " names no host");
}

TEST(Hosts, Addresses) {
  std::vector<Host> hosts;
  add_hosts(hosts, "::1,fe80::1,127.0.0.1:3");
  EXPECT_EQ(hosts[0].name, "::1");
  EXPECT_EQ(hosts[1].slots, 0);
  EXPECT_EQ(hosts[2].name, "127.0.0.1");
  EXPECT_EQ(hosts[2].slots, 3);
}

TEST(Hosts, ThisOne) {
  const std::string here = topo::host_name();
  EXPECT_TRUE(is_this_host("localhost"));
  EXPECT_TRUE(is_this_host("127.0.0.1"));
  EXPECT_TRUE(is_this_host(here));
  EXPECT_TRUE(is_this_host(here.substr(0, here.find('.'))));
  ::setenv("SLURMD_NODENAME", "node-of-slurm", 1);
  EXPECT_TRUE(is_this_host("node-of-slurm"));
  ::unsetenv("SLURMD_NODENAME");
}

TEST(Hosts, AnotherOne) {
  EXPECT_FALSE(is_this_host("192.0.2.7"));  // reserved (RFC 5737)
  const std::vector<Host> hosts = {{"localhost", 0}, {"192.0.2.7", 0}};
  ASSERT_NE(first_other_host(hosts), nullptr);
  EXPECT_EQ(first_other_host(hosts)->name, "192.0.2.7");
  EXPECT_EQ(first_other_host({{"localhost", 2}}), nullptr);
}

}  // namespace
}  // namespace tern::mpirun
