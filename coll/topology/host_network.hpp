// SPDX-License-Identifier: Apache-2.0
// Network cards of a host, each GPU's by PCI distance, and the network above them: SLURM's
// switches, else one switch per rail, not blocking (an assumption). Rails are numbered by their
// first GPU. See: SLURM_TOPOLOGY_ADDR in Slurm's sbatch(1), topology/tree.
#pragma once

#include <string>
#include <vector>

#include "coll/topology/pci_ways.hpp"
#include "topo/network_cards.hpp"
#include "topo/pci_tree.hpp"

namespace tern::coll {

struct HostCard {
  topo::NetworkCard card;
  const topo::PciDevice* device;
};
/// A GPU's share of a card, without the shares of other GPUs.
struct CardShare {
  int gpu;
  size_t card;
  double share;
  double limit;  // GB/s of the GPU's PCIe
};
struct HostCards {
  std::vector<HostCard> cards;    // by rail
  std::vector<CardShare> shares;  // by GPU
};
[[nodiscard]] HostCards cards_near(const topo::PciTree& tree,
                                   const std::vector<const topo::PciDevice*>& gpus,
                                   const std::string& root);
/// The statements. `ways`: of the cards, where PCIe is part of the graph; else empty.
[[nodiscard]] std::string network_lines(const HostCards& cards, const std::vector<PciWay>& ways,
                                        const std::string& slurm_address);
/// Two digits after the point, rounded down; at least 0.01.
[[nodiscard]] std::string rate_in_text(double bandwidth);

}  // namespace tern::coll
