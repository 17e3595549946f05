// SPDX-License-Identifier: Apache-2.0
#include "topo/xgmi.hpp"

#include <filesystem>
#include <fstream>
#include <map>
#include <system_error>

#include "topo/attribute.hpp"

namespace tern::topo {
namespace {

constexpr uint64_t kXgmi = 11, kWeightOfAHop = 15, kMostMbytes = 100000000;
constexpr int kMostProperties = 256;

/// Lines "name value".
std::map<std::string, uint64_t> properties(const std::filesystem::path& file) {
  std::map<std::string, uint64_t> found;
  std::error_code none;
  if (!std::filesystem::is_regular_file(file, none)) return found;
  std::ifstream stream(file);
  std::string name;
  uint64_t value = 0;
  for (int lines = 0; lines < kMostProperties && stream >> name >> value; ++lines)
    found.emplace(name, value);
  return found;
}

uint64_t value_of(const std::map<std::string, uint64_t>& of, const char* name) {
  const auto found = of.find(name);
  return found == of.end() ? 0 : found->second;
}

/// location_id has bus, device and function as in PCI.
PciAddress address_of(const std::map<std::string, uint64_t>& node) {
  const uint64_t place = value_of(node, "location_id"), domain = value_of(node, "domain");
  if (value_of(node, "simd_count") == 0 || place > 0xffff || domain > 0xffffffff) return {};
  return {static_cast<uint32_t>(domain), static_cast<uint8_t>(place >> 8),
          static_cast<uint8_t>(place >> 3 & 31), static_cast<uint8_t>(place & 7), 1};
}

}  // namespace

std::vector<XgmiLink> xgmi_links(const std::string& root) {
  const std::filesystem::path nodes = root + "/sys/class/kfd/kfd/topology/nodes";
  std::map<std::string, PciAddress> gpus;
  for (const std::string& node : names_in(nodes))
    if (const PciAddress address = address_of(properties(nodes / node / "properties"));
        address.known != 0)
      gpus.emplace(node, address);
  std::vector<XgmiLink> links;
  for (const auto& [node, from] : gpus)
    for (const std::string& name : names_in(nodes / node / "io_links")) {
      const auto link = properties(nodes / node / "io_links" / name / "properties");
      const auto to = gpus.find(std::to_string(value_of(link, "node_to")));
      const uint64_t mbytes = value_of(link, "max_bandwidth");
      const bool direct = mbytes > 0 || value_of(link, "weight") == kWeightOfAHop;
      if (value_of(link, "type") != kXgmi || to == gpus.end() || !direct || mbytes > kMostMbytes ||
          to->second == from)
        continue;
      links.push_back({from, to->second, static_cast<double>(mbytes) / 1000});
    }
  return links;
}

}  // namespace tern::topo
