// SPDX-License-Identifier: Apache-2.0
// Distributed graphs: MPI-5.0 sections 8.5.4 and 8.5.5. For `reorder` over several nodes, all ranks
// gather the whole graph and compute the same placement.
#include <algorithm>
#include <climits>
#include <utility>

#include "api/attempt.hpp"
#include "api/bodies.hpp"
#include "api/comm/comm.hpp"
#include "api/comm/topology.hpp"
#include "api/form.hpp"
#include "api/refused_call.hpp"
#include "core/datatype.hpp"

namespace tern::api {

namespace {

using core::Communicator;
using core::Edges;

bool holds_weights(const int* weights) {
  return weights != MPI_UNWEIGHTED && weights != MPI_WEIGHTS_EMPTY;
}

int check_ranks(const Communicator& comm, const char* what, const int* ranks, int count) {
  for (int i = 0; i < count; ++i)
    if (ranks[i] < 0 || ranks[i] >= comm.size())
      return fail(MPI_ERR_RANK, "%s[%d] is %d, but the communicator has ranks 0..%d", what, i,
                  ranks[i], comm.size() - 1);
  return MPI_SUCCESS;
}

int check_weights(const char* what, const int* weights, int count) {
  if (count == 0 || weights == MPI_UNWEIGHTED) return MPI_SUCCESS;
  if (weights == MPI_WEIGHTS_EMPTY || weights == nullptr)
    return fail(MPI_ERR_ARG, "%s is %s, but the graph has %d edges", what,
                weights == nullptr ? "a null pointer" : "MPI_WEIGHTS_EMPTY", count);
  for (int i = 0; i < count; ++i)
    if (weights[i] < 0)
      return fail(MPI_ERR_ARG, "%s[%d] is %d; a weight must not be negative", what, i, weights[i]);
  return MPI_SUCCESS;
}

int check_count(const char* what, int count) {
  if (count >= 0) return MPI_SUCCESS;
  return fail(MPI_ERR_ARG, "%s is %d, but must not be negative", what, count);
}

std::vector<int> as_numbers(const Edges& edges) {
  std::vector<int> all{static_cast<int>(edges.sources.size()),
                       static_cast<int>(edges.destinations.size()), edges.weighted ? 1 : 0};
  for (const auto* part :
       {&edges.sources, &edges.destinations, &edges.source_weights, &edges.destination_weights})
    all.insert(all.end(), part->begin(), part->end());
  return all;
}
Edges from_numbers(const int* numbers) {
  const int* next = numbers + 3;
  const auto take = [&next](int count) {
    next += count;
    return std::vector<int>(next - count, next);
  };
  Edges edges;
  edges.weighted = numbers[2] != 0;
  edges.sources = take(numbers[0]);
  edges.destinations = take(numbers[1]);
  edges.source_weights = take(edges.weighted ? numbers[0] : 0);
  edges.destination_weights = take(edges.weighted ? numbers[1] : 0);
  return edges;
}

int gather_edges(Communicator& comm, const Edges& mine, std::vector<Edges>* all) {
  core::Datatype& integer = core::predefined_type(comm.process(), MPI_INT);
  const std::vector<int> own = as_numbers(mine);
  const auto ranks = static_cast<size_t>(comm.size());
  MPI_Count length = static_cast<MPI_Count>(own.size());
  std::vector<MPI_Count> lengths(ranks);
  core::Datatype& count = core::predefined_type(comm.process(), MPI_COUNT);
  int code = allgather(&length, 1, count, lengths.data(), 1, count, comm, Form{});
  if (code != MPI_SUCCESS) return code;
  std::vector<MPI_Aint> starts{0};
  for (const MPI_Count one : lengths) starts.push_back(starts.back() + one);
  std::vector<int> numbers(static_cast<size_t>(starts.back()));
  code = allgatherv(own.data(), length, integer, numbers.data(), lengths.data(), starts.data(),
                    integer, comm, Form{});
  for (size_t rank = 0; rank < ranks && code == MPI_SUCCESS; ++rank)
    all->push_back(from_numbers(numbers.data() + starts[rank]));
  return code;
}

/// Whether `reorder` may change ranks.
bool gathers(const Communicator& parent, bool reorder) {
  const std::vector<int> nodes = reorder ? nodes_of(parent, parent.size()) : std::vector<int>();
  return std::any_of(nodes.begin(), nodes.end(), [&](int node) { return node != nodes[0]; });
}

int publish_edges(Communicator& parent, const core::Info* info, Edges edges, bool reorder,
                  MPI_Comm* out) {
  core::Placement order = in_order(parent.size());
  if (gathers(parent, reorder)) {
    std::vector<Edges> all;
    const int code = gather_edges(parent, edges, &all);
    if (code != MPI_SUCCESS) return code;
    order = core::place(core::graph_of(all), nodes_of(parent, parent.size()));
    edges = std::move(all[static_cast<size_t>(rank_in(order, parent.rank()))]);
  }
  return publish_shaped(parent, order, std::move(edges), info, out);
}

std::vector<int> copy_of(const int* values, int count) {
  return count > 0 ? std::vector<int>(values, values + count) : std::vector<int>();
}

/// Delivers pairs (rank, weight) to the ranks of a communicator.
class Post {
 public:
  explicit Post(Communicator& comm) : comm_(comm), boxes_(static_cast<size_t>(comm.size())) {}
  void put(int to, int rank, int weight) {
    auto& box = boxes_[static_cast<size_t>(to)];
    box.push_back(rank);
    box.push_back(weight);
  }

  /// Receives the pairs, sorted by sender. Collective.
  int deliver(std::vector<int>* ranks, std::vector<int>* weights) {
    core::Datatype& integer = core::predefined_type(comm_.process(), MPI_INT);
    std::vector<int> lengths, incoming(boxes_.size()), out;
    std::vector<MPI_Count> send_counts, receive_counts;
    for (const std::vector<int>& box : boxes_) {
      lengths.push_back(static_cast<int>(box.size()));
      send_counts.push_back(lengths.back());
      out.insert(out.end(), box.begin(), box.end());
    }
    int code = alltoall(lengths.data(), 1, integer, incoming.data(), 1, integer, comm_, Form{});
    if (code != MPI_SUCCESS) return code;
    receive_counts.assign(incoming.begin(), incoming.end());
    const std::vector<MPI_Aint> from = starts(send_counts), to = starts(receive_counts);
    std::vector<int> in(static_cast<size_t>(to.back()));
    in.reserve(1);  // an address even without data
    out.reserve(1);
    code = alltoallv(out.data(), send_counts.data(), from.data(), integer, in.data(),
                     receive_counts.data(), to.data(), integer, comm_, Form{});
    for (size_t i = 0; i < in.size() && code == MPI_SUCCESS; i += 2) {
      ranks->push_back(in[i]);
      weights->push_back(in[i + 1]);
    }
    return code;
  }

 private:
  static std::vector<MPI_Aint> starts(const std::vector<MPI_Count>& counts) {
    std::vector<MPI_Aint> found{0};
    for (const MPI_Count count : counts) found.push_back(found.back() + count);
    return found;
  }

  Communicator& comm_;
  std::vector<std::vector<int>> boxes_;
};

int check_edges(const Communicator& comm, int n, const int* sources, const int* degrees,
                const int* destinations, const int* weights, int* total) {
  int code = check_count("n", n);
  if (code == MPI_SUCCESS) code = check_ranks(comm, "sources", sources, n);
  for (int i = 0; i < n && code == MPI_SUCCESS; ++i) {
    if (degrees[i] < 0)
      code = fail(MPI_ERR_ARG, "degrees[%d] is %d, but must not be negative", i, degrees[i]);
    else if (__builtin_add_overflow(*total, degrees[i], total))
      code = fail(MPI_ERR_ARG, "the sum of degrees[0..%d] exceeds %d", i, INT_MAX);
  }
  if (code == MPI_SUCCESS && *total > 0 && destinations == nullptr)
    code = fail(MPI_ERR_ARG, "destinations is a null pointer, but the graph has %d edges", *total);
  if (code == MPI_SUCCESS) code = check_ranks(comm, "destinations", destinations, *total);
  return code == MPI_SUCCESS ? check_weights("weights", weights, *total) : code;
}

}  // namespace

int dist_graph_create(Communicator& comm_old, int n, const int* sources, const int* degrees,
                      const int* destinations, const int* weights, core::Info* info, int reorder,
                      MPI_Comm* comm_dist_graph) noexcept {
  return attempt([&] {
    int total = 0;
    int code = require_intra(comm_old, "comm_old");
    if (code == MPI_SUCCESS)
      code = check_edges(comm_old, n, sources, degrees, destinations, weights, &total);
    if (code != MPI_SUCCESS) {
      notify_refusal(comm_old, CallContext::kCollective, code);
      return code;
    }
    Post outgoing(comm_old), incoming(comm_old);
    for (int i = 0, edge = 0; i < n; ++i)
      for (int end = edge + degrees[i]; edge < end; ++edge) {
        const int weight = holds_weights(weights) ? weights[edge] : 0;
        outgoing.put(sources[i], destinations[edge], weight);
        incoming.put(destinations[edge], sources[i], weight);
      }
    Edges edges;
    edges.weighted = weights != MPI_UNWEIGHTED;
    code = outgoing.deliver(&edges.destinations, &edges.destination_weights);
    if (code == MPI_SUCCESS) code = incoming.deliver(&edges.sources, &edges.source_weights);
    if (code != MPI_SUCCESS) return code;
    return publish_edges(comm_old, info, std::move(edges), reorder != 0, comm_dist_graph);
  });
}

int dist_graph_create_adjacent(Communicator& comm_old, int indegree, const int* sources,
                               const int* sourceweights, int outdegree, const int* destinations,
                               const int* destweights, core::Info* info, int reorder,
                               MPI_Comm* comm_dist_graph) noexcept {
  return attempt([&] {
    int code = require_intra(comm_old, "comm_old");
    if (code == MPI_SUCCESS) code = check_count("indegree", indegree);
    if (code == MPI_SUCCESS) code = check_count("outdegree", outdegree);
    if (code == MPI_SUCCESS) code = check_ranks(comm_old, "sources", sources, indegree);
    if (code == MPI_SUCCESS) code = check_ranks(comm_old, "destinations", destinations, outdegree);
    if (code == MPI_SUCCESS) code = check_weights("sourceweights", sourceweights, indegree);
    if (code == MPI_SUCCESS) code = check_weights("destweights", destweights, outdegree);
    if (code != MPI_SUCCESS) {
      notify_refusal(
          comm_old,
          gathers(comm_old, reorder != 0) ? CallContext::kCollective : CallContext::kDerivation,
          code);
      return code;
    }
    Edges edges;
    edges.weighted = sourceweights != MPI_UNWEIGHTED && destweights != MPI_UNWEIGHTED;
    edges.sources = copy_of(sources, indegree);
    edges.destinations = copy_of(destinations, outdegree);
    if (edges.weighted) {
      edges.source_weights = copy_of(sourceweights, indegree);
      edges.destination_weights = copy_of(destweights, outdegree);
    }
    return publish_edges(comm_old, info, std::move(edges), reorder != 0, comm_dist_graph);
  });
}

int dist_graph_neighbors_count(Communicator& comm, int* indegree, int* outdegree,
                               int* weighted) noexcept {
  const Edges* edges = edges_of(comm);
  if (edges == nullptr) return MPI_ERR_TOPOLOGY;
  *indegree = static_cast<int>(edges->sources.size());
  *outdegree = static_cast<int>(edges->destinations.size());
  *weighted = edges->weighted ? 1 : 0;
  return MPI_SUCCESS;
}

namespace {

/// `out` may be a constant for "not wanted".
void copy_first(const std::vector<int>& values, int room, int* out) {
  if (out == nullptr || !holds_weights(out)) return;
  std::copy_n(values.begin(), std::min<size_t>(values.size(), static_cast<size_t>(room)), out);
}

}  // namespace

int dist_graph_neighbors(Communicator& comm, int maxindegree, int* sources, int* sourceweights,
                         int maxoutdegree, int* destinations, int* destweights) noexcept {
  const Edges* edges = edges_of(comm);
  if (edges == nullptr) return MPI_ERR_TOPOLOGY;
  int code = check_count("maxindegree", maxindegree);
  if (code == MPI_SUCCESS) code = check_count("maxoutdegree", maxoutdegree);
  if (code != MPI_SUCCESS) return code;
  copy_first(edges->sources, maxindegree, sources);
  copy_first(edges->destinations, maxoutdegree, destinations);
  if (!edges->weighted) return MPI_SUCCESS;
  copy_first(edges->source_weights, maxindegree, sourceweights);
  copy_first(edges->destination_weights, maxoutdegree, destweights);
  return MPI_SUCCESS;
}

}  // namespace tern::api
