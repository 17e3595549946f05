// SPDX-License-Identifier: Apache-2.0
// Graph topologies: MPI-5.0 sections 8.5.3, 8.5.5 and 8.5.8.
#include <algorithm>
#include <utility>

#include "api/attempt.hpp"
#include "api/bodies.hpp"
#include "api/comm/comm.hpp"
#include "api/comm/topology.hpp"

namespace tern::api {

namespace {

using core::Communicator;
using core::Graph;

int read_graph(const Communicator& comm, int nnodes, const int* index, const int* edges,
               Graph* graph) {
  if (nnodes < 0 || nnodes > comm.size())
    return fail(MPI_ERR_ARG, "nnodes is %d, but the communicator has %d ranks", nnodes,
                comm.size());
  int before = 0;
  for (int i = 0; i < nnodes; before = index[i++])
    if (index[i] < before)
      return fail(MPI_ERR_ARG, "index[%d] is %d, but must be at least %d: edge counts accumulate",
                  i, index[i], before);
  if (before > 0 && edges == nullptr)
    return fail(MPI_ERR_ARG, "edges is a null pointer, but index has %d edges", before);
  for (int i = 0; i < before; ++i)
    if (edges[i] < 0 || edges[i] >= nnodes)
      return fail(MPI_ERR_ARG, "edges[%d] is %d, but the graph has the nodes 0..%d", i, edges[i],
                  nnodes - 1);
  graph->index.assign(index, index + nnodes);
  graph->edges.assign(edges, edges + before);
  return MPI_SUCCESS;
}

core::Placement placement(const Communicator& comm, const Graph& graph, bool reorder) {
  const auto ranks = static_cast<int>(graph.index.size());
  return reorder ? core::place(graph, nodes_of(comm, ranks)) : in_order(ranks);
}

}  // namespace

int graph_create(Communicator& comm_old, int nnodes, const int* index, const int* edges,
                 int reorder, MPI_Comm* comm_graph) noexcept {
  return attempt([&] {
    Graph graph;
    int code = require_intra(comm_old, "comm_old");
    if (code == MPI_SUCCESS) code = read_graph(comm_old, nnodes, index, edges, &graph);
    if (code != MPI_SUCCESS) return without(comm_old, code);
    const core::Placement order = placement(comm_old, graph, reorder != 0);
    return publish_shaped(comm_old, order, std::move(graph), nullptr, comm_graph);
  });
}

int graph_map(Communicator& comm, int nnodes, const int* index, const int* edges,
              int* newrank) noexcept {
  return attempt([&] {
    Graph graph;
    int code = require_intra(comm, "comm");
    if (code == MPI_SUCCESS) code = read_graph(comm, nnodes, index, edges, &graph);
    if (code == MPI_SUCCESS) *newrank = rank_in(placement(comm, graph, true), comm.rank());
    return code;
  });
}

int graphdims_get(Communicator& comm, int* nnodes, int* nedges) noexcept {
  const Graph* graph = graph_of(comm);
  if (graph == nullptr) return MPI_ERR_TOPOLOGY;
  *nnodes = static_cast<int>(graph->index.size());
  *nedges = static_cast<int>(graph->edges.size());
  return MPI_SUCCESS;
}

int graph_get(Communicator& comm, int maxindex, int maxedges, int* index, int* edges) noexcept {
  const Graph* graph = graph_of(comm);
  if (graph == nullptr) return MPI_ERR_TOPOLOGY;
  const auto nodes = static_cast<int>(graph->index.size());
  const auto count = static_cast<int>(graph->edges.size());
  if (maxindex < nodes || maxedges < count)
    return fail(MPI_ERR_ARG,
                "maxindex is %d and maxedges %d, but the graph has %d nodes and %d edges", maxindex,
                maxedges, nodes, count);
  std::copy(graph->index.begin(), graph->index.end(), index);
  std::copy(graph->edges.begin(), graph->edges.end(), edges);
  return MPI_SUCCESS;
}

int graph_neighbors_count(Communicator& comm, int rank, int* nneighbors) noexcept {
  const Graph* graph = graph_of(comm);
  if (graph == nullptr) return MPI_ERR_TOPOLOGY;
  *nneighbors = graph->degree(rank);
  return MPI_SUCCESS;
}

int graph_neighbors(Communicator& comm, int rank, int maxneighbors, int* neighbors) noexcept {
  const Graph* graph = graph_of(comm);
  if (graph == nullptr) return MPI_ERR_TOPOLOGY;
  const int degree = graph->degree(rank);
  if (maxneighbors < degree)
    return fail(MPI_ERR_ARG, "maxneighbors is %d, but rank %d has %d neighbours", maxneighbors,
                rank, degree);
  std::copy_n(graph->neighbors(rank), degree, neighbors);
  return MPI_SUCCESS;
}

}  // namespace tern::api
