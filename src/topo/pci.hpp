// SPDX-License-Identifier: Apache-2.0
// PCI addresses, RDMA adapters, and the distance between adapter and GPU, from sysfs. `root`
// precedes /sys.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tern::topo {

/// Sent byte for byte.
struct PciAddress {
  uint32_t domain = 0;
  uint8_t bus = 0, device = 0, function = 0;
  uint8_t known = 0;
  bool operator==(const PciAddress&) const = default;
};
/// "0000:3B:00.0", with a domain of any length.
[[nodiscard]] std::optional<PciAddress> parse_pci_address(const std::string& text);
[[nodiscard]] std::string to_text(const PciAddress& address);
/// The NUMA node of a device, or -1.
[[nodiscard]] int numa_of(const PciAddress& address, const std::string& root = "");

struct RdmaAdapter {
  std::string name;
  std::string driver;  // "mlx5_core"; empty: unknown
  PciAddress address;
};
/// The adapters are sorted by name, mlx5_2 before mlx5_10.
[[nodiscard]] std::vector<RdmaAdapter> rdma_adapters(const std::string& root = "");

/// The distance is the most distant part of the path, as in `nvidia-smi topo`.
enum class PciDistance : uint8_t {
  kOneSwitch,   // PIX: at most one PCIe switch
  kSwitches,    // PXB: several switches, no host bridge
  kHostBridge,  // PHB
  kNode,        // NODE: host bridges of one NUMA node
  kSystem,      // SYS: several NUMA nodes, or unknown
};
[[nodiscard]] const char* name_of(PciDistance distance) noexcept;
[[nodiscard]] PciDistance pci_distance(const PciAddress& one, const PciAddress& other,
                                       const std::string& root = "");

struct NearestAdapters {
  PciDistance distance = PciDistance::kSystem;
  std::vector<std::string> names;
};
[[nodiscard]] NearestAdapters nearest_adapters(const PciAddress& gpu,
                                               const std::vector<RdmaAdapter>& adapters,
                                               const std::string& root = "");

}  // namespace tern::topo
