// SPDX-License-Identifier: Apache-2.0
// Graphs: nodes of work with what each comes after, and the user objects that a graph holds.
//
// A launch runs its nodes in an order drawn anew each time (SOFTCUDA_SEED) among those that the
// dependences allow; a node that waits for a word does not keep those of other branches back.
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
  std::vector<size_t> after;  // numbers of nodes before this one
};

/// References to user objects; they end with it.
class UserReferences {
 public:
  UserReferences() = default;
  UserReferences(const UserReferences& other);  // as many again
  UserReferences& operator=(const UserReferences&) = delete;
  ~UserReferences();
  void add(CUuserObject object, unsigned count) { counts_[object] += count; }
  /// False where there are not so many.
  bool give(CUuserObject object, unsigned count);

 private:
  std::map<CUuserObject, unsigned> counts_;
};

/// Shared by its handle and the launches under way: it ends when no launch needs it.
struct Graph {
  Graph() = default;
  Graph(const Graph& other)
      : nodes(other.nodes), references(other.references), children(other.children) {}
  Graph& operator=(const Graph&) = delete;
  ~Graph() = default;
  std::vector<Node> nodes;
  UserReferences references;
  std::vector<std::shared_ptr<Graph>> children;  // launched into it
  std::mutex mutex;
  Place last;  // of the newest launch: one comes after the other
};
using GraphPtr = std::shared_ptr<Graph>;

/// The caller of these two holds table_mutex.
CUgraph make_graph();
void destroy_graph(CUgraph graph);

}  // namespace softcuda

/// These are never freed, so that a stale handle is an error.
struct CUgraph_st {
  softcuda::GraphPtr body;  // null once destroyed
  softcuda::Capture* captured = nullptr;
};
