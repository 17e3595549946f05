// SPDX-License-Identifier: Apache-2.0
// The ways of GPUs and network cards through PCIe: switches, processors, and a link per device.
// A switch is one node, without ports. Switches with a single way down
// are left out.
// Bridges alternate: root port, then a switch's upper and lower port, then the next switch.
#pragma once

#include <string>
#include <vector>

#include "topo/pci_tree.hpp"

namespace tern::coll {

struct PciWay {
  std::string from, to;
  double bandwidth;  // GB/s each way
  std::string origin;
};
struct PciWays {
  struct Node {
    std::string name, origin;
  };
  std::vector<Node> nodes;
  std::vector<PciWay> links;  // GPUs' to the node above, then switches', then processors'
  std::vector<PciWay> cards;  // of each card, to the node above; `from` is empty
};
/// GPU i has the name g<i>. Switches and processors are numbered by the first GPU below.
[[nodiscard]] PciWays pci_ways(const topo::PciTree& tree,
                               const std::vector<const topo::PciDevice*>& gpus,
                               const std::vector<const topo::PciDevice*>& cards);
/// GB/s each way of the link above a device, of the slower end.
struct PciRate {
  double bandwidth;
  std::string origin;
};
[[nodiscard]] PciRate pci_rate(const topo::PciDevice& device, const topo::PciDevice* port);

}  // namespace tern::coll
