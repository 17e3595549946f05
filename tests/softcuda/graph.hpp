// SPDX-License-Identifier: Apache-2.0
// Graphs: nodes of work with dependencies, and user objects.
// A launch draws a random order (SOFTCUDA_SEED) that the dependencies allow. A waiting node does
// not block other branches.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "stream.hpp"

namespace softcuda {

struct Capture;

struct Node {
  Work work;
  std::vector<size_t> after;
};

class UserReferences {
 public:
  UserReferences() = default;
  UserReferences(const UserReferences& other);
  UserReferences& operator=(const UserReferences&) = delete;
  ~UserReferences();
  void add(CUuserObject object, unsigned count) { counts_[object] += count; }
  bool give(CUuserObject object, unsigned count);

 private:
  std::map<CUuserObject, unsigned> counts_;
};

struct Graph {
  Graph() = default;
  Graph(const Graph& other)
      : nodes(other.nodes), references(other.references), children(other.children) {}
  Graph& operator=(const Graph&) = delete;
  ~Graph() = default;
  std::vector<Node> nodes;
  UserReferences references;
  std::vector<std::shared_ptr<Graph>> children;
  std::mutex mutex;
  Place last;
};
using GraphPtr = std::shared_ptr<Graph>;

/// The caller holds table_mutex.
CUgraph make_graph();
void destroy_graph(CUgraph graph);

}  // namespace softcuda

/// A graph handle is never freed, so a stale handle is an error.
struct CUgraph_st {
  softcuda::GraphPtr body;  // null if destroyed
  softcuda::Capture* captured = nullptr;
};
