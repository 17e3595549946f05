// SPDX-License-Identifier: Apache-2.0
// Generators of machines. Figures without a word: machines.cc cites the sources of rails; other
// networks have links of 25 GB/s (200 Gbit/s) and 0.5 us.
#include "coll/topology/generators.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <memory>
#include <utility>

#include "base/error.hpp"
#include "mpi.h"

namespace tern::coll {
namespace {

constexpr int64_t kMostGenerated = int64_t{1} << 20;  // ranks
constexpr int64_t kMostGeneratedLinks = int64_t{1} << 24;
constexpr const char* kForms =
    "machines are fat-tree:K[,TAPER], dragonfly:GROUPS,SWITCHES,NODES,LINKS (or dragonfly+), "
    "torus:AxBxC, rails:HOSTS,GPUS,LEAF,SPINE; then bandwidth=, latency=, host=, host_latency=, "
    "memory=, ranks=, background=";

struct MachineWords {
  std::string text, kind;
  std::vector<int64_t> sizes;
  double taper = 1;
  double bandwidth = 25, latency = 0.5, host = 200, host_latency = 0.25;
  double memory = 0, background = 0;
  int64_t ranks = 1;

  [[noreturn]] void fail(const std::string& cause) const {
    throw Error(MPI_ERR_ARG, "machine \"" + text + "\": " + cause + "; " + kForms);
  }
  [[nodiscard]] int32_t size(size_t i) const { return static_cast<int32_t>(sizes[i]); }
};

class WordsReader {
 public:
  explicit WordsReader(const std::string& text) {
    made_.text = text;
    const size_t colon = std::min(text.find(':'), text.size());
    made_.kind = text.substr(0, colon);
    if (made_.kind == "rails") {
      made_.bandwidth = 48, made_.latency = 7;
      made_.host = 370.8, made_.host_latency = 1.7, made_.memory = 3350;
    }
    for (size_t from = colon; from < text.size();) {
      const size_t end = std::min(text.find(',', from + 1), text.size());
      add(text.substr(from + 1, end - from - 1));
      from = end;
    }
  }
  MachineWords take() { return std::move(made_); }

 private:
  double number(const std::string& word) const {
    double value = 0;
    const char* const end = word.data() + word.size();
    const auto [rest, fault] = std::from_chars(word.data(), end, value);
    if (fault != std::errc() || rest != end || !(value >= 0) || value > 1e9)
      made_.fail("\"" + word + "\" is not a number from 0 to 10^9");
    return value;
  }

  int64_t whole(const std::string& word) const {
    const double value = number(word);
    if (value != std::floor(value)) made_.fail("\"" + word + "\" is not a whole number");
    return static_cast<int64_t>(value);
  }

  void add(const std::string& word) {
    const size_t equals = word.find('=');
    if (equals != std::string::npos) return set(word.substr(0, equals), word.substr(equals + 1));
    if (made_.kind == "torus") {
      for (size_t from = 0; from <= word.size();) {
        const size_t end = std::min(word.find('x', from), word.size());
        made_.sizes.push_back(whole(word.substr(from, end - from)));
        from = end + 1;
      }
    } else if (made_.kind == "fat-tree" && made_.sizes.size() == 1) {
      made_.taper = number(word);
      made_.sizes.push_back(0);
    } else {
      made_.sizes.push_back(whole(word));
    }
  }

  void set(const std::string& name, const std::string& word) {
    const std::pair<const char*, double*> kValues[] = {
        {"bandwidth", &made_.bandwidth}, {"latency", &made_.latency},
        {"host", &made_.host},           {"host_latency", &made_.host_latency},
        {"memory", &made_.memory},       {"background", &made_.background}};
    if (name == "ranks" && made_.kind != "rails") {
      made_.ranks = whole(word);
      return;
    }
    for (const auto& [known, place] : kValues)
      if (name == known) {
        *place = number(word);
        return;
      }
    made_.fail("\"" + name + "\" is not a property");
  }

  MachineWords made_;
};

/// Adds nodes, and links in pairs: link n leads there, n + 1 back.
class Graph {
 public:
  explicit Graph(const MachineWords& words) : words_(words) {}

  int32_t add_node(std::string name, Topology::Kind kind) {
    if (kind == Topology::Kind::kGpu)
      made_.gpus.push_back(static_cast<int32_t>(made_.nodes.size()));
    made_.nodes.push_back(
        {std::move(name), kind, kind == Topology::Kind::kGpu ? words_.memory : 0});
    return static_cast<int32_t>(made_.nodes.size()) - 1;
  }
  int32_t join(int32_t a, int32_t b, double bandwidth, double latency) {
    const auto capacity = std::max<int64_t>(std::llround(bandwidth * 1e6), 1);
    made_.links.push_back({a, b, capacity, latency});
    made_.links.push_back({b, a, capacity, latency});
    return static_cast<int32_t>(made_.links.size()) - 2;
  }
  int32_t join_network(int32_t a, int32_t b, double share = 1) {
    return join(a, b, words_.bandwidth * share * (1 - words_.background), words_.latency);
  }
  void widen(int32_t link) {
    for (const int32_t way : {link, link + 1})
      made_.links[static_cast<size_t>(way)].capacity +=
          std::llround(words_.bandwidth * (1 - words_.background) * 1e6);
  }
  /// Adds host `h` at `port`; its first link is host_link(h), with each rank's link behind.
  void add_host(int32_t h, int32_t port) {
    const auto name = "h" + std::to_string(h);
    if (words_.ranks == 1) {
      join_network(add_node(name, Topology::Kind::kGpu), port);
      return;
    }
    const int32_t host = add_node(name, Topology::Kind::kNode);
    join_network(host, port);
    for (int64_t r = 0; r < words_.ranks; ++r)
      join(add_node(name + "r" + std::to_string(r), Topology::Kind::kGpu), host, words_.host,
           words_.host_latency);
  }
  Topology take() { return std::move(made_); }

 private:
  const MachineWords& words_;
  Topology made_;
};

/// Hosts with `ranks` ranks each; their links stand first.
struct HostLinks {
  int32_t ranks;
  [[nodiscard]] int32_t host(int32_t rank) const noexcept { return rank / ranks; }
  [[nodiscard]] int32_t count() const noexcept { return ranks == 1 ? 2 : 2 * (ranks + 1); }
  [[nodiscard]] int32_t up(int32_t h) const noexcept { return h * count(); }
  [[nodiscard]] int32_t of(int32_t rank) const noexcept {
    return up(host(rank)) + 2 * (1 + rank % ranks);
  }

  template <class Between>
  void route(int32_t from, int32_t to, std::vector<int32_t>* links, const Between& between) const {
    if (ranks > 1) links->push_back(of(from));
    if (host(from) != host(to)) {
      links->push_back(up(host(from)));
      between(host(from), host(to), links);
      links->push_back(up(host(to)) + 1);
    }
    if (ranks > 1) links->push_back(of(to) + 1);
  }
};

int32_t add_switch(Graph& graph, const char* stem, int32_t number) {
  return graph.add_node(stem + std::to_string(number), Topology::Kind::kNet);
}

std::vector<int32_t> add_switches(Graph& graph, const char* stem, int32_t count) {
  std::vector<int32_t> made;
  for (int32_t i = 0; i < count; ++i) made.push_back(add_switch(graph, stem, i));
  return made;
}

Topology fat_tree(const MachineWords& words) {
  const int32_t k = words.size(0), half = k / 2;
  Graph graph(words);
  const std::vector<int32_t> edges = add_switches(graph, "edge", k * half);
  const std::vector<int32_t> middles = add_switches(graph, "middle", k * half);
  const std::vector<int32_t> cores = add_switches(graph, "core", half * half);
  const HostLinks hosts{static_cast<int32_t>(words.ranks)};
  const int32_t count = k * half * half;
  for (int32_t h = 0; h < count; ++h) graph.add_host(h, edges[static_cast<size_t>(h / half)]);
  const int32_t first = count * hosts.count(), second = first + 2 * k * half * half;
  for (int32_t edge = 0; edge < k * half; ++edge)
    for (int32_t m = 0; m < half; ++m)
      graph.join_network(edges[static_cast<size_t>(edge)],
                         middles[static_cast<size_t>(edge / half * half + m)], 1 / words.taper);
  for (int32_t middle = 0; middle < k * half; ++middle)
    for (int32_t c = 0; c < half; ++c)
      graph.join_network(middles[static_cast<size_t>(middle)],
                         cores[static_cast<size_t>(middle % half * half + c)], 1 / words.taper);
  Topology made = graph.take();
  made.closed = [=](int32_t from, int32_t to, std::vector<int32_t>* links) {
    hosts.route(from, to, links, [=](int32_t a, int32_t b, std::vector<int32_t>* way) {
      const int32_t edge_a = a / half, edge_b = b / half, up = b % half, core = edge_b % half;
      const int32_t pod_a = edge_a / half, pod_b = edge_b / half;
      if (edge_a == edge_b) return;
      way->push_back(first + 2 * (edge_a * half + up));
      if (pod_a != pod_b) {
        way->push_back(second + 2 * ((pod_a * half + up) * half + core));
        way->push_back(second + 2 * ((pod_b * half + up) * half + core) + 1);
      }
      way->push_back(first + 2 * (edge_b * half + up) + 1);
    });
  };
  return made;
}

/// Dragonfly: link numbers of switches within a group and of pairs of groups.
struct DragonflyLinks {
  int32_t groups, switches, nodes, links;
  bool plus;
  std::vector<int32_t> local{};   // by group, switch (leaf), switch (spine)
  std::vector<int32_t> global{};  // by group, distance to the other group - 1, number

  [[nodiscard]] int32_t joins() const noexcept {
    return groups == 1 ? 0 : switches * links / (groups - 1);
  }
  [[nodiscard]] size_t place(int32_t group, int32_t distance, int32_t number) const noexcept {
    return static_cast<size_t>((group * (groups - 1) + distance - 1) * joins() + number);
  }
  [[nodiscard]] int32_t owner(int32_t distance, int32_t number) const noexcept {
    return ((distance - 1) + number * (groups - 1)) / links;
  }
  [[nodiscard]] int32_t within(int32_t group, int32_t a, int32_t b) const noexcept {
    return local[static_cast<size_t>((group * switches + a) * switches + b)];
  }
  /// From host a's switch to host b's switch.
  void route(int32_t a, int32_t b, std::vector<int32_t>* way) const {
    const int32_t from = a / nodes, to = b / nodes;
    const int32_t group = from / switches, other = to / switches;
    if (from == to) return;
    if (group == other) {
      if (plus) {
        const int32_t spine = b % nodes % switches;
        way->push_back(within(group, from % switches, spine));
        way->push_back(within(group, to % switches, spine) + 1);
      } else {
        way->push_back(within(group, from % switches, to % switches));
      }
      return;
    }
    const int32_t distance = (other - group + groups) % groups, number = b % nodes % joins();
    const int32_t out = owner(distance, number), in = owner(groups - distance, number);
    if (plus || from % switches != out) way->push_back(within(group, from % switches, out));
    way->push_back(global[place(group, distance, number)]);
    if (plus)
      way->push_back(within(other, to % switches, in) + 1);
    else if (to % switches != in)
      way->push_back(within(other, in, to % switches));
  }
};

void join_group(Graph& graph, DragonflyLinks* d, int32_t group, const int32_t* leaves,
                const int32_t* spines) {
  for (int32_t a = 0; a < d->switches; ++a)
    for (int32_t b = 0; b < d->switches; ++b) {
      int32_t link = -1;
      if (d->plus)
        link = graph.join_network(leaves[a], spines[b]);
      else if (a < b)
        link = graph.join_network(leaves[a], leaves[b]);
      else if (a > b)
        link = d->within(group, b, a) + 1;
      d->local.push_back(link);
    }
}

void join_groups(Graph& graph, DragonflyLinks* d, const std::vector<int32_t>& ports) {
  d->global.assign(static_cast<size_t>(d->groups) * static_cast<size_t>(d->groups - 1) *
                       static_cast<size_t>(d->joins()),
                   -1);
  std::map<std::pair<int32_t, int32_t>, int32_t> known;
  for (int32_t group = 0; group < d->groups; ++group)
    for (int32_t other = group + 1; other < d->groups; ++other)
      for (int32_t n = 0; n < d->joins(); ++n) {
        const int32_t there = other - group, back = d->groups - there;
        const int32_t a = ports[static_cast<size_t>(group * d->switches + d->owner(there, n))];
        const int32_t b = ports[static_cast<size_t>(other * d->switches + d->owner(back, n))];
        const auto [at, is_new] = known.try_emplace({a, b}, -1);
        if (is_new)
          at->second = graph.join_network(a, b);
        else
          graph.widen(at->second);
        d->global[d->place(group, there, n)] = at->second;
        d->global[d->place(other, back, n)] = at->second + 1;
      }
}

Topology dragonfly(const MachineWords& words) {
  const auto d = std::make_shared<DragonflyLinks>(DragonflyLinks{
      words.size(0), words.size(1), words.size(2), words.size(3), words.kind == "dragonfly+"});
  if (d->groups > 1 && d->joins() == 0)
    words.fail(strf("%d links of a group reach only %d of %d other groups", d->switches * d->links,
                    d->switches * d->links, d->groups - 1));
  Graph graph(words);
  const std::vector<int32_t> leaves = add_switches(graph, "s", d->groups * d->switches);
  std::vector<int32_t> spines;
  if (d->plus) spines = add_switches(graph, "t", d->groups * d->switches);
  const HostLinks hosts{static_cast<int32_t>(words.ranks)};
  for (int32_t h = 0; h < d->groups * d->switches * d->nodes; ++h)
    graph.add_host(h, leaves[static_cast<size_t>(h / d->nodes)]);
  for (int32_t group = 0; group < d->groups; ++group)
    join_group(graph, d.get(), group, leaves.data() + group * d->switches,
               d->plus ? spines.data() + group * d->switches : nullptr);
  join_groups(graph, d.get(), d->plus ? spines : leaves);
  Topology made = graph.take();
  made.closed = [d, hosts](int32_t from, int32_t to, std::vector<int32_t>* links) {
    hosts.route(from, to, links,
                [&](int32_t a, int32_t b, std::vector<int32_t>* way) { d->route(a, b, way); });
  };
  return made;
}

/// Torus: the link from a host to the next in each dimension; the link back differs in bit 0.
struct TorusLinks {
  std::vector<int32_t> sizes;
  int32_t hosts = 1;
  std::vector<int32_t> next{};  // by dimension, host

  void route(int32_t a, int32_t b, std::vector<int32_t>* way) const {
    int32_t stride = 1;
    for (size_t d = 0; d < sizes.size(); stride *= sizes[d++]) {
      const int32_t n = sizes[d], ahead = (b / stride % n - a / stride % n + n) % n;
      const bool forward = 2 * ahead <= n;
      for (int32_t left = forward ? ahead : n - ahead; left > 0; --left) {
        const int32_t to = moved(a, stride, n, forward ? 1 : n - 1);
        way->push_back(forward ? link(d, a) : link(d, to) ^ 1);
        a = to;
      }
    }
  }
  [[nodiscard]] static int32_t moved(int32_t host, int32_t stride, int32_t n, int32_t by) noexcept {
    const int32_t place = host / stride % n;
    return host + ((place + by) % n - place) * stride;
  }
  [[nodiscard]] int32_t link(size_t d, int32_t host) const noexcept {
    return next[d * static_cast<size_t>(hosts) + static_cast<size_t>(host)];
  }
};

// A ring of two hosts has one pair of links.
void join_torus(Graph& graph, TorusLinks* t, const std::vector<int32_t>& routers) {
  int32_t stride = 1;
  for (size_t d = 0; d < t->sizes.size(); stride *= t->sizes[d++])
    for (int32_t h = 0; h < t->hosts; ++h) {
      const int32_t n = t->sizes[d], to = TorusLinks::moved(h, stride, n, 1);
      int32_t link = -1;
      if (n == 2 && to < h)
        link = t->link(d, to) ^ 1;
      else if (n > 1)
        link =
            graph.join_network(routers[static_cast<size_t>(h)], routers[static_cast<size_t>(to)]);
      t->next.push_back(link);
    }
}

Topology torus(const MachineWords& words) {
  const auto t = std::make_shared<TorusLinks>();
  for (size_t i = 0; i < words.sizes.size(); ++i) {
    t->sizes.push_back(words.size(i));
    t->hosts *= words.size(i);
  }
  Graph graph(words);
  const std::vector<int32_t> routers = add_switches(graph, "r", t->hosts);
  const HostLinks hosts{static_cast<int32_t>(words.ranks)};
  for (int32_t h = 0; h < t->hosts; ++h) graph.add_host(h, routers[static_cast<size_t>(h)]);
  join_torus(graph, t.get(), routers);
  Topology made = graph.take();
  made.closed = [t, hosts](int32_t from, int32_t to, std::vector<int32_t>* links) {
    hosts.route(from, to, links,
                [&](int32_t a, int32_t b, std::vector<int32_t>* way) { t->route(a, b, way); });
  };
  return made;
}

void add_rail_host(Graph& graph, const MachineWords& words, int32_t host,
                   const std::vector<int32_t>& leaves) {
  const int32_t gpus = words.size(1), groups = static_cast<int32_t>(leaves.size()) / gpus;
  const std::string name = "h" + std::to_string(host);
  const int32_t inner = graph.add_node(name + "switch", Topology::Kind::kNode);
  const int32_t group = words.size(3) == 0 ? 0 : host / words.size(2);
  for (int32_t g = 0; g < gpus; ++g) {
    const int32_t gpu = graph.add_node(name + "g" + std::to_string(g), Topology::Kind::kGpu);
    graph.join(gpu, inner, words.host, words.host_latency);
    graph.join_network(gpu, leaves[static_cast<size_t>(g * groups + group)]);
  }
}

Topology rails(const MachineWords& words) {
  const int32_t hosts = words.size(0), gpus = words.size(1), leaf = words.size(2),
                spine = words.size(3);
  const int32_t groups = spine == 0 ? 1 : (hosts + leaf - 1) / leaf;
  if (spine == 0 && leaf < hosts)
    words.fail(strf("without spines a leaf of %d hosts does not join %d", leaf, hosts));
  Graph graph(words);
  const std::vector<int32_t> leaves = add_switches(graph, "leaf", gpus * groups);
  const std::vector<int32_t> spines = add_switches(graph, "spine", spine);
  for (int32_t h = 0; h < hosts; ++h) add_rail_host(graph, words, h, leaves);
  const int32_t first = hosts * gpus * 4;
  for (const int32_t one : leaves)
    for (const int32_t top : spines) graph.join_network(one, top);
  Topology made = graph.take();
  made.closed = [=](int32_t from, int32_t to, std::vector<int32_t>* links) {
    const int32_t rail = to % gpus, group_a = spine == 0 ? 0 : from / gpus / leaf,
                  group_b = spine == 0 ? 0 : to / gpus / leaf;
    const int32_t by = from / gpus * gpus + rail;  // the GPU that sends into the network
    if (from == to) return;
    if (by != from) {
      links->push_back(4 * from);
      links->push_back(4 * by + 1);
    }
    if (by == to) return;
    links->push_back(4 * by + 2);
    if (group_a != group_b) {
      const int32_t top = to / gpus % leaf % spine;
      links->push_back(first + 2 * ((rail * groups + group_a) * spine + top));
      links->push_back(first + 2 * ((rail * groups + group_b) * spine + top) + 1);
    }
    links->push_back(4 * to + 3);
  };
  return made;
}

void check_words(const MachineWords& words, size_t least, size_t most) {
  if (words.sizes.size() < least || words.sizes.size() > most)
    words.fail(strf("%zu sizes", words.sizes.size()));
  if (words.bandwidth < 1e-6 || words.host < 1e-6) words.fail("a bandwidth must be above 0");
  if (words.background >= 1 || words.taper < 1e-3)
    words.fail("background must be below 1, and TAPER at least 0.001");
  if (words.ranks < 1 || words.ranks > 1024) words.fail("ranks must be from 1 to 1024");
}

void check_size(const MachineWords& words, int64_t zeros_from) {
  for (size_t i = 0; i < words.sizes.size(); ++i)
    if (words.sizes[i] > kMostGenerated ||
        (words.sizes[i] < 1 && static_cast<int64_t>(i) < zeros_from))
      words.fail(strf("size %lld is not from 1 to %lld", static_cast<long long>(words.sizes[i]),
                      static_cast<long long>(kMostGenerated)));
}

/// `factors` multiply to a number of ranks or links; the product may exceed any integer.
void check_product(const MachineWords& words, std::initializer_list<int64_t> factors, int64_t most,
                   const char* what) {
  double product = 1;
  for (const int64_t factor : factors) product *= static_cast<double>(factor);
  if (product > static_cast<double>(most))
    words.fail(strf("%.0f %s, of at most %lld", product, what, static_cast<long long>(most)));
}

Topology checked_fat_tree(const MachineWords& words) {
  check_words(words, 1, 2);
  check_size(words, 1);
  const int64_t k = words.sizes[0];
  if (k % 2 != 0) words.fail(strf("K is %lld; K must be even", static_cast<long long>(k)));
  check_product(words, {k, k / 2, k / 2, words.ranks}, kMostGenerated, "ranks");
  return fat_tree(words);
}

Topology checked_dragonfly(const MachineWords& words) {
  check_words(words, 4, 4);
  check_size(words, 3);
  const auto& s = words.sizes;
  check_product(words, {s[0], s[1], s[2], words.ranks}, kMostGenerated, "ranks");
  check_product(words, {s[0], s[1], 2 * s[1]}, kMostGeneratedLinks, "links within groups");
  check_product(words, {s[0], s[1], 2 * s[3]}, kMostGeneratedLinks, "links between groups");
  return dragonfly(words);
}

Topology checked_torus(const MachineWords& words) {
  check_words(words, 1, 6);
  check_size(words, 6);
  double hosts = static_cast<double>(words.ranks);
  for (const int64_t n : words.sizes) hosts *= static_cast<double>(n);
  check_product(words, {static_cast<int64_t>(std::min(hosts, 1e15))}, kMostGenerated, "ranks");
  return torus(words);
}

Topology checked_rails(const MachineWords& words) {
  check_words(words, 4, 4);
  check_size(words, 3);
  const auto& s = words.sizes;
  check_product(words, {s[0], s[1]}, kMostGenerated, "ranks");
  check_product(words, {s[0] / s[2] + 1, s[1], 2 * s[3]}, kMostGeneratedLinks, "links to spines");
  return rails(words);
}

}  // namespace

Topology generate_machine(const std::string& text) {
  const MachineWords words = WordsReader(text).take();
  if (words.kind == "fat-tree") return checked_fat_tree(words);
  if (words.kind == "dragonfly" || words.kind == "dragonfly+") return checked_dragonfly(words);
  if (words.kind == "torus") return checked_torus(words);
  if (words.kind == "rails") return checked_rails(words);
  words.fail("\"" + words.kind + "\" is not a machine");
}

}  // namespace tern::coll
