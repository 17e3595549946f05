// SPDX-License-Identifier: Apache-2.0
#include "coll/topology/host_network.hpp"

#include <algorithm>
#include <cctype>
#include <climits>
#include <map>

#include "base/error.hpp"

namespace tern::coll {
namespace {

constexpr const char *kCardLatency = "6", *kSwitchLatency = "0.5";  // us
constexpr size_t kMostSwitches = 8, kMostName = 64;
constexpr double kBitsPerByte = 8;

using CardNames = std::vector<std::string>;

/// GPUs with the same nearest cards divide the cards: whole cards in order, or equal shares.
void divide(const std::vector<int>& gpus, const std::vector<size_t>& cards,
            std::vector<CardShare>* shares) {
  const size_t n = gpus.size(), m = cards.size();
  for (size_t k = 0; k < n; ++k) {
    if (m >= n && m % n == 0) {
      for (size_t i = 0; i < m / n; ++i) shares->push_back({gpus[k], cards[k * (m / n) + i], 1, 0});
    } else if (n % m == 0) {
      shares->push_back(
          {gpus[k], cards[k / (n / m)], static_cast<double>(m) / static_cast<double>(n), 0});
    } else {
      for (const size_t card : cards)
        shares->push_back({gpus[k], card, 1 / static_cast<double>(n), 0});
    }
  }
}

/// Sets of near cards may overlap; the shares of a card add up to 1 at most.
void bound_shares(std::vector<CardShare>* shares) {
  std::map<size_t, double> sums;
  for (const CardShare& one : *shares) sums[one.card] += one.share;
  for (CardShare& one : *shares)
    if (sums[one.card] > 1) one.share /= sums[one.card];
}

std::string switch_name(const std::string& word) {
  std::string name = "net-" + word.substr(0, kMostName);
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_') c = '-';
  return name;
}

/// "s0.s1.host": the switches, from the top down.
CardNames switches_of(const std::string& address) {
  CardNames names;
  size_t at = 0;
  for (size_t dot = address.find('.'); dot != std::string::npos && names.size() < kMostSwitches;
       dot = address.find('.', at)) {
    const std::string name = switch_name(address.substr(at, dot - at));
    if (dot > at && std::find(names.begin(), names.end(), name) == names.end())
      names.push_back(name);
    at = dot + 1;
  }
  return names;
}

/// Links of a host into the network: a GPU's cards below a common switch add up.
class NetworkWriter {
 public:
  NetworkWriter(const HostCards& cards, const std::string& slurm_address)
      : cards_(cards), switches_(switches_of(slurm_address)) {}

  void add(const std::string& from, size_t card, double bandwidth) {
    const std::string net = switches_.empty() ? strf("net%zu", card) : switches_.back();
    auto& [sum, names] = links_[{from, net}];
    sum += bandwidth;
    names += " " + cards_.cards[card].card.name;
    all_ += bandwidth;
  }

  [[nodiscard]] std::string text() const {
    if (links_.empty()) return {};
    std::string text;
    for (size_t i = 0; switches_.empty() && i < cards_.cards.size(); ++i)
      text += strf("net net%zu  # one switch a rail, not blocking (assumed)\n", i);
    for (size_t i = 0; i < switches_.size(); ++i)
      text += "net " + switches_[i] + "  # SLURM_TOPOLOGY_ADDR\n";
    for (const auto& [ends, link] : links_)
      text += strf("link %s %s %s %s  #%s\n", ends.first.c_str(), ends.second.c_str(),
                   rate_in_text(link.first).c_str(), kCardLatency, link.second.c_str());
    for (size_t i = 0; i + 1 < switches_.size(); ++i)
      text += strf("link %s %s %s %s  # not blocking (assumed)\n", switches_[i + 1].c_str(),
                   switches_[i].c_str(), rate_in_text(all_).c_str(), kSwitchLatency);
    return text;
  }

 private:
  const HostCards& cards_;
  CardNames switches_;
  std::map<std::pair<std::string, std::string>, std::pair<double, std::string>> links_;
  double all_ = 0;
};

}  // namespace

HostCards cards_near(const topo::PciTree& tree, const std::vector<const topo::PciDevice*>& gpus,
                     const std::string& root) {
  std::vector<HostCard> all;
  std::vector<topo::RdmaAdapter> adapters;
  for (const topo::NetworkCard& card : topo::network_cards(root)) {
    const topo::PciDevice* const device = tree.find(card.address);
    if (device == nullptr) continue;
    all.push_back({card, device});
    adapters.push_back({card.name, {}, card.address});
  }
  std::map<CardNames, std::vector<int>> groups;
  for (size_t gpu = 0; gpu < gpus.size(); ++gpu)
    groups[topo::nearest_adapters(gpus[gpu]->address, adapters, root).names].push_back(
        static_cast<int>(gpu));
  HostCards made;
  for (const auto& [names, members] : groups) {
    std::vector<size_t> cards;
    for (size_t i = 0; i < all.size(); ++i)
      if (std::find(names.begin(), names.end(), all[i].card.name) != names.end())
        cards.push_back(i);
    if (!cards.empty()) divide(members, cards, &made.shares);
  }
  bound_shares(&made.shares);
  std::stable_sort(made.shares.begin(), made.shares.end(),
                   [](const CardShare& a, const CardShare& b) { return a.gpu < b.gpu; });
  std::map<size_t, size_t> rails;  // of a card
  for (CardShare& one : made.shares) {
    const auto [rail, fresh] = rails.emplace(one.card, rails.size());
    if (fresh) made.cards.push_back(all[one.card]);
    one.card = rail->second;
    one.limit = pci_rate(*gpus[static_cast<size_t>(one.gpu)], nullptr).bandwidth;
  }
  return made;
}

std::string network_lines(const HostCards& cards, const std::vector<PciWay>& ways,
                          const std::string& slurm_address) {
  NetworkWriter writer(cards, slurm_address);
  const auto rate = [&](size_t card) {
    return std::min(cards.cards[card].card.gbit / kBitsPerByte,
                    pci_rate(*cards.cards[card].device, nullptr).bandwidth);
  };
  for (size_t card = 0; card < ways.size(); ++card)
    if (!ways[card].to.empty())
      writer.add(ways[card].to, card, std::min(rate(card), ways[card].bandwidth));
  for (const CardShare& one : cards.shares)
    if (ways.empty())
      writer.add(strf("g%d", one.gpu), one.card, std::min(rate(one.card) * one.share, one.limit));
  return writer.text();
}

}  // namespace tern::coll
