// SPDX-License-Identifier: Apache-2.0
// PCI: reading /sys/class/infiniband and the folders of PCI devices.
#include "topo/pci.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "base/error.hpp"
#include "topo/attribute.hpp"

namespace tern::topo {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMostNodes = 1 << 16;

std::string target_name(const fs::path& link) {
  std::error_code none;
  const fs::path target = fs::read_symlink(link, none);
  return none ? std::string() : target.filename().string();
}

/// A shorter number is smaller.
bool comes_before(const RdmaAdapter& one, const RdmaAdapter& other) {
  const auto stem = [](const std::string& name) { return name.find_last_not_of("0123456789") + 1; };
  const size_t mine = stem(one.name), theirs = stem(other.name);
  if (one.name.substr(0, mine) != other.name.substr(0, theirs)) return one.name < other.name;
  if (one.name.size() != other.name.size()) return one.name.size() < other.name.size();
  return one.name < other.name;
}

/// The path is host bridge ("pci0000:16"), ports, device.
std::vector<std::string> path_of(const PciAddress& address, const std::string& root) {
  std::error_code none;
  const fs::path place =
      fs::weakly_canonical(fs::path(root + "/sys/bus/pci/devices") / to_text(address), none);
  std::vector<std::string> parts;
  for (const fs::path& part : place) {
    const std::string name = part.string();
    const bool bridge = parts.empty() && name.starts_with("pci") && name.size() > 3;
    if (bridge || (!parts.empty() && parse_pci_address(name))) parts.push_back(name);
  }
  return parts;
}

}  // namespace

std::optional<PciAddress> parse_pci_address(const std::string& text) {
  unsigned domain = 0, bus = 0, device = 0, function = 0;
  int used = 0;
  if (std::sscanf(text.c_str(), "%8x:%2x:%2x.%1x%n", &domain, &bus, &device, &function, &used) !=
          4 ||
      static_cast<size_t>(used) != text.size() || device > 31 || function > 7)
    return std::nullopt;
  return PciAddress{domain, static_cast<uint8_t>(bus), static_cast<uint8_t>(device),
                    static_cast<uint8_t>(function), 1};
}

std::string to_text(const PciAddress& address) {
  return strf("%04x:%02x:%02x.%x", address.domain, address.bus, address.device, address.function);
}

int numa_of(const PciAddress& address, const std::string& root) {
  const auto node = attribute_number(
      root + "/sys/bus/pci/devices/" + to_text(address) + "/numa_node", kMostNodes);
  return node ? static_cast<int>(*node) : -1;
}

std::vector<RdmaAdapter> rdma_adapters(const std::string& root) {
  std::vector<RdmaAdapter> adapters;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(root + "/sys/class/infiniband", none)) {
    RdmaAdapter adapter;
    adapter.name = entry.path().filename().string();
    adapter.driver = target_name(entry.path() / "device/driver");
    adapter.address =
        parse_pci_address(target_name(entry.path() / "device")).value_or(PciAddress{});
    adapters.push_back(std::move(adapter));
  }
  std::sort(adapters.begin(), adapters.end(), comes_before);
  return adapters;
}

const char* name_of(PciDistance distance) noexcept {
  constexpr const char* kNames[] = {"PIX", "PXB", "PHB", "NODE", "SYS"};
  return kNames[static_cast<size_t>(distance)];
}

PciDistance pci_distance(const PciAddress& one, const PciAddress& other, const std::string& root) {
  const std::vector<std::string> here = path_of(one, root), there = path_of(other, root);
  size_t common = 0;
  while (common < std::min(here.size(), there.size()) && here[common] == there[common]) ++common;
  if (common > 1) {
    const size_t longest = std::max(here.size(), there.size()) - common;
    return longest <= 2 ? PciDistance::kOneSwitch : PciDistance::kSwitches;
  }
  if (common == 1) return PciDistance::kHostBridge;
  const int node = numa_of(one, root);
  return node >= 0 && node == numa_of(other, root) ? PciDistance::kNode : PciDistance::kSystem;
}

NearestAdapters nearest_adapters(const PciAddress& gpu, const std::vector<RdmaAdapter>& adapters,
                                 const std::string& root) {
  NearestAdapters nearest;
  for (const RdmaAdapter& adapter : adapters) {
    if (adapter.address.known == 0) continue;
    const PciDistance distance = pci_distance(gpu, adapter.address, root);
    if (distance > nearest.distance) continue;
    if (distance < nearest.distance) nearest.names.clear();
    nearest.distance = distance;
    nearest.names.push_back(adapter.name);
  }
  return nearest;
}

}  // namespace tern::topo
