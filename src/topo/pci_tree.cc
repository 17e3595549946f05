// SPDX-License-Identifier: Apache-2.0
#include "topo/pci_tree.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <tuple>

#include "topo/attribute.hpp"

namespace tern::topo {
namespace {

constexpr uint32_t kNvidia = 0x10de, kAmd = 0x1002;
constexpr double kMostTransfers = 256;
constexpr uint64_t kMostWidth = 32, kMostNuma = 1 << 20;
constexpr size_t kMostBridges = 64;

auto key_of(const PciAddress& address) noexcept {
  return std::tuple(address.domain, address.bus, address.device, address.function);
}

// "32.0 GT/s PCIe", "8 GT/s", "Unknown"; width 0 and 255 are unknown.
PciSpeed speed_of(const std::filesystem::path& folder) {
  PciSpeed speed;
  const double transfers = std::strtod(attribute(folder / "max_link_speed").c_str(), nullptr);
  if (transfers > 0 && transfers <= kMostTransfers) speed.transfers = transfers;
  speed.width =
      static_cast<int>(attribute_number(folder / "max_link_width", kMostWidth).value_or(0));
  return speed;
}

/// Each bridge once, whatever a damaged tree repeats.
std::vector<PciAddress> bridges_above(const std::filesystem::path& folder) {
  std::vector<PciAddress> above;
  for (const auto& part : folder.parent_path())
    if (const auto address = parse_pci_address(part.string());
        address && above.size() < kMostBridges &&
        std::find(above.begin(), above.end(), *address) == above.end())
      above.push_back(*address);
  return above;
}

}  // namespace

double gigabytes(const PciSpeed& speed) noexcept {
  if (!speed.known()) return 0;
  const double share = speed.transfers < 8    ? 8.0 / 10
                       : speed.transfers < 64 ? 128.0 / 130
                                              : 242.0 / 256;
  return speed.transfers * speed.width * share / 8;
}

bool is_gpu(const PciDevice& device) noexcept {
  const uint32_t kind = device.kind >> 8;
  const bool maker = device.vendor == kNvidia || device.vendor == kAmd;
  return kind == 0x0302 || kind == 0x1200 || (maker && (kind == 0x0300 || kind == 0x0380));
}

bool is_before(const PciAddress& one, const PciAddress& other) noexcept {
  return key_of(one) < key_of(other);
}

PciTree::PciTree(const std::string& root) {
  const std::filesystem::path all = root + "/sys/bus/pci/devices";
  for (const std::string& name : names_in(all)) {
    const auto address = parse_pci_address(name);
    std::error_code fault;
    const std::filesystem::path folder = std::filesystem::canonical(all / name, fault);
    if (!address || fault) continue;
    PciDevice device;
    device.address = *address;
    device.kind = static_cast<uint32_t>(attribute_number(folder / "class", 0xffffff).value_or(0));
    device.vendor = static_cast<uint32_t>(attribute_number(folder / "vendor", 0xffff).value_or(0));
    if (const auto numa = attribute_number(folder / "numa_node", kMostNuma))
      device.numa = static_cast<int>(*numa);
    device.speed = speed_of(folder);
    device.above = bridges_above(folder);
    devices_.push_back(std::move(device));
  }
  std::sort(devices_.begin(), devices_.end(), [](const PciDevice& one, const PciDevice& other) {
    return is_before(one.address, other.address);
  });
}

const PciDevice* PciTree::find(const PciAddress& address) const noexcept {
  const auto at = std::lower_bound(devices_.begin(), devices_.end(), address,
                                   [](const PciDevice& one, const PciAddress& wanted) {
                                     return is_before(one.address, wanted);
                                   });
  return at != devices_.end() && key_of(at->address) == key_of(address) ? &*at : nullptr;
}

std::vector<const PciDevice*> PciTree::gpus() const {
  std::vector<const PciDevice*> found;
  for (const PciDevice& device : devices_)
    if (is_gpu(device)) found.push_back(&device);
  return found;
}

}  // namespace tern::topo
