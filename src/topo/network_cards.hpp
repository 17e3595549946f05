// SPDX-License-Identifier: Apache-2.0
// Network cards of a machine with their speeds, from sysfs.
#pragma once

#include <string>
#include <vector>

#include "topo/pci.hpp"

namespace tern::topo {

struct NetworkCard {
  std::string name;  // mlx5_0, eth0
  PciAddress address;
  double gbit = 0;  // of all active ports
};
/// RDMA adapters with an active port, else interfaces of Ethernet with a speed. Cards without a PCI
/// address are left out. Ascending by PCI address.
[[nodiscard]] std::vector<NetworkCard> network_cards(const std::string& root = "");

}  // namespace tern::topo
