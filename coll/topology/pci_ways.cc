// SPDX-License-Identifier: Apache-2.0
#include "coll/topology/pci_ways.hpp"

#include <algorithm>
#include <climits>
#include <map>
#include <tuple>

#include "base/error.hpp"

namespace tern::coll {
namespace {

using topo::PciDevice;

constexpr double kAssumedPci = 15.75;      // GB/s: PCIe 3 x16
constexpr double kBetweenProcessors = 20;  // GB/s between processors; published: 10 to 40

struct WayNode {
  enum class Kind : uint8_t { kProcessor, kSwitch, kGpu, kCard };
  Kind kind;
  const PciDevice* device = nullptr;  // null: a processor
  int numa = -1;
  int above = -1;
  PciRate rate{0, {}};
  std::string name{};
  int first_gpu = INT_MAX;
  int below = 0;  // kept nodes
  bool kept = true;
};

class WayFinder {
 public:
  WayFinder(const topo::PciTree& tree, const std::vector<const PciDevice*>& gpus,
            const std::vector<const PciDevice*>& cards)
      : tree_(tree) {
    for (const PciDevice* gpu : gpus) {
      leaves_.push_back(add_leaf(WayNode::Kind::kGpu, gpu));
      at(leaves_.back()).name = strf("g%zu", leaves_.size() - 1);
    }
    for (const PciDevice* card : cards) leaves_.push_back(add_leaf(WayNode::Kind::kCard, card));
    number_by_gpu(gpus.size());
    leave_out();
    name_nodes();
  }

  [[nodiscard]] PciWays ways() const {
    PciWays made;
    for (const int one : named_)
      made.nodes.push_back(
          {node(one).name, node(one).device != nullptr ? to_text(node(one).device->address)
                           : node(one).numa < 0        ? std::string("NUMA node unknown")
                                                       : strf("NUMA node %d", node(one).numa)});
    for (const int leaf : leaves_) {
      const bool gpu = node(leaf).kind == WayNode::Kind::kGpu;
      const PciWay way = way_of(leaf);
      if (gpu && way.to.empty()) continue;
      (gpu ? made.links : made.cards).push_back(way);
    }
    for (const int one : named_)
      if (node(one).kind == WayNode::Kind::kSwitch && !way_of(one).to.empty())
        made.links.push_back(way_of(one));
    for (size_t i = 0; i < named_.size(); ++i)
      for (size_t j = i + 1; j < named_.size(); ++j)
        if (node(named_[i]).device == nullptr && node(named_[j]).device == nullptr)
          made.links.push_back(
              {node(named_[i]).name, node(named_[j]).name, kBetweenProcessors, "assumed"});
    return made;
  }

 private:
  [[nodiscard]] WayNode& at(int number) { return nodes_[static_cast<size_t>(number)]; }
  [[nodiscard]] const WayNode& node(int number) const {
    return nodes_[static_cast<size_t>(number)];
  }
  int add(WayNode made) {
    nodes_.push_back(std::move(made));
    return static_cast<int>(nodes_.size()) - 1;
  }

  int processor(int numa) {
    const auto [found, fresh] = processors_.emplace(numa, 0);
    if (fresh) found->second = add({WayNode::Kind::kProcessor, nullptr, numa});
    return found->second;
  }
  int switch_at(const topo::PciAddress& address) {
    const PciDevice* device = tree_.find(address);
    if (device == nullptr) return -1;
    const auto [found, fresh] = switches_.emplace(device, 0);
    if (fresh) found->second = add({WayNode::Kind::kSwitch, device, device->numa});
    return found->second;
  }

  /// Appends the way of a new leaf, up to a known switch or a processor.
  int add_leaf(WayNode::Kind kind, const PciDevice* device) {
    const int leaf = add({kind, device, device->numa});
    int lower = leaf;
    auto i = static_cast<int>(device->above.size()) - 1;
    while (i > 0) {
      const bool below_a_port = i % 2 == 0;
      const PciDevice* const port =
          below_a_port ? tree_.find(device->above[static_cast<size_t>(i)]) : nullptr;
      const int upper = switch_at(device->above[static_cast<size_t>(below_a_port ? i - 1 : i)]);
      i -= below_a_port ? 2 : 1;
      if (upper < 0) continue;
      at(lower).rate = pci_rate(*node(lower).device, port);
      at(lower).above = upper;
      if (node(upper).above >= 0) return leaf;
      lower = upper;
    }
    const PciDevice* const root = i == 0 ? tree_.find(device->above[0]) : nullptr;
    at(lower).rate = pci_rate(*node(lower).device, root);
    const int top = processor(device->numa);
    at(lower).above = top;
    return leaf;
  }

  void number_by_gpu(size_t gpus) {
    for (size_t i = 0; i < leaves_.size(); ++i)
      for (int up = leaves_[i]; up >= 0; up = node(up).above)
        if (i < gpus) at(up).first_gpu = std::min(node(up).first_gpu, static_cast<int>(i));
    for (const WayNode& one : nodes_)
      if (one.above >= 0) ++at(one.above).below;
  }

  // A switch with one way down is a wire, as slow as its slower part.
  void leave_out() {
    for (WayNode& one : nodes_) {
      while (one.above >= 0 && node(one.above).kind == WayNode::Kind::kSwitch &&
             node(one.above).below == 1) {
        WayNode& wire = at(one.above);
        if (wire.rate.bandwidth < one.rate.bandwidth) one.rate = wire.rate;
        wire.kept = false;
        one.above = wire.above;
      }
    }
    if (processors_.size() == 1 && node(processors_.begin()->second).below == 1)
      at(processors_.begin()->second).kept = false;
  }

  void name_nodes() {
    for (int i = 0; i < static_cast<int>(nodes_.size()); ++i)
      if (node(i).kept && node(i).kind <= WayNode::Kind::kSwitch) named_.push_back(i);
    std::stable_sort(named_.begin(), named_.end(), [&](int a, int b) {
      return std::tuple(node(a).kind, node(a).first_gpu, depth(a)) <
             std::tuple(node(b).kind, node(b).first_gpu, depth(b));
    });
    int processors = 0, switches = 0;
    for (const int one : named_)
      at(one).name = node(one).kind == WayNode::Kind::kSwitch ? strf("pci%d", switches++)
                                                              : strf("cpu%d", processors++);
  }
  [[nodiscard]] int depth(int one) const {
    int levels = 0;
    for (; one >= 0; one = node(one).above) ++levels;
    return levels;
  }

  [[nodiscard]] PciWay way_of(int one) const {
    const int above = node(one).above;
    return {node(one).name, above >= 0 ? node(above).name : std::string(), node(one).rate.bandwidth,
            node(one).rate.origin};
  }

  const topo::PciTree& tree_;
  std::vector<WayNode> nodes_;
  std::vector<int> leaves_, named_;
  std::map<int, int> processors_;  // by NUMA node
  std::map<const PciDevice*, int> switches_;
};

}  // namespace

PciRate pci_rate(const PciDevice& device, const PciDevice* port) {
  const PciDevice* slower = &device;
  double rate = gigabytes(device.speed);
  const double above = port == nullptr ? 0 : gigabytes(port->speed);
  if (above > 0 && (rate <= 0 || above < rate)) {
    rate = above;
    slower = port;
  }
  if (rate <= 0) return {kAssumedPci, "speed unknown, PCIe 3 x16 assumed"};
  return {rate, strf("%g GT/s x%d of %s", slower->speed.transfers, slower->speed.width,
                     to_text(slower->address).c_str())};
}

PciWays pci_ways(const topo::PciTree& tree, const std::vector<const PciDevice*>& gpus,
                 const std::vector<const PciDevice*>& cards) {
  return WayFinder(tree, gpus, cards).ways();
}

}  // namespace tern::coll
