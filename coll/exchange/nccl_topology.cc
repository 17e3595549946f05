// SPDX-License-Identifier: Apache-2.0
// NCCL's topology files.
#include "coll/exchange/nccl_topology.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "coll/exchange/xml.hpp"
#include "mpi.h"

namespace tern::coll {
namespace {

constexpr int64_t kMostPeerLinks = 1024, kMostNumber = 1 << 20;
constexpr int32_t kMostHosts = 512;
constexpr double kMostRate = 1e6;                                       // GB/s
constexpr const char *kLeaf = "2.85", *kTrunk = "0.5", *kPeer = "3.4";  // us
constexpr const char *kHop = "1.7", *kNetwork = "6";                    // us

struct WordRate {
  std::string_view begin;
  double rate;  // GB/s
};
constexpr WordRate kLanes[] = {{"2.5", 0.1875}, {"5", 0.375}, {"8", 0.75}, {"16", 1.5},
                               {"32", 3},       {"64", 6},    {"", 0.75}};
constexpr WordRate kXgmi[] = {{"910", 36},   {"gfx90a", 36}, {"94", 48},
                              {"gfx94", 48}, {"gfx95", 48},  {"", 24}};
constexpr WordRate kSockets[] = {{"x86_64 AuthenticAMD", 16},
                                 {"x86_64 GenuineIntel 6 207", 40},
                                 {"x86_64 GenuineIntel 6 143", 22},
                                 {"x86_64 GenuineIntel 6 85", 10},
                                 {"x86_64 GenuineIntel", 6},
                                 {"ppc64", 32},
                                 {"arm64", 6},
                                 {"", 6}};

struct CapabilityRate {
  int64_t least;
  double rate;  // GB/s
};
constexpr CapabilityRate kNvlink[] = {{100, 40.1}, {90, 20.6}, {87, 20}, {86, 12},
                                      {70, 20},    {60, 18},   {0, 20}};

template <size_t kRows>
double rate_of(const std::string& word, const WordRate (&rows)[kRows]) {
  for (const WordRate& row : rows)
    if (word.compare(0, row.begin.size(), row.begin) == 0) return row.rate;
  return 0;
}

double nvlink_rate(int64_t capability) {
  for (const CapabilityRate& row : kNvlink)
    if (capability >= row.least) return row.rate;
  return 0;
}

std::string rate_text(double value) {
  std::string text = strf("%.6f", value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

enum class DeviceKind : uint8_t { kOther, kBridge, kProcessor, kGpu, kCard };

struct Device {
  std::string name;   // in the text
  std::string bus{};  // in the file
  DeviceKind kind = DeviceKind::kOther;
  int32_t above = -1;
  double bandwidth = 0;  // GB/s to the device above
  double network = 0;    // GB/s of a card's ports
  int64_t order = kMostNumber;
  std::string sort{};  // a processor's
  bool accelerator = false;
};

struct Peering {
  enum class To : uint8_t { kDevice, kSwitch, kProcessor };
  int32_t from;
  std::string target;
  To to;
  double bandwidth;
};

bool has_prefix(const std::string* text, std::string_view prefix) {
  return text != nullptr && text->compare(0, prefix.size(), prefix) == 0;
}

/// The devices of a file.
class NcclReader {
 public:
  NcclReader(std::string_view text, const std::string& file) : xml_(text, file) {
    (void)xml_.next();
    if (xml_.element().name != "system")
      xml_.fail("a topology file begins with <system>, not <" + xml_.element().name + ">");
    read_children(-1);
    (void)xml_.next();
    if (!names_gpus_)
      for (Device& device : devices_)
        if (device.accelerator) device.kind = DeviceKind::kGpu;
    if (std::none_of(devices_.begin(), devices_.end(),
                     [](const Device& device) { return device.kind == DeviceKind::kGpu; }))
      xml_.fail("no GPU: neither a <gpu> nor a device of class 0x0302, 0x0380 or 0x12");
  }

  [[nodiscard]] std::vector<Device>& devices() noexcept { return devices_; }
  [[nodiscard]] const std::vector<Peering>& peerings() const noexcept { return peerings_; }

 private:
  void read_children(int32_t above) {
    while (xml_.next() == XmlReader::Event::kOpen) {
      const std::string name = xml_.element().name;
      if (name == "cpu" && above < 0) {
        read_processor();
      } else if (name == "pci" && above >= 0) {
        read_pci(above);
      } else if (name == "gpu" && above >= 0) {
        read_gpu(above);
      } else if (name == "nic" && above >= 0) {
        read_children(above);
      } else if (name == "net" && above >= 0) {
        read_net(above);
      } else {
        xml_.skip();
      }
    }
  }

  [[nodiscard]] Device& at(int32_t number) { return devices_[static_cast<size_t>(number)]; }

  // Files edited by hand repeat bridges' and cards' addresses.
  int32_t add(Device device) {
    device.bus = device.name;
    const int equal = devices_of_bus_[device.bus]++;
    if (equal > 0 && device.kind == DeviceKind::kProcessor)
      xml_.fail("two processors are " + device.name);
    if (equal > 0) device.name += strf("-%d", equal + 1);
    devices_.push_back(std::move(device));
    return static_cast<int32_t>(devices_.size()) - 1;
  }

  void read_processor() {
    Device made;
    made.kind = DeviceKind::kProcessor;
    made.name = strf("cpu%lld", static_cast<long long>(xml_.number("numaid", 0, kMostNumber)));
    for (const char* attribute : {"arch", "vendor", "familyid", "modelid"})
      if (const std::string* value = xml_.element().find(attribute))
        made.sort += (made.sort.empty() ? "" : " ") + *value;
    read_children(add(made));
  }

  void read_pci(int32_t above) {
    const std::string& bus = xml_.required("busid");
    if (bus.find_first_not_of("0123456789abcdefABCDEF:.") != std::string::npos || bus.empty())
      xml_.fail("busid=\"" + bus + "\" is no PCI address");
    const std::string* sort = xml_.element().find("class");
    const std::string* speed = xml_.element().find("link_speed");
    int64_t width = 0;
    if (xml_.element().find("link_width") != nullptr) width = xml_.number("link_width", 0, 64);
    Device made;
    made.name = "pci-" + bus;
    made.above = above;
    made.bandwidth = (width == 0 ? 16 : static_cast<double>(width)) *
                     rate_of(speed == nullptr ? std::string() : *speed, kLanes);
    if (has_prefix(sort, "0x02")) made.kind = DeviceKind::kCard;
    made.accelerator =
        has_prefix(sort, "0x0302") || has_prefix(sort, "0x0380") || has_prefix(sort, "0x12");
    const int32_t number = add(made);
    read_children(number);
    const bool leads = std::any_of(devices_.begin(), devices_.end(),
                                   [&](const Device& other) { return other.above == number; });
    if (leads && at(number).kind == DeviceKind::kOther) at(number).kind = DeviceKind::kBridge;
  }

  void read_gpu(int32_t number) {
    if (at(number).kind == DeviceKind::kGpu || at(number).kind == DeviceKind::kProcessor)
      xml_.fail("a <gpu> within " + at(number).name + ": each stands in a <pci> of its own");
    for (const Device& other : devices_)
      if (other.kind == DeviceKind::kGpu && other.bus == at(number).bus)
        xml_.fail("two GPUs are " + at(number).bus);
    at(number).kind = DeviceKind::kGpu;
    names_gpus_ = true;
    for (const char* attribute : {"dev", "rank"})
      if (xml_.element().find(attribute) != nullptr)
        at(number).order = xml_.number(attribute, -1, kMostNumber);
    const std::string* gcn = xml_.element().find("gcn");
    double nvlink = nvlink_rate(0);
    if (xml_.element().find("sm") != nullptr) nvlink = nvlink_rate(xml_.number("sm", 0, 1000));
    const double xgmi = rate_of(gcn == nullptr ? std::string() : *gcn, kXgmi);
    while (xml_.next() == XmlReader::Event::kOpen) {
      const std::string& name = xml_.element().name;
      if (name == "nvlink") read_peering(number, nvlink);
      if (name == "xgmi") read_peering(number, xgmi);
      if (name == "c2c")
        peerings_.push_back({number, "", Peering::To::kProcessor,
                             static_cast<double>(xml_.number("bw", 1, kMostNumber)) / 1000 *
                                 static_cast<double>(xml_.number("count", 1, kMostPeerLinks))});
      xml_.skip();
    }
  }

  void read_peering(int32_t from, double each) {
    const std::string* sort = xml_.element().find("tclass");
    auto to = Peering::To::kDevice;
    if (has_prefix(sort, "0x068000")) to = Peering::To::kSwitch;
    if (has_prefix(sort, "0x068001")) to = Peering::To::kProcessor;
    peerings_.push_back({from, "pci-" + xml_.required("target"), to,
                         each * static_cast<double>(xml_.number("count", 1, kMostPeerLinks))});
  }

  void read_net(int32_t above) {
    int32_t number = above;
    if (at(above).kind == DeviceKind::kProcessor) {
      Device made;
      made.name = strf("net%zu", devices_.size());
      made.above = above;
      made.bandwidth = 16 * rate_of("", kLanes);
      number = add(made);
    }
    at(number).kind = DeviceKind::kCard;
    if (xml_.element().find("speed") != nullptr)
      at(number).network += static_cast<double>(xml_.number("speed", 0, INT32_MAX)) / 8000;
    xml_.skip();
  }

  XmlReader xml_;
  std::vector<Device> devices_;
  std::map<std::string, int> devices_of_bus_;
  std::vector<Peering> peerings_;
  bool names_gpus_ = false;
};

/// Writes the text of one host after another.
class TopologyWriter {
 public:
  TopologyWriter(NcclReader& reader, const std::string& file, const NcclTopologyOptions& options)
      : devices_(reader.devices()), peerings_(reader.peerings()), file_(file), options_(options) {
    check();
    order_gpus();
    keep_ways();
    text_ = "# from " + file + ", a topology file of NCCL; latencies are assumptions\n";
    write_ranks();
    for (int32_t host = 0; host < options.hosts; ++host) write_host(host);
    if (options.hosts > 1) write_network();
  }

  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  [[noreturn]] void fail(const std::string& cause) const {
    throw Error(MPI_ERR_ARG, file_ + ": " + cause);
  }

  void check() const {
    if (options_.hosts < 1 || options_.hosts > kMostHosts)
      fail(strf("%d hosts, but a machine has 1 to %d", options_.hosts, kMostHosts));
    if (!(options_.bandwidth >= 0 && options_.bandwidth <= kMostRate && options_.network >= 0 &&
          options_.network <= kMostRate))
      fail(strf("a bandwidth must be 0 to %.0f", kMostRate));
  }

  [[nodiscard]] const Device& at(int32_t number) const {
    return devices_[static_cast<size_t>(number)];
  }

  void order_gpus() {
    for (int32_t i = 0; i < static_cast<int32_t>(devices_.size()); ++i) {
      if (at(i).kind == DeviceKind::kGpu) gpus_.push_back(i);
      if (at(i).kind == DeviceKind::kCard) cards_.push_back(i);
    }
    std::stable_sort(gpus_.begin(), gpus_.end(),
                     [&](int32_t a, int32_t b) { return at(a).order < at(b).order; });
    for (size_t i = 0; i < gpus_.size(); ++i)
      devices_[static_cast<size_t>(gpus_[i])].name = strf("g%zu", i);
  }

  // Only devices between GPUs, cards and processors matter.
  void keep_ways() {
    kept_.assign(devices_.size(), false);
    for (int32_t i = 0; i < static_cast<int32_t>(devices_.size()); ++i)
      if (at(i).kind == DeviceKind::kGpu || at(i).kind == DeviceKind::kCard)
        for (int32_t up = i; up >= 0; up = at(up).above) kept_[static_cast<size_t>(up)] = true;
  }

  [[nodiscard]] std::string name(int32_t host, int32_t device) const {
    return on(host, at(device).name);
  }
  [[nodiscard]] std::string on(int32_t host, const std::string& device) const {
    return options_.hosts == 1 ? device : strf("h%d-", host) + device;
  }

  void write_ranks() {
    text_ += "gpu";
    for (int32_t host = 0; host < options_.hosts; ++host)
      for (const int32_t gpu : gpus_) text_ += " " + name(host, gpu);
    text_ += "\n";
  }

  void link(const char* kind, const std::string& from, const std::string& to, double bandwidth,
            const char* latency) {
    text_ += std::string(kind) + " " + from + " " + to + " " + rate_text(bandwidth) + " " +
             latency + "\n";
  }

  void write_host(int32_t host) {
    std::string nodes;
    for (int32_t i = 0; i < static_cast<int32_t>(devices_.size()); ++i)
      if (kept_[static_cast<size_t>(i)] && at(i).kind != DeviceKind::kGpu)
        nodes += " " + name(host, i);
    if (has_switch()) nodes += " " + on(host, "switch");
    if (!nodes.empty()) text_ += "node" + nodes + "\n";
    for (int32_t i = 0; i < static_cast<int32_t>(devices_.size()); ++i)
      if (kept_[static_cast<size_t>(i)] && at(i).above >= 0)
        link("link", name(host, i), name(host, at(i).above), at(i).bandwidth,
             at(i).kind == DeviceKind::kGpu ? kLeaf : kTrunk);
    write_sockets(host);
    write_peers(host);
  }

  void write_sockets(int32_t host) {
    std::vector<int32_t> all;
    for (int32_t i = 0; i < static_cast<int32_t>(devices_.size()); ++i)
      if (kept_[static_cast<size_t>(i)] && at(i).kind == DeviceKind::kProcessor) all.push_back(i);
    for (size_t a = 0; a < all.size(); ++a)
      for (size_t b = a + 1; b < all.size(); ++b)
        link("link", name(host, all[a]), name(host, all[b]), rate_of(at(all[a]).sort, kSockets),
             kTrunk);
  }

  [[nodiscard]] bool has_switch() const {
    return options_.links > 0 ||
           std::any_of(peerings_.begin(), peerings_.end(),
                       [](const Peering& one) { return one.to == Peering::To::kSwitch; });
  }

  void write_peers(int32_t host) {
    std::map<std::pair<std::string, std::string>, double> links;
    for (const Peering& one : peerings_) {
      const std::string from = name(host, one.from), to = target_of(host, one);
      if (to == from) {
        text_ += "# " + from + ": the file has links to itself, left out\n";
        continue;
      }
      links[{from, to}] += one.bandwidth;
      if (one.to != Peering::To::kDevice) links[{to, from}] += one.bandwidth;
    }
    for (const int32_t gpu : gpus_) {
      if (options_.links == 0) break;
      const double all = options_.links * options_.bandwidth;
      links[{name(host, gpu), on(host, "switch")}] += all;
      links[{on(host, "switch"), name(host, gpu)}] += all;
    }
    for (const auto& [ends, bandwidth] : links) {
      const auto back = links.find({ends.second, ends.first});
      const bool both = back != links.end() && back->second == bandwidth;
      if (both && ends.second < ends.first) continue;
      const bool direct = is_gpu(host, ends.first) && is_gpu(host, ends.second);
      link(both ? "link" : "oneway", ends.first, ends.second, bandwidth, direct ? kPeer : kHop);
    }
  }

  [[nodiscard]] bool is_gpu(int32_t host, const std::string& known) const {
    return std::any_of(gpus_.begin(), gpus_.end(),
                       [&](int32_t gpu) { return name(host, gpu) == known; });
  }

  [[nodiscard]] std::string target_of(int32_t host, const Peering& one) const {
    if (one.to == Peering::To::kSwitch) return on(host, "switch");
    if (one.to == Peering::To::kProcessor) {
      int32_t up = one.from;
      while (at(up).above >= 0) up = at(up).above;
      return name(host, up);
    }
    for (int32_t i = 0; i < static_cast<int32_t>(devices_.size()); ++i)
      if (at(i).bus == one.target) return name(host, i);
    fail(at(one.from).name + " has a link to " + one.target + ", which is no device of the file");
  }

  // A network switch for the cards of equal number: a rail, not blocking (assumed).
  void write_network() {
    if (cards_.empty()) fail(strf("%d hosts need a network card in the file", options_.hosts));
    for (size_t card = 0; card < cards_.size(); ++card) {
      const double rate =
          at(cards_[card]).network > 0 ? at(cards_[card]).network : options_.network / 8;
      if (rate <= 0)
        fail(at(cards_[card]).name +
             " has no speed in the file; give the cards' Gbit/s: --network=400");
      text_ += strf("net rail%zu\n", card);
      for (int32_t host = 0; host < options_.hosts; ++host)
        link("link", name(host, cards_[card]), strf("rail%zu", card), rate, kNetwork);
    }
  }

  std::vector<Device>& devices_;
  const std::vector<Peering>& peerings_;
  std::string file_, text_;
  NcclTopologyOptions options_;
  std::vector<int32_t> gpus_, cards_;
  std::vector<bool> kept_;
};

}  // namespace

std::string read_nccl_topology(std::string_view text, const std::string& file,
                               const NcclTopologyOptions& options) {
  NcclReader reader(text, file);
  return TopologyWriter(reader, file, options).take();
}

}  // namespace tern::coll
