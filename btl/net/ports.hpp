// SPDX-License-Identifier: Apache-2.0
// Ports of RDMA adapters, with tables of addresses and partition keys, from sysfs.
// Why: UCX leaves out a port without the wanted address, and fails without a cure for a wrong key.
#pragma once

#include <string>
#include <vector>

#include "base/params.hpp"

namespace tern::btl::net {

struct Port {
  struct Gid {
    int index;
    std::string text;
  };
  std::string name;             // "mlx5_0:1"
  std::vector<Gid> gids;        // without unused entries
  std::vector<unsigned> pkeys;  // without unused entries
};
/// The active ports; `root` precedes /sys.
[[nodiscard]] std::vector<Port> active_ports(const std::string& root = "");
/// The ports in UCX_NET_DEVICES ("mlx5_0:1,eth0"); all ports without such a name.
[[nodiscard]] std::vector<Port> named_in(const std::string& devices, std::vector<Port> ports);
/// The ports with TERN_NET_GID and TERN_NET_PKEY. Throws Error if every port lacks one.
[[nodiscard]] std::vector<Port> suitable(const Params& params, std::vector<Port> ports);

}  // namespace tern::btl::net
