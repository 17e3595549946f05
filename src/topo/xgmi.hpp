// SPDX-License-Identifier: Apache-2.0
// Links of xGMI between AMD's GPUs, from the kernel driver's topology (sysfs, class kfd).
// See: struct kfd_iolink_properties and amdgpu_amdkfd_get_xgmi_bandwidth_mbytes of Linux (2025).
#pragma once

#include <string>
#include <vector>

#include "topo/pci.hpp"

namespace tern::topo {

struct XgmiLink {
  PciAddress from, to;
  double gigabytes = 0;  // each way, of all links of the pair; 0: a kernel without the figure
};
/// Direct links alone: pairs across other GPUs are left out. Order of the driver's nodes.
[[nodiscard]] std::vector<XgmiLink> xgmi_links(const std::string& root = "");

}  // namespace tern::topo
