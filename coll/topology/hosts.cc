// SPDX-License-Identifier: Apache-2.0
#include "coll/topology/hosts.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "coll/topology/canonical.hpp"
#include "coll/topology/topology.hpp"
#include "mpi.h"

namespace tern::coll {
namespace {

using Kind = Topology::Kind;

class HostJoiner {
 public:
  HostJoiner(const std::vector<std::string>& hosts, const std::vector<RankPlace>& ranks)
      : hosts_(hosts), alone_(hosts.size() == 1) {
    for (size_t i = 0; i < hosts.size(); ++i)
      if (!hosts[i].empty() && graphs_.count(hosts[i]) == 0)
        graphs_.emplace(hosts[i], parse_topology(hosts[i], strf("host %zu", i)));
    for (const RankPlace& rank : ranks) add_rank(rank);
    for (size_t i = 0; i < hosts.size(); ++i) add_host(i);
  }

  [[nodiscard]] std::string text() const {
    std::string text = gpus_ + nodes_;
    for (const auto& [ends, link] : links_)
      text += strf("oneway %s %s %lld.%06lld %s\n", ends.first.c_str(), ends.second.c_str(),
                   static_cast<long long>(link.capacity / 1000000),
                   static_cast<long long>(link.capacity % 1000000), link.latency.c_str());
    return canonical_text(parse_topology(text, "the joined hosts"));
  }

 private:
  struct Joined {
    int64_t capacity;
    std::string latency;
  };

  [[nodiscard]] const Topology& graph(size_t host) const {
    const auto found = graphs_.find(hosts_[host]);
    if (found == graphs_.end())
      throw Error(MPI_ERR_ARG, strf("host %zu has no GPU that is known", host));
    return found->second;
  }

  void add_rank(const RankPlace& rank) {
    const Topology& of = graph(rank.host);
    if (rank.gpu >= of.gpus.size())
      throw Error(MPI_ERR_ARG,
                  strf("host %zu has more than %zu ranks, but %zu GPUs: a rank needs a "
                       "GPU of its own",
                       rank.host, rank.gpu, of.gpus.size()));
    gpus_ += "gpu " + name(rank.host, of.gpus[rank.gpu]) + "\n";
    used_.insert({rank.host, of.gpus[rank.gpu]});
  }

  [[nodiscard]] std::string name(size_t host, int32_t node) const {
    const Topology& of = graph(host);
    const Topology::Node& one = of.nodes[static_cast<size_t>(node)];
    const bool shared = one.kind == Kind::kNet || one.name.starts_with("nvl-");
    return shared || alone_ ? one.name : strf("h%zu", host) + one.name;
  }

  [[nodiscard]] bool stays(size_t host, int32_t node) const {
    const Kind kind = graph(host).nodes[static_cast<size_t>(node)].kind;
    if (kind == Kind::kGpu) return used_.count({host, node}) > 0;
    return kind != Kind::kNet || !alone_;
  }

  void add_host(size_t host) {
    const Topology& of = graph(host);
    for (int32_t node = 0; node < static_cast<int32_t>(of.nodes.size()); ++node) {
      const Kind kind = of.nodes[static_cast<size_t>(node)].kind;
      if (kind == Kind::kGpu || !stays(host, node)) continue;
      if (named_.insert(name(host, node)).second)
        nodes_ += (kind == Kind::kNet ? "net " : "node ") + name(host, node) + "\n";
    }
    for (const Topology::Link& link : of.links) {
      if (!stays(host, link.from) || !stays(host, link.to)) continue;
      const std::pair ends{name(host, link.from), name(host, link.to)};
      const auto [joined, fresh] =
          links_.emplace(ends, Joined{link.capacity, strf("%.6f", link.latency)});
      if (!fresh) joined->second.capacity += link.capacity;
    }
  }

  const std::vector<std::string>& hosts_;
  bool alone_;
  std::map<std::string, Topology> graphs_;  // by text
  std::set<std::pair<size_t, int32_t>> used_;
  std::set<std::string> named_;
  std::string gpus_, nodes_;
  std::map<std::pair<std::string, std::string>, Joined> links_;
};

}  // namespace

std::string join_hosts(const std::vector<std::string>& hosts, const std::vector<RankPlace>& ranks) {
  return HostJoiner(hosts, ranks).text();
}

std::string join_copies(const std::string& host, int copies) {
  if (host.empty()) throw Error(MPI_ERR_ARG, "this host has no GPU that is known");
  const size_t gpus = parse_topology(host, "the host").gpus.size();
  std::vector<RankPlace> ranks;
  for (size_t copy = 0; copy < static_cast<size_t>(copies); ++copy)
    for (size_t gpu = 0; gpu < gpus; ++gpu) ranks.push_back({copy, gpu});
  return join_hosts(std::vector<std::string>(static_cast<size_t>(copies), host), ranks);
}

}  // namespace tern::coll
