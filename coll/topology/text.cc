// SPDX-License-Identifier: Apache-2.0
// Topology: the reader of the text.
#include "coll/topology/topology.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <sstream>
#include <utility>

#include "base/error.hpp"
#include "mpi.h"

namespace tern::coll {
namespace {

constexpr size_t kMostNodes = 1 << 18;
constexpr int32_t kMostInRange = 4096;
constexpr int64_t kMillion = 1000000;

class TopologyReader {
 public:
  TopologyReader(const std::string& text, std::string name) : name_(std::move(name)) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      ++line_;
      read(line.substr(0, line.find('#')));
    }
    if (made_.gpus.empty()) fail("no gpu: ranks need at least one gpu");
    check_connected();
  }

  Topology take() { return std::move(made_); }

 private:
  using Kind = Topology::Kind;

  [[noreturn]] void fail(const std::string& cause) const {
    throw Error(MPI_ERR_ARG, strf("%s:%d: %s", name_.c_str(), line_, cause.c_str()));
  }

  void read(const std::string& line) {
    std::istringstream stream(line);
    std::vector<std::string> words;
    for (std::string word; stream >> word;) words.push_back(word);
    if (words.empty()) return;
    const std::string what = words[0];
    words.erase(words.begin());
    if (what == "gpu") return add_nodes(words, Kind::kGpu);
    if (what == "node") return add_nodes(words, Kind::kNode);
    if (what == "net") return add_nodes(words, Kind::kNet);
    if (what == "link" || what == "oneway") return add_links(what, words);
    if (what == "route") return add_route(words);
    fail("\"" + what + "\" is not a statement; known: gpu, node, net, link, oneway, route");
  }

  std::vector<std::string> expand(const std::string& word) const {
    const size_t dots = word.find("..");
    if (dots == std::string::npos) return {word};
    const auto split = [&](const std::string& end) {
      size_t digits = end.size();
      while (digits > 0 && end[digits - 1] >= '0' && end[digits - 1] <= '9') --digits;
      return std::pair{end.substr(0, digits), end.substr(digits)};
    };
    const auto [stem, first] = split(word.substr(0, dots));
    const auto [other, last] = split(word.substr(dots + 2));
    const long low = std::strtol(first.c_str(), nullptr, 10);
    const long high = std::strtol(last.c_str(), nullptr, 10);
    if (first.empty() || last.empty() || stem != other || high < low || first.size() > 6 ||
        last.size() > 6 || high - low >= kMostInRange)
      fail("\"" + word + "\" is not a range like g0..g7");
    std::vector<std::string> names;
    for (long i = low; i <= high; ++i) names.push_back(stem + std::to_string(i));
    return names;
  }

  /// Returns millionths.
  [[nodiscard]] int64_t number(const std::string& word, const char* what) const {
    int64_t value = 0;
    int decimals = -1;  // -1: before the point
    for (const char c : word) {
      const bool digit = c >= '0' && c <= '9';
      if ((!digit && (c != '.' || decimals >= 0)) || decimals == 6 ||
          (decimals < 0 && value > 1000 * kMillion))
        not_a_number(word, what);
      if (digit) value = value * 10 + (c - '0');
      if (!digit || decimals >= 0) ++decimals;
    }
    if (word.empty() || word == ".") not_a_number(word, what);
    for (decimals = std::max(decimals, 0); decimals < 6; ++decimals) value *= 10;
    if (value > 1000 * kMillion * kMillion) not_a_number(word, what);
    return value;
  }

  [[noreturn]] void not_a_number(const std::string& word, const char* what) const {
    fail(strf("%s must be a number >= 0, not \"%s\": digits up to 10^9, and up to 6 after a point",
              what, word.c_str()));
  }

  void add_nodes(const std::vector<std::string>& words, Kind kind) {
    double memory = 0;
    bool multicast = false;
    std::vector<std::string> names;
    for (const std::string& word : words) {
      const size_t equals = word.find('=');
      if (word == "multicast") {
        if (kind != Kind::kNode) fail("multicast is a property of a node, such as a switch");
        multicast = true;
      } else if (equals == std::string::npos) {
        for (std::string& one : expand(word)) names.push_back(std::move(one));
      } else if (word.substr(0, equals) == "memory" && kind == Kind::kGpu) {
        memory = static_cast<double>(number(word.substr(equals + 1), "memory")) / kMillion;
      } else {
        fail("\"" + word + "\" is not a property; a gpu has memory=GB/s, a node multicast");
      }
    }
    if (names.empty()) fail("a name is missing");
    if (made_.nodes.size() + names.size() > kMostNodes)
      fail(strf("more than %zu nodes", kMostNodes));
    for (const std::string& name : names) {
      if (!numbers_.emplace(name, static_cast<int32_t>(made_.nodes.size())).second)
        fail("there is a \"" + name + "\" already");
      if (kind == Kind::kGpu) made_.gpus.push_back(static_cast<int32_t>(made_.nodes.size()));
      made_.nodes.push_back({name, kind, memory, multicast});
    }
  }

  [[nodiscard]] int32_t node(const std::string& name) const {
    const auto found = numbers_.find(name);
    if (found != numbers_.end()) return found->second;
    fail("there is no \"" + name + "\" above; declare names by gpu, node or net");
  }

  void add_links(const std::string& what, const std::vector<std::string>& words) {
    if (words.size() != 4)
      fail(strf("%s takes two ends, GB/s and us: \"%s gpu0 switch 450 1.5\"", what.c_str(),
                what.c_str()));
    const std::vector<std::string> from = expand(words[0]), to = expand(words[1]);
    const int64_t capacity = number(words[2], "bandwidth in GB/s");
    const double latency = static_cast<double>(number(words[3], "latency in us")) / kMillion;
    if (capacity == 0) fail("a link needs a bandwidth above 0");
    if (to.size() != 1 && from.size() != to.size())
      fail(strf("%zu ends meet %zu; ranges pair up, or all link to a single end", from.size(),
                to.size()));
    for (size_t i = 0; i < from.size(); ++i) {
      const int32_t a = node(from[i]), b = node(to[to.size() == 1 ? 0 : i]);
      if (a == b) fail("a link from " + from[i] + " to itself");
      add_link(a, b, capacity, latency);
      if (what == "link") add_link(b, a, capacity, latency);
    }
  }

  void add_link(int32_t from, int32_t to, int64_t capacity, double latency) {
    if (!links_.emplace(std::pair{from, to}, static_cast<int32_t>(made_.links.size())).second)
      fail("duplicate link from " + made_.name_of(from) + " to " + made_.name_of(to) +
           ": declare each link once");
    made_.links.push_back({from, to, capacity, latency});
  }

  [[nodiscard]] int32_t find_link(int32_t from, int32_t to) const {
    const auto found = links_.find({from, to});
    return found == links_.end() ? -1 : found->second;
  }

  void add_route(const std::vector<std::string>& words) {
    if (words.size() < 4 || words[2] != "via")
      fail("route takes two GPUs and the nodes between: \"route gpu0 gpu1 via switch\"");
    std::vector<int32_t> way = {node(words[0])};
    for (size_t i = 3; i < words.size(); ++i) way.push_back(node(words[i]));
    way.push_back(node(words[1]));
    for (const int32_t end : {way.front(), way.back()})
      if (made_.nodes[static_cast<size_t>(end)].kind != Kind::kGpu)
        fail("a route connects GPUs; " + made_.name_of(end) + " is not a GPU");
    if (way.front() == way.back()) fail("a route from " + words[0] + " to itself");
    for (int both = 0; both < 2; ++both) {
      std::vector<int32_t> links;
      for (size_t i = 0; i + 1 < way.size(); ++i) {
        links.push_back(find_link(way[i], way[i + 1]));
        if (links.back() < 0)
          fail("no link from " + made_.name_of(way[i]) + " to " + made_.name_of(way[i + 1]) +
               " above: declare the link first");
      }
      give(way.front(), way.back(), std::move(links));
      std::reverse(way.begin(), way.end());
    }
  }

  void give(int32_t from, int32_t to, std::vector<int32_t> links) {
    const auto same = [&](const auto& one) { return one.from == from && one.to == to; };
    const auto old = std::find_if(made_.given.begin(), made_.given.end(), same);
    if (old != made_.given.end())
      fail("duplicate route from " + made_.name_of(from) + " to " + made_.name_of(to) +
           ": a route counts both ways");
    made_.given.push_back({from, to, std::move(links)});
  }

  void check_connected() const {
    for (const bool forward : {true, false}) {
      std::vector<std::vector<int32_t>> next(made_.nodes.size());
      for (const Topology::Link& link : made_.links)
        next[static_cast<size_t>(forward ? link.from : link.to)].push_back(forward ? link.to
                                                                                   : link.from);
      const int32_t first = made_.gpus[0];
      std::vector<char> seen(made_.nodes.size(), 0);
      std::vector<int32_t> queue = {first};
      seen[static_cast<size_t>(first)] = 1;
      for (size_t i = 0; i < queue.size(); ++i)
        for (const int32_t node : next[static_cast<size_t>(queue[i])])
          if (std::exchange(seen[static_cast<size_t>(node)], 1) == 0) queue.push_back(node);
      for (const int32_t gpu : made_.gpus)
        if (seen[static_cast<size_t>(gpu)] == 0)
          fail("no way from " + made_.name_of(forward ? first : gpu) + " to " +
               made_.name_of(forward ? gpu : first) + ": add links between");
    }
  }

  std::string name_;
  int line_ = 0;
  Topology made_;
  std::map<std::string, int32_t> numbers_;
  std::map<std::pair<int32_t, int32_t>, int32_t> links_;
};

}  // namespace

std::string Topology::name_of_link(int32_t link) const {
  const Link& one = links[static_cast<size_t>(link)];
  return name_of(one.from) + " -> " + name_of(one.to);
}

std::vector<std::vector<int32_t>> Topology::links_out() const {
  std::vector<std::vector<int32_t>> out(nodes.size());
  for (size_t i = 0; i < links.size(); ++i)
    out[static_cast<size_t>(links[i].from)].push_back(static_cast<int32_t>(i));
  return out;
}

Topology parse_topology(const std::string& text, const std::string& name) {
  return TopologyReader(text, name).take();
}

}  // namespace tern::coll
