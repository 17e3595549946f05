// SPDX-License-Identifier: Apache-2.0
// PciTree: all PCI devices of a machine with the bridges above each, from sysfs.
// Why max_link_speed and max_link_width: the current speed of an idle link is low.
// Missing and meaningless attributes are unknown, never an error.
// Lifetime: a value. Cost: about 8 files a device.
// See: the kernel's Documentation/ABI/testing/sysfs-bus-pci.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "topo/pci.hpp"

namespace tern::topo {

/// The fastest link of a device upwards.
struct PciSpeed {
  double transfers = 0;  // GT/s a lane; 0: unknown
  int width = 0;         // lanes; 0: unknown
  [[nodiscard]] bool known() const noexcept { return transfers > 0 && width > 0; }
};
/// GB/s each way, less the encoding (8b/10b to PCIe 2, 128b/130b to 5, flits from 6 on); 0:
/// unknown.
[[nodiscard]] double gigabytes(const PciSpeed& speed) noexcept;

struct PciDevice {
  PciAddress address;
  uint32_t kind = 0;  // class: base, sub, interface
  uint32_t vendor = 0;
  int numa = -1;
  PciSpeed speed;
  std::vector<PciAddress> above;  // bridges, from the root port down
};
/// Classes 0x0302 and 0x1200, and 0x0300 and 0x0380 of makers of GPUs: servers have other displays.
[[nodiscard]] bool is_gpu(const PciDevice& device) noexcept;

class PciTree {
 public:
  explicit PciTree(const std::string& root = "");
  [[nodiscard]] const std::vector<PciDevice>& devices() const noexcept { return devices_; }
  /// Null: none is there.
  [[nodiscard]] const PciDevice* find(const PciAddress& address) const noexcept;
  /// Ascending by address.
  [[nodiscard]] std::vector<const PciDevice*> gpus() const;

 private:
  std::vector<PciDevice> devices_;  // ascending by address
};

[[nodiscard]] bool is_before(const PciAddress& one, const PciAddress& other) noexcept;

}  // namespace tern::topo
