// SPDX-License-Identifier: Apache-2.0
// The graph of a host, discovered: NVLink by NVML, xGMI by the kernel driver, PCIe by sysfs,
// network cards by distance. Why text: people edit the graph, and hosts compare texts.
//
// GPUs are g0, g1, ... by PCI address. Links have the published rates.
// Where NVLink or xGMI joins all GPUs, the graph has no PCIe. Latencies are
// assumptions.
// Threads: none of its own. Cost: milliseconds; NVML's first call tens of milliseconds.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "topo/nvml.hpp"

namespace tern::coll {

struct HostQuestion {
  std::string root;  // precedes /sys
  const topo::Nvml* nvml = nullptr;
  int most_gpus = 1 << 16;    // the first ones
  std::string slurm_address;  // SLURM_TOPOLOGY_ADDR: "switch.switch.host"
};
/// Statements of coll/topology/topology.hpp, with the origin of each line as a comment.
struct HostGraph {
  int gpus = 0;
  std::string inside;   // GPUs, switches, links
  std::string network;  // network switches, and links to them
  [[nodiscard]] std::string text() const { return inside + network; }
};
/// A host without GPUs has an empty graph.
[[nodiscard]] HostGraph discover_host(const HostQuestion& question);
/// This host, or, after "auto:", the host in a folder with /sys. SLURM's variables are read.
[[nodiscard]] HostGraph discover_by_name(const std::string& name, int most_gpus = 1 << 16);
/// The switches of SLURM_TOPOLOGY_ADDR, of which SLURM_TOPOLOGY_ADDR_PATTERN ("switch.switch.node")
/// says how many there are, as "switch.switch.host".
[[nodiscard]] std::string slurm_switches(const std::string& address, const std::string& pattern);
/// The text for a single host: the network as comments.
[[nodiscard]] std::string described(const HostGraph& graph);
/// "auto" or "auto:FOLDER".
[[nodiscard]] bool is_discovery(const std::string& name) noexcept;

}  // namespace tern::coll
