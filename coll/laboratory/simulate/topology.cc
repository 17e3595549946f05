// SPDX-License-Identifier: Apache-2.0
// Topology: parsing and routing.
#include "coll/laboratory/simulate/topology.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>
#include <sstream>
#include <utility>

#include "base/error.hpp"
#include "mpi.h"

namespace tern::coll {
namespace {

constexpr int32_t kMostInRange = 4096;

class TopologyReader {
 public:
  TopologyReader(const std::string& text, std::string name) : name_(std::move(name)) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      ++line_;
      read(line.substr(0, line.find('#')));
    }
    if (made_.gpus.empty()) fail("no gpu: ranks need at least one gpu");
    find_routes();
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

  [[nodiscard]] double number(const std::string& word, const char* what) const {
    char* end = nullptr;
    const double value = std::strtod(word.c_str(), &end);
    if (word.empty() || *end != '\0' || !(value >= 0) || value > 1e9)
      fail(strf("%s must be a number >= 0, not \"%s\"", what, word.c_str()));
    return value;
  }

  void add_nodes(const std::vector<std::string>& words, Kind kind) {
    double memory = 0;
    std::vector<std::string> names;
    for (const std::string& word : words) {
      const size_t equals = word.find('=');
      if (equals == std::string::npos) {
        for (std::string& one : expand(word)) names.push_back(std::move(one));
      } else if (word.substr(0, equals) == "memory" && kind == Kind::kGpu) {
        memory = number(word.substr(equals + 1), "memory");
      } else {
        fail("\"" + word + "\" is not a property; a gpu has memory=GB/s");
      }
    }
    if (names.empty()) fail("a name is missing");
    for (const std::string& name : names) {
      if (!numbers_.emplace(name, static_cast<int32_t>(made_.nodes.size())).second)
        fail("there is a \"" + name + "\" already");
      if (kind == Kind::kGpu) made_.gpus.push_back(static_cast<int32_t>(made_.nodes.size()));
      made_.nodes.push_back({name, kind, memory});
    }
  }

  [[nodiscard]] int32_t node(const std::string& name) const {
    const auto found = numbers_.find(name);
    if (found != numbers_.end()) return found->second;
    std::vector<std::string> names;
    for (const auto& [known, number] : numbers_) names.push_back(known);
    fail("there is no \"" + name + "\" above; declare names by gpu, node or net");
  }

  void add_links(const std::string& what, const std::vector<std::string>& words) {
    if (words.size() != 4)
      fail(strf("%s takes two ends, GB/s and us: \"%s gpu0 switch 450 1.5\"", what.c_str(),
                what.c_str()));
    const std::vector<std::string> from = expand(words[0]), to = expand(words[1]);
    const double bandwidth = number(words[2], "bandwidth in GB/s");
    const double latency = number(words[3], "latency in us");
    if (bandwidth <= 0) fail("a link needs a bandwidth above 0");
    if (to.size() != 1 && from.size() != to.size())
      fail(strf("%zu ends meet %zu; ranges pair up, or all link to a single end", from.size(),
                to.size()));
    for (size_t i = 0; i < from.size(); ++i) {
      const int32_t a = node(from[i]), b = node(to[to.size() == 1 ? 0 : i]);
      if (a == b) fail("a link from " + from[i] + " to itself");
      add_link(a, b, bandwidth, latency);
      if (what == "link") add_link(b, a, bandwidth, latency);
    }
  }

  void add_link(int32_t from, int32_t to, double bandwidth, double latency) {
    if (find_link(from, to) >= 0)
      fail("duplicate link from " + made_.nodes[static_cast<size_t>(from)].name + " to " +
           made_.nodes[static_cast<size_t>(to)].name + ": declare each link once");
    made_.links.push_back({from, to, bandwidth, latency});
  }

  [[nodiscard]] int32_t find_link(int32_t from, int32_t to) const {
    for (size_t i = 0; i < made_.links.size(); ++i)
      if (made_.links[i].from == from && made_.links[i].to == to) return static_cast<int32_t>(i);
    return -1;
  }

  void add_route(const std::vector<std::string>& words) {
    if (words.size() < 4 || words[2] != "via")
      fail("route takes two GPUs and the nodes between: \"route gpu0 gpu1 via switch\"");
    std::vector<int32_t> way = {node(words[0])};
    for (size_t i = 3; i < words.size(); ++i) way.push_back(node(words[i]));
    way.push_back(node(words[1]));
    for (const int32_t end : {way.front(), way.back()})
      if (made_.nodes[static_cast<size_t>(end)].kind != Kind::kGpu)
        fail("a route connects GPUs; " + made_.nodes[static_cast<size_t>(end)].name +
             " is not a GPU");
    if (way.front() == way.back()) fail("a route from " + words[0] + " to itself");
    for (int both = 0; both < 2; ++both) {
      std::vector<int32_t> links;
      for (size_t i = 0; i + 1 < way.size(); ++i) {
        links.push_back(find_link(way[i], way[i + 1]));
        if (links.back() < 0)
          fail("no link from " + made_.nodes[static_cast<size_t>(way[i])].name + " to " +
               made_.nodes[static_cast<size_t>(way[i + 1])].name + " above");
      }
      given_[{way.front(), way.back()}] = links;
      std::reverse(way.begin(), way.end());
    }
  }

  // Routes minimize latency, then the number of links (Dijkstra).
  void find_routes() {
    const size_t nodes = made_.nodes.size();
    std::vector<std::vector<int32_t>> out(nodes);
    for (size_t i = 0; i < made_.links.size(); ++i)
      out[static_cast<size_t>(made_.links[i].from)].push_back(static_cast<int32_t>(i));
    for (const int32_t from : made_.gpus) {
      const std::vector<int32_t> by = ways_from(from, out);
      made_.routes.emplace_back();
      for (const int32_t to : made_.gpus) made_.routes.back().push_back(route(from, to, by));
    }
  }

  [[nodiscard]] std::vector<int32_t> ways_from(int32_t from,
                                               const std::vector<std::vector<int32_t>>& out) const {
    using Far = std::pair<double, int>;
    const Far never{std::numeric_limits<double>::infinity(), 0};
    std::vector<Far> far(out.size(), never);
    std::vector<int32_t> by(out.size(), -1);
    std::vector<char> done(out.size(), 0);
    far[static_cast<size_t>(from)] = {0, 0};
    for (;;) {
      size_t next = out.size();
      for (size_t i = 0; i < out.size(); ++i)
        if (done[i] == 0 && far[i] != never && (next == out.size() || far[i] < far[next])) next = i;
      if (next == out.size()) return by;
      done[next] = 1;
      for (const int32_t number : out[next]) {
        const Topology::Link& link = made_.links[static_cast<size_t>(number)];
        const Far along{far[next].first + link.latency, far[next].second + 1};
        if (along >= far[static_cast<size_t>(link.to)]) continue;
        far[static_cast<size_t>(link.to)] = along;
        by[static_cast<size_t>(link.to)] = number;
      }
    }
  }

  [[nodiscard]] Topology::Route route(int32_t from, int32_t to,
                                      const std::vector<int32_t>& by) const {
    Topology::Route route;
    const auto given = given_.find({from, to});
    if (given != given_.end()) route.links = given->second;
    for (int32_t at = to; given == given_.end() && at != from;) {
      const int32_t link = by[static_cast<size_t>(at)];
      if (link < 0)
        fail("no way from " + made_.nodes[static_cast<size_t>(from)].name + " to " +
             made_.nodes[static_cast<size_t>(to)].name);
      route.links.insert(route.links.begin(), link);
      at = made_.links[static_cast<size_t>(link)].from;
    }
    route.mapped = true;
    for (const int32_t link : route.links) {
      const Topology::Link& one = made_.links[static_cast<size_t>(link)];
      route.latency += one.latency;
      route.mapped &= made_.nodes[static_cast<size_t>(one.to)].kind != Kind::kNet;
    }
    return route;
  }

  std::string name_;
  int line_ = 0;
  Topology made_;
  std::map<std::string, int32_t> numbers_;
  std::map<std::pair<int32_t, int32_t>, std::vector<int32_t>> given_;
};

}  // namespace

std::string Topology::name_of_link(int32_t link) const {
  const Link& one = links[static_cast<size_t>(link)];
  return nodes[static_cast<size_t>(one.from)].name + " -> " +
         nodes[static_cast<size_t>(one.to)].name;
}

Topology parse_topology(const std::string& text, const std::string& name) {
  return TopologyReader(text, name).take();
}

}  // namespace tern::coll
