// SPDX-License-Identifier: Apache-2.0
// PCI addresses, RDMA adapters, and the distance between an adapter and a GPU, read from sysfs.
// Why: CUDA, NVML and verbs number devices differently; all of them know PCI addresses. `root`
// stands before /sys: a test passes a folder with a captured tree.
// Threads: any. Each call reads anew.
// See: tests/unit/topo/machines_test.cc (six machines).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tern::topo {

/// Sent as bytes.
struct PciAddress {
  uint32_t domain = 0;
  uint8_t bus = 0, device = 0, function = 0;
  uint8_t known = 0;  // 0: no address
  bool operator==(const PciAddress&) const = default;
};
/// Of "0000:3B:00.0", with a domain of any length; empty for another text.
[[nodiscard]] std::optional<PciAddress> parse_pci_address(const std::string& text);
/// "0000:3b:00.0", as sysfs writes it.
[[nodiscard]] std::string to_text(const PciAddress& address);

struct RdmaAdapter {
  std::string name;    // "mlx5_0"
  std::string driver;  // "mlx5_core"; empty: not known
  PciAddress address;  // not known: an adapter in software
};
/// In order of names; mlx5_2 stands before mlx5_10.
[[nodiscard]] std::vector<RdmaAdapter> rdma_adapters(const std::string& root = "");

/// The longest part of the path between two devices, with the words of `nvidia-smi topo`.
enum class PciDistance : uint8_t {
  kOneSwitch,   // PIX: at most one PCIe switch
  kSwitches,    // PXB: several, and no host bridge
  kHostBridge,  // PHB: a host bridge
  kNode,        // NODE: host bridges of one NUMA node
  kSystem,      // SYS: NUMA nodes, or not known
};
[[nodiscard]] const char* name_of(PciDistance distance) noexcept;
[[nodiscard]] PciDistance pci_distance(const PciAddress& one, const PciAddress& other,
                                       const std::string& root = "");

struct NearestAdapters {
  PciDistance distance = PciDistance::kSystem;
  std::vector<std::string> names;  // all adapters at this distance; empty: no adapters
};
[[nodiscard]] NearestAdapters nearest_adapters(const PciAddress& gpu,
                                               const std::vector<RdmaAdapter>& adapters,
                                               const std::string& root = "");

}  // namespace tern::topo
