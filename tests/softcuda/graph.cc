// SPDX-License-Identifier: Apache-2.0
// Graphs and launches. A driver thread calls the destructors of user objects.
#include "graph.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <thread>

#include "capture.hpp"
#include "config.hpp"

struct CUgraphExec_st {
  softcuda::GraphPtr body;
};

/// object_mutex guards user objects.
struct CUuserObject_st {
  void* data;
  CUhostFn destroy;
  unsigned long long references;
};

namespace softcuda {
namespace {

std::mutex& object_mutex() {
  static auto& made = *new std::mutex;
  return made;
}

// Destructors run in a separate thread and must not call the driver.
void destroy_later(CUhostFn destroy, void* data) {
  struct Line {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<std::pair<CUhostFn, void*>> waiting;
    bool started = false;
  };
  static auto& line = *new Line;
  std::lock_guard lock(line.mutex);
  line.waiting.emplace_back(destroy, data);
  line.changed.notify_one();
  if (line.started) return;
  line.started = true;
  std::thread([] {
    const HostFunctionScope scope;
    std::unique_lock inside(line.mutex);
    while (true) {
      line.changed.wait(inside, [] { return !line.waiting.empty(); });
      const auto [function, what] = line.waiting.front();
      line.waiting.pop_front();
      inside.unlock();
      std::this_thread::sleep_for(std::chrono::microseconds(random_below(500)));
      function(what);
      inside.lock();
    }
  }).detach();
}

bool change_references(CUuserObject object, long long by) {
  std::lock_guard lock(object_mutex());
  const auto before = static_cast<long long>(object->references);
  if (before == 0 || before + by < 0) return false;
  object->references = static_cast<unsigned long long>(before + by);
  if (object->references > 0) return true;
  --live("user objects");
  destroy_later(object->destroy, object->data);
  return true;
}

bool is_count(unsigned count) { return count > 0 && count <= 0x7fffffffU; }

struct Flight {
  explicit Flight(GraphPtr graph) : body(std::move(graph)), left(body->nodes.size()) {
    for (size_t i = 0; i < left.size(); ++i) {
      left[i] = body->nodes[i].after.size();
      if (left[i] == 0) ready.push_back(i);
    }
    steps.resize(left.size());
  }
  GraphPtr body;
  std::vector<size_t> left;  // unfinished predecessors
  std::vector<size_t> steps;
  std::vector<size_t> ready;
};

void finish_node(Flight& flight, size_t number) {
  std::erase(flight.ready, number);
  for (size_t i = number + 1; i < flight.left.size(); ++i)
    for (const size_t before : flight.body->nodes[i].after)
      if (before == number && --flight.left[i] == 0) flight.ready.push_back(i);
}

CUresult advance_node(CUstream stream, Flight& flight, size_t number) {
  const Work& work = flight.body->nodes[number].work;
  size_t& done = flight.steps[number];
  stream->busy = work.what;
  for (; done <= work.more.size(); ++done) {
    const Step& step = done == 0 ? work.run : work.more[done - 1];
    if (const CUresult result = attempt(stream, step, work.on_device)) return result;
  }
  finish_node(flight, number);
  return CUDA_SUCCESS;
}

// A single hardware queue keeps the recorded order.
CUresult advance_in_order(CUstream stream, Flight& flight) {
  while (!flight.ready.empty()) {
    const size_t next = *std::min_element(flight.ready.begin(), flight.ready.end());
    if (const CUresult result = advance_node(stream, flight, next)) return result;
  }
  return CUDA_SUCCESS;
}

// advance() tries ready nodes in random order.
CUresult advance(CUstream stream, Flight& flight) {
  if (config().connections == 1) return advance_in_order(stream, flight);
  while (!flight.ready.empty()) {
    std::vector<size_t> untried = flight.ready;
    bool moved = false;
    while (!untried.empty() && !moved) {
      const size_t at = random_below(untried.size());
      const CUresult result = advance_node(stream, flight, untried[at]);
      if (result != CUDA_SUCCESS && result != CUDA_ERROR_NOT_READY) return result;
      moved = result == CUDA_SUCCESS;
      untried.erase(untried.begin() + static_cast<long>(at));
    }
    if (!moved) return CUDA_ERROR_NOT_READY;
  }
  return CUDA_SUCCESS;
}

}  // namespace

UserReferences::UserReferences(const UserReferences& other) : counts_(other.counts_) {
  for (const auto& [object, count] : counts_) change_references(object, count);
}

UserReferences::~UserReferences() {
  for (const auto& [object, count] : counts_)
    change_references(object, -static_cast<long long>(count));
}

bool UserReferences::give(CUuserObject object, unsigned count) {
  const auto found = counts_.find(object);
  if (found == counts_.end() || found->second < count) return false;
  if ((found->second -= count) == 0) counts_.erase(found);
  return true;
}

CUgraph make_graph() {
  auto* const graph = make_for_ever<CUgraph_st>();
  graph->body = std::make_shared<Graph>();
  ++live("graphs");
  return graph;
}

void destroy_graph(CUgraph graph) {
  graph->body = nullptr;
  --live("graphs");
}

}  // namespace softcuda

using namespace softcuda;  // NOLINT

extern "C" {

CUresult cuGraphInstantiateWithFlags(CUgraphExec* phGraphExec, CUgraph hGraph,
                                     unsigned long long flags) {
  SOFTCUDA_ENTER(kContext, hGraph, flags);
  std::lock_guard lock(table_mutex());
  if (hGraph == nullptr || !hGraph->body || hGraph->captured != nullptr)
    return CUDA_ERROR_INVALID_VALUE;
  auto* const made = make_for_ever<CUgraphExec_st>();
  made->body = std::make_shared<Graph>(*hGraph->body);
  *phGraphExec = made;
  ++live("graphs");
  return CUDA_SUCCESS;
}

CUresult cuGraphLaunch(CUgraphExec hGraphExec, CUstream hStream) {
  SOFTCUDA_ENTER(kContext, hGraphExec, hStream);
  CUstream stream;
  if (const CUresult refused = find_stream(hStream, &stream)) return refused;
  const GraphPtr body = hGraphExec->body;
  if (!body) return CUDA_ERROR_INVALID_VALUE;
  bool captured = false;
  if (const CUresult refused = capture_graph(stream, body, &captured)) return refused;
  if (captured) return CUDA_SUCCESS;
  std::lock_guard lock(body->mutex);
  Work work{
      .run = [stream, flight = std::make_shared<Flight>(body)] { return advance(stream, *flight); },
      .after = {body->last},
      .on_device = false,
      .what = "a graph"};
  for (const Node& node : body->nodes) {
    work.starts.copies += node.work.starts.copies;
    work.starts.kernels += node.work.starts.kernels;
    work.starts.waits += node.work.starts.waits;
  }
  const CUresult result = submit(stream, std::move(work));
  if (result == CUDA_SUCCESS) body->last = end_of(stream);
  return result;
}

// Running launches release the graph's objects.
CUresult cuGraphExecDestroy(CUgraphExec hGraphExec) {
  SOFTCUDA_ENTER(kDriver, hGraphExec);
  GraphPtr last;
  std::lock_guard lock(table_mutex());
  if (hGraphExec == nullptr || !hGraphExec->body) return CUDA_ERROR_INVALID_VALUE;
  last.swap(hGraphExec->body);
  --live("graphs");
  return CUDA_SUCCESS;
}

CUresult cuGraphDestroy(CUgraph hGraph) {
  SOFTCUDA_ENTER(kDriver, hGraph);
  std::lock_guard lock(table_mutex());
  if (hGraph == nullptr || !hGraph->body || hGraph->captured != nullptr)
    return CUDA_ERROR_INVALID_VALUE;
  destroy_graph(hGraph);
  return CUDA_SUCCESS;
}

CUresult cuUserObjectCreate(CUuserObject* object_out, void* ptr, CUhostFn destroy,
                            unsigned initialRefcount, unsigned flags) {
  SOFTCUDA_ENTER(kDriver, ptr, initialRefcount, flags);
  if (object_out == nullptr || destroy == nullptr || !is_count(initialRefcount) ||
      flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC)
    return CUDA_ERROR_INVALID_VALUE;
  auto* const made = make_for_ever<CUuserObject_st>();
  *made = {ptr, destroy, initialRefcount};
  *object_out = made;
  ++live("user objects");
  return CUDA_SUCCESS;
}

CUresult cuUserObjectRetain(CUuserObject object, unsigned count) {
  SOFTCUDA_ENTER(kDriver, object, count);
  if (object == nullptr || !is_count(count)) return CUDA_ERROR_INVALID_VALUE;
  return change_references(object, count) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuUserObjectRelease(CUuserObject object, unsigned count) {
  SOFTCUDA_ENTER(kDriver, object, count);
  if (object == nullptr || !is_count(count)) return CUDA_ERROR_INVALID_VALUE;
  return change_references(object, -static_cast<long long>(count)) ? CUDA_SUCCESS
                                                                   : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned count,
                                 unsigned flags) {
  SOFTCUDA_ENTER(kDriver, graph, object, count, flags);
  std::lock_guard lock(table_mutex());
  if (graph == nullptr || !graph->body || object == nullptr || !is_count(count) ||
      flags > CU_GRAPH_USER_OBJECT_MOVE)
    return CUDA_ERROR_INVALID_VALUE;
  if (flags != CU_GRAPH_USER_OBJECT_MOVE && !change_references(object, count))
    return CUDA_ERROR_INVALID_VALUE;
  graph->body->references.add(object, count);
  return CUDA_SUCCESS;
}

CUresult cuGraphReleaseUserObject(CUgraph graph, CUuserObject object, unsigned count) {
  SOFTCUDA_ENTER(kDriver, graph, object, count);
  std::lock_guard lock(table_mutex());
  if (graph == nullptr || !graph->body || object == nullptr || !is_count(count) ||
      !graph->body->references.give(object, count))
    return CUDA_ERROR_INVALID_VALUE;
  change_references(object, -static_cast<long long>(count));
  return CUDA_SUCCESS;
}

}  // extern "C"
