// SPDX-License-Identifier: Apache-2.0
#include "topo/network_cards.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "topo/attribute.hpp"
#include "topo/pci_tree.hpp"

namespace tern::topo {
namespace {

constexpr double kMostGbit = 100000;
constexpr uint64_t kMostMbit = 100000000;

// rate is "400 Gb/sec (4X NDR)", state "4: ACTIVE".
double gbit_of_ports(const std::filesystem::path& adapter) {
  double sum = 0;
  for (const std::string& port : names_in(adapter / "ports")) {
    const std::filesystem::path folder = adapter / "ports" / port;
    const std::string state = attribute(folder / "state");
    const double rate = std::strtod(attribute(folder / "rate").c_str(), nullptr);
    const bool active = state.empty() || state.find("ACTIVE") != std::string::npos;
    if (active && rate > 0 && rate <= kMostGbit) sum += rate;
  }
  return std::min(sum, kMostGbit);
}

std::vector<NetworkCard> interfaces(const std::string& root) {
  std::vector<NetworkCard> cards;
  const std::filesystem::path all = root + "/sys/class/net";
  for (const std::string& name : names_in(all)) {
    std::error_code fault;
    const std::filesystem::path device = std::filesystem::canonical(all / name / "device", fault);
    if (fault) continue;
    const auto address = parse_pci_address(device.filename().string());
    const auto mbit = attribute_number(all / name / "speed", kMostMbit);
    if (address && mbit) cards.push_back({name, *address, static_cast<double>(*mbit) / 1000});
  }
  return cards;
}

}  // namespace

std::vector<NetworkCard> network_cards(const std::string& root) {
  std::vector<NetworkCard> cards;
  for (const RdmaAdapter& adapter : rdma_adapters(root))
    cards.push_back({adapter.name, adapter.address,
                     gbit_of_ports(root + "/sys/class/infiniband/" + adapter.name)});
  const auto useless = [](const NetworkCard& card) {
    return card.address.known == 0 || card.gbit <= 0;
  };
  std::erase_if(cards, useless);
  if (cards.empty()) cards = interfaces(root);
  std::erase_if(cards, useless);
  std::stable_sort(cards.begin(), cards.end(), [](const NetworkCard& one, const NetworkCard& two) {
    return is_before(one.address, two.address);
  });
  return cards;
}

}  // namespace tern::topo
