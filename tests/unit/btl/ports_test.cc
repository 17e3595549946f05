// SPDX-License-Identifier: Apache-2.0
// Ports of RDMA adapters, in a copy of sysfs.
#include "btl/net/ports.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "base/error.hpp"

namespace tern::btl::net {
namespace {

namespace fs = std::filesystem;

class Ports : public testing::Test {
 protected:
  Ports() {
    std::string name = (fs::temp_directory_path() / "tern_ports_XXXXXX").string();
    root_ = ::mkdtemp(name.data());
  }
  ~Ports() override { fs::remove_all(root_); }

  void add(const std::string& adapter, const char* state, const std::vector<std::string>& gids,
           const std::vector<std::string>& keys) {
    const fs::path port = fs::path(root_) / "sys/class/infiniband" / adapter / "ports/1";
    fs::create_directories(port / "gids");
    fs::create_directories(port / "pkeys");
    std::ofstream(port / "state") << state << "\n";
    for (size_t i = 0; i < gids.size(); ++i)
      std::ofstream(port / "gids" / std::to_string(i)) << gids[i] << "\n";
    for (size_t i = 0; i < keys.size(); ++i)
      std::ofstream(port / "pkeys" / std::to_string(i)) << keys[i] << "\n";
  }
  void add_two() {
    add("mlx5_0", "4: ACTIVE", {kLocal, kFour}, {"0xffff", "0x0000", "0x8001"});
    add("mlx5_1", "4: ACTIVE", {kLocal, kUnused}, {"0x7fff"});
  }
  std::string names(const Params& params) {
    std::string text;
    for (const Port& port : suitable(params, active_ports(root_))) text += port.name + " ";
    return text;
  }
  std::string error(const Params& params) {
    try {
      (void)suitable(params, active_ports(root_));
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

  const std::string kLocal = "fe80:0000:0000:0000:5054:00ff:fe77:0101";
  const std::string kFour = "0000:0000:0000:0000:0000:ffff:0a4d:0001";
  const std::string kUnused = "0000:0000:0000:0000:0000:0000:0000:0000";
  std::string root_;
};

Params wish(const char* name, const char* value) {
  Params params;
  params.set(name, value);
  return params;
}

TEST_F(Ports, ActiveOnesHaveTheirTables) {
  add_two();
  add("mlx5_2", "1: DOWN", {kLocal}, {"0xffff"});
  const std::vector<Port> ports = active_ports(root_);
  ASSERT_EQ(ports.size(), 2U);
  EXPECT_EQ(ports[0].name, "mlx5_0:1");
  EXPECT_EQ(ports[0].gids.size(), 2U);
  EXPECT_EQ(ports[0].pkeys, (std::vector<unsigned>{0xffff, 0x8001}));
  EXPECT_EQ(ports[1].gids.size(), 1U);
  EXPECT_TRUE(active_ports("/nowhere").empty());
}

TEST_F(Ports, AWishSelectsThem) {
  add_two();
  EXPECT_EQ(names(Params()), "mlx5_0:1 mlx5_1:1 ");
  EXPECT_EQ(names(wish("TERN_NET_GID", "0")), "mlx5_0:1 mlx5_1:1 ");
  EXPECT_EQ(names(wish("TERN_NET_GID", "1")), "mlx5_0:1 ");
  EXPECT_EQ(names(wish("TERN_NET_PKEY", "0x1")), "mlx5_0:1 ");
  EXPECT_EQ(names(wish("TERN_NET_PKEY", "0xffff")), "mlx5_0:1 mlx5_1:1 ");
}

TEST_F(Ports, AWishThatNoneFulfilsIsAnError) {
  add_two();
  EXPECT_EQ(error(wish("TERN_NET_GID", "7")),
            "TERN_NET_GID=7: no active port of this host has an address at this index; the "
            "addresses here: mlx5_0:1 0 " +
                kLocal + ", mlx5_0:1 1 " + kFour + ", mlx5_1:1 0 " + kLocal +
                ". Set another index, or unset TERN_NET_GID");
  EXPECT_EQ(error(wish("TERN_NET_PKEY", "0x8002")),
            "TERN_NET_PKEY=0x8002: no active port of this host is in this partition; the keys "
            "here: mlx5_0:1 0xffff, mlx5_0:1 0x8001, mlx5_1:1 0x7fff. Set another key, or unset "
            "TERN_NET_PKEY");
}

TEST_F(Ports, AHostWithoutAdaptersHasNone) {
  EXPECT_EQ(error(wish("TERN_NET_GID", "7")), "");
  EXPECT_EQ(names(wish("TERN_NET_PKEY", "0x8002")), "");
}

TEST_F(Ports, TheUsersDevicesSelectThem) {
  add_two();
  const auto named = [&](const char* devices) {
    std::string text;
    for (const Port& port : named_in(devices, active_ports(root_))) text += port.name + " ";
    return text;
  };
  EXPECT_EQ(named("eth0,mlx5_1:1"), "mlx5_1:1 ");
  EXPECT_EQ(named("mlx5_0"), "mlx5_0:1 ");
  EXPECT_EQ(named("all"), "mlx5_0:1 mlx5_1:1 ");
  EXPECT_EQ(named("eth0"), "") << "TCP only";
}

}  // namespace
}  // namespace tern::btl::net
