// SPDX-License-Identifier: Apache-2.0
#include "coll/topology/host_graph.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <numeric>

#include "base/error.hpp"
#include "coll/topology/host_network.hpp"
#include "coll/topology/pci_ways.hpp"
#include "topo/pci_tree.hpp"
#include "topo/xgmi.hpp"

namespace tern::coll {
namespace {

using topo::PciDevice;

constexpr std::string_view kSwitchWord = "switch.";
constexpr double kAssumedNvlink = 25, kAssumedXgmi = 50;  // GB/s of a link each way
constexpr double kMostLinkRate = 1e6;                     // GB/s
constexpr const char *kDirectLatency = "3",
                     *kLegLatency = "1.5";  // us: a direct link, a leg to a switch
constexpr const char *kPciLatency = "2.85", *kBridgeLatency = "0.5";  // us: PCIe

struct FabricLink {
  double bandwidth = 0;  // GB/s, of both reports the lower
  std::string origin;
};

/// NVLink and xGMI between the GPUs of a host.
class Fabric {
 public:
  Fabric(const HostQuestion& question, const std::vector<const PciDevice*>& gpus) : gpus_(gpus) {
    for (int gpu = 0; gpu < count(); ++gpu) add_nvlinks(question, gpu);
    for (const topo::XgmiLink& link : topo::xgmi_links(question.root)) add_xgmi(link);
    keep_both_ways();
  }

  [[nodiscard]] const std::map<std::pair<int, int>, FabricLink>& pairs() const noexcept {
    return pairs_;
  }
  [[nodiscard]] const std::map<int, FabricLink>& legs() const noexcept { return legs_; }
  [[nodiscard]] const std::string& name_of_switch() const noexcept { return switch_; }
  [[nodiscard]] const std::string& why_not() const noexcept { return why_not_; }

  [[nodiscard]] bool joins_all() const {
    std::vector<int> group(gpus_.size());
    std::iota(group.begin(), group.end(), 0);
    const auto join = [&](int a, int b) {
      const int from = group[static_cast<size_t>(a)], to = group[static_cast<size_t>(b)];
      std::replace(group.begin(), group.end(), from, to);
    };
    for (const auto& [ends, pair] : pairs_) join(ends.first, ends.second);
    for (const auto& [gpu, leg] : legs_) join(gpu, legs_.begin()->first);
    return std::all_of(group.begin(), group.end(), [&](int one) { return one == group[0]; });
  }

 private:
  [[nodiscard]] int count() const noexcept { return static_cast<int>(gpus_.size()); }
  [[nodiscard]] int gpu_at(const topo::PciAddress& address) const noexcept {
    for (int i = 0; i < count(); ++i) {
      const topo::PciAddress& one = gpus_[static_cast<size_t>(i)]->address;
      if (one.domain == address.domain && one.bus == address.bus && one.device == address.device &&
          one.function == address.function)
        return i;
    }
    return -1;
  }

  // A far end without a type that is no GPU of the host is a switch that a virtual machine hides.
  void add_nvlinks(const HostQuestion& question, int gpu) {
    constexpr uint32_t kNvidia = 0x10de;
    const PciDevice& device = *gpus_[static_cast<size_t>(gpu)];
    if (question.nvml == nullptr || device.vendor != kNvidia) return;
    const topo::NvLinks links = question.nvml->links_of(device.address);
    if (!links.known()) why_not_ = links.why_not;
    if (!links.known()) return;
    const double known = question.nvml->link_rate(device.address);
    const double rate = known > 0 ? known : kAssumedNvlink;
    const std::string each = strf("links of %g GB/s%s", rate, known > 0 ? "" : " (assumed)");
    std::map<int, int> ends;
    for (const topo::PciAddress& end : links.gpus)
      if (const int other = gpu_at(end); other >= 0 && other != gpu) ++ends[other];
    int direct = 0;
    for (const auto& [other, many] : ends) {
      direct += many;
      reports_[{gpu, other}] = {many * rate, strf("NVML: %d %s", many, each.c_str())};
    }
    const int hidden = std::max(0, links.unknown - direct);
    const int up = links.to_switches + hidden;
    if (up == 0) return;
    legs_[gpu] = {up * rate, strf("NVML: %d %s to switches%s", up, each.c_str(),
                                  hidden > 0 ? " (far ends unknown)" : "")};
    const std::string shared = question.nvml->shared_fabric(device.address);
    if (!shared.empty()) switch_ = "nvl-" + shared;
  }

  void add_xgmi(const topo::XgmiLink& link) {
    const int from = gpu_at(link.from), to = gpu_at(link.to);
    if (from < 0 || to < 0) return;
    const bool known = link.gigabytes > 0;
    FabricLink& pair = reports_[{from, to}];
    pair.bandwidth += known ? link.gigabytes : kAssumedXgmi;
    pair.origin = known ? "kernel driver: xGMI" : "kernel driver: xGMI, 50 GB/s assumed";
  }

  // Both ends report a link; a GPU that NVML hides reports nothing.
  void keep_both_ways() {
    for (const auto& [ends, pair] : reports_) {
      const auto back = reports_.find({ends.second, ends.first});
      if (back != reports_.end() && ends.first > ends.second) continue;
      const bool slower = back != reports_.end() && back->second.bandwidth < pair.bandwidth;
      pairs_[{std::min(ends.first, ends.second), std::max(ends.first, ends.second)}] =
          slower ? back->second : pair;
    }
  }

  const std::vector<const PciDevice*>& gpus_;
  std::map<std::pair<int, int>, FabricLink> reports_, pairs_;
  std::map<int, FabricLink> legs_;
  std::string switch_ = "sw", why_not_;
};

std::string link_line(const std::string& from, const std::string& to, double bandwidth,
                      const char* latency, const std::string& origin) {
  return strf("link %s %s %s %s  # %s\n", from.c_str(), to.c_str(),
              rate_in_text(std::min(bandwidth, kMostLinkRate)).c_str(), latency, origin.c_str());
}

std::string fabric_lines(const Fabric& fabric) {
  std::string text;
  if (!fabric.legs().empty()) text += "node " + fabric.name_of_switch() + "  # NVSwitch\n";
  for (const auto& [gpu, leg] : fabric.legs())
    text += link_line(strf("g%d", gpu), fabric.name_of_switch(), leg.bandwidth, kLegLatency,
                      leg.origin);
  for (const auto& [ends, pair] : fabric.pairs())
    text += link_line(strf("g%d", ends.first), strf("g%d", ends.second), pair.bandwidth,
                      kDirectLatency, pair.origin);
  return text;
}

std::string pci_lines(const PciWays& ways) {
  std::string text;
  for (const PciWays::Node& node : ways.nodes)
    text += "node " + node.name + "  # " + node.origin + "\n";
  for (const PciWay& way : ways.links)
    text += link_line(way.from, way.to, way.bandwidth,
                      way.from[0] == 'g' ? kPciLatency : kBridgeLatency, way.origin);
  return text;
}

}  // namespace

std::string rate_in_text(double bandwidth) {
  std::string text = strf("%.2f", std::floor(bandwidth * 100 + 1e-6) / 100);
  if (bandwidth < 0.01) return "0.01";
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

HostGraph discover_host(const HostQuestion& question) {
  const topo::PciTree tree(question.root);
  std::vector<const PciDevice*> gpus = tree.gpus();
  gpus.resize(std::min(gpus.size(), static_cast<size_t>(std::max(question.most_gpus, 0))));
  HostGraph made;
  made.gpus = static_cast<int>(gpus.size());
  if (gpus.empty()) return made;
  for (size_t i = 0; i < gpus.size(); ++i)
    made.inside += strf("gpu g%zu  # %s\n", i, to_text(gpus[i]->address).c_str());
  const Fabric fabric(question, gpus);
  if (!fabric.why_not().empty()) made.inside += "# NVLink unknown: " + fabric.why_not() + "\n";
  made.inside += fabric_lines(fabric);
  const HostCards cards = cards_near(tree, gpus, question.root);
  std::vector<const PciDevice*> devices;
  for (const HostCard& card : cards.cards) devices.push_back(card.device);
  if (fabric.joins_all()) {
    made.network = network_lines(cards, {}, question.slurm_address);
    return made;
  }
  const PciWays ways = pci_ways(tree, gpus, devices);
  made.inside += pci_lines(ways);
  made.network = network_lines(cards, ways.cards, question.slurm_address);
  return made;
}

bool is_discovery(const std::string& name) noexcept {
  return name == "auto" || name.starts_with("auto:");
}

std::string slurm_switches(const std::string& address, const std::string& pattern) {
  size_t address_at = 0;
  for (size_t at = 0; pattern.compare(at, kSwitchWord.size(), kSwitchWord) == 0;
       at += kSwitchWord.size()) {
    const size_t dot = address.find('.', address_at);
    if (dot == std::string::npos) break;
    address_at = dot + 1;
  }
  return address.substr(0, address_at) + "host";
}

HostGraph discover_by_name(const std::string& name, int most_gpus) {
  HostQuestion question;
  question.most_gpus = most_gpus;
  question.root = name.substr(std::min(name.size(), std::string("auto:").size()));
  question.nvml = &topo::nvml();
  const char* const slurm = std::getenv("SLURM_TOPOLOGY_ADDR");
  const char* const pattern = std::getenv("SLURM_TOPOLOGY_ADDR_PATTERN");
  if (slurm != nullptr && pattern != nullptr)
    question.slurm_address = slurm_switches(slurm, pattern);
  return discover_host(question);
}

std::string described(const HostGraph& graph) {
  std::string text = graph.inside;
  for (size_t at = 0; at < graph.network.size();) {
    const size_t end = graph.network.find('\n', at) + 1;
    text += "# " + graph.network.substr(at, end - at);
    at = end;
  }
  return text;
}

}  // namespace tern::coll
