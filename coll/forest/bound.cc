// SPDX-License-Identifier: Apache-2.0
// Bound: Newton's method on cuts.
#include "coll/forest/bound.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "base/error.hpp"
#include "coll/forest/flow.hpp"
#include "mpi.h"

namespace tern::coll::forest {
namespace {

constexpr size_t kNamedGpus = 8;

struct Ratio {
  int64_t units = 0, capacity = 1;
  [[nodiscard]] bool above(const Ratio& other) const noexcept {
    return static_cast<__int128>(units) * other.capacity >
           static_cast<__int128>(other.units) * capacity;
  }
};

Ratio ratio_of(const Graph& graph, const std::vector<int64_t>& weights,
               const std::vector<char>& cut) {
  Ratio ratio{0, 0};
  for (size_t gpu = 0; gpu < weights.size(); ++gpu)
    if (cut[gpu] != 0) ratio.units += weights[gpu];
  for (const Graph::Edge& edge : graph.edges)
    if (cut[static_cast<size_t>(edge.from)] != 0 && cut[static_cast<size_t>(edge.to)] == 0)
      ratio.capacity += edge.capacity;
  return ratio;
}

class Newton {
 public:
  Newton(const Graph& graph, const std::vector<int64_t>& weights)
      : graph_(graph), weights_(weights), network_(graph.nodes() + 1) {
    for (const Graph::Edge& edge : graph.edges) (void)network_.add(edge.from, edge.to, 0);
    for (int32_t gpu = 0; gpu < graph.gpus; ++gpu) (void)network_.add(graph.nodes(), gpu, 0);
    total_ = std::accumulate(weights.begin(), weights.end(), int64_t{0});
    std::vector<char> all(static_cast<size_t>(graph.nodes()), 1);
    for (int32_t gpu = 0; gpu < graph.gpus; ++gpu) {
      all[static_cast<size_t>(gpu)] = 0;
      take(all);
      all[static_cast<size_t>(gpu)] = 1;
    }
  }

  Bound run() {
    for (bool tighter = graph_.gpus > 1; tighter;) {
      tighter = false;
      set_capacities();
      const Ratio at = best_;
      for (int32_t gpu = 0; gpu < graph_.gpus; ++gpu) tighter |= try_gpu(gpu, at);
    }
    const int64_t common = std::max<int64_t>(std::gcd(best_.units, best_.capacity), 1);
    return {best_.units / common, best_.capacity / common, cut_};
  }

 private:
  // An edge of capacity b carries units * b, a root of weight w supplies capacity * w.
  void set_capacities() {
    int32_t arc = 0;
    for (const Graph::Edge& edge : graph_.edges)
      network_.set(2 * arc++, best_.units * edge.capacity);
    for (const int64_t weight : weights_) network_.set(2 * arc++, best_.capacity * weight);
  }

  bool try_gpu(int32_t gpu, const Ratio& at) {
    if (network_.run(graph_.nodes(), gpu, total_ * at.capacity) == total_ * at.capacity)
      return false;
    std::vector<char> cut;
    for (int32_t node = 0; node < graph_.nodes(); ++node)
      cut.push_back(network_.on_source_side(node) ? 1 : 0);
    take(cut);
    return true;
  }

  void take(const std::vector<char>& cut) {
    const Ratio ratio = ratio_of(graph_, weights_, cut);
    if (ratio.units > 0 && ratio.capacity == 0)
      throw Error(MPI_ERR_ARG, "no way leaves " + cut_in_words(graph_, cut) +
                                   ": links must lead from each GPU to all");
    if (ratio.units == 0 || (!cut_.empty() && !ratio.above(best_))) return;
    best_ = ratio;
    cut_ = cut;
  }

  const Graph& graph_;
  const std::vector<int64_t>& weights_;
  FlowNetwork network_;
  int64_t total_ = 0;
  Ratio best_;
  std::vector<char> cut_;
};

std::string names_of(const Graph& graph, const std::vector<char>& cut, char side) {
  std::string words;
  size_t named = 0;
  for (int32_t gpu = 0; gpu < graph.gpus; ++gpu) {
    if (cut[static_cast<size_t>(gpu)] != side) continue;
    if (++named <= kNamedGpus) words += " " + graph.names[static_cast<size_t>(gpu)];
  }
  return named > kNamedGpus ? words + strf(" and %zu more", named - kNamedGpus) : words;
}

std::string links_of(const Graph& graph, const std::vector<char>& cut) {
  std::map<int64_t, int, std::greater<>> links;
  for (const Graph::Edge& edge : graph.edges)
    if (cut[static_cast<size_t>(edge.from)] != 0 && cut[static_cast<size_t>(edge.to)] == 0)
      ++links[edge.capacity];
  std::string words;
  for (const auto& [capacity, count] : links)
    words += strf(", %d link%s of %g GB/s", count, count == 1 ? "" : "s",
                  graph.gbytes(static_cast<double>(capacity)));
  return words.empty() ? ", no link" : words;
}

}  // namespace

Bound bound_of(const Graph& graph, const std::vector<int64_t>& weights) {
  return Newton(graph, weights).run();
}

std::vector<int64_t> root_weights(Collective collective, int32_t gpus, int32_t root) {
  std::vector<int64_t> weights(static_cast<size_t>(gpus), rooted(collective) ? 0 : 1);
  if (rooted(collective)) weights[static_cast<size_t>(root)] = 1;
  return weights;
}

double bus_bound(const Graph& graph, Collective collective, double ratio) {
  if (ratio <= 0) return 0;
  const double others = rooted(collective) ? 1 : graph.gpus - 1;
  return graph.gbytes(others / ratio);
}

std::string cut_in_words(const Graph& graph, const std::vector<char>& cut) {
  const auto inside = static_cast<int32_t>(std::count(cut.begin(), cut.begin() + graph.gpus, 1));
  const char* const many = inside == 1 ? "GPU" : "GPUs";
  const bool most = 2 * inside > graph.gpus;
  return strf("%d %s%s%s", inside, many, most ? " without" : ":",
              names_of(graph, cut, most ? 0 : 1).c_str()) +
         links_of(graph, cut);
}

}  // namespace tern::coll::forest
