// SPDX-License-Identifier: Apache-2.0
// Captures: a stream's work becomes nodes of a graph.
#include "capture.hpp"

#include <set>

namespace softcuda {
namespace {

using CapturePtr = std::shared_ptr<Capture>;

thread_local CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

std::set<CapturePtr>& captures() {
  static auto& made = *new std::set<CapturePtr>;
  return made;
}
std::atomic<int> under_way{0};

CUresult spoil(Capture& capture, CUresult error) {
  capture.invalid = true;
  return error;
}

/// capture_beside() returns the capture that the context's legacy stream would join, or null.
Capture* capture_beside(CUstream stream) {
  if (stream != stream->context->legacy) return nullptr;
  for (const CapturePtr& capture : captures())
    for (const auto& [member, clock] : capture->clocks)
      if (member->blocking && member->context == stream->context) return capture.get();
  return nullptr;
}

CUresult refuse_legacy(CUstream stream) {
  Capture* const beside = capture_beside(stream);
  return beside == nullptr ? CUDA_SUCCESS : spoil(*beside, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
}

void merge(Clock& into, const Clock& other) {
  for (const auto& [stream, node] : other) into[stream] = std::max(into[stream], node);
}

std::vector<size_t> node_numbers(const Clock& clock) {
  std::vector<size_t> numbers;
  for (const auto& [stream, count] : clock) numbers.push_back(count - 1);
  return numbers;
}

void add_node(Capture& capture, CUstream stream, Work work) {
  Clock& clock = capture.clocks[stream];
  std::vector<Node>& nodes = capture.graph->body->nodes;
  nodes.push_back({std::move(work), node_numbers(clock)});
  clock[stream] = nodes.size();
}

bool is_joined(const Capture& capture) {
  const Clock& last = capture.clocks.at(capture.origin);
  for (const auto& [stream, clock] : capture.clocks) {
    const auto mine = clock.find(stream);
    const auto seen = last.find(stream);
    if (mine != clock.end() && (seen == last.end() || seen->second < mine->second)) return false;
  }
  return true;
}

}  // namespace

bool forbidden_by_capture() {
  if (under_way.load(std::memory_order_relaxed) == 0) return false;
  if (thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED) return false;
  std::lock_guard lock(table_mutex());
  bool forbidden = false;
  for (const CapturePtr& capture : captures()) {
    const bool mine = capture->thread == std::this_thread::get_id();
    const bool global = capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
    if (capture->mode == CU_STREAM_CAPTURE_MODE_RELAXED) continue;
    if (!mine && !(global && thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL)) continue;
    capture->invalid = forbidden = true;
  }
  return forbidden;
}

CUresult capture_work(CUstream stream, Work& work, bool* captured) {
  if (under_way.load(std::memory_order_relaxed) == 0) return CUDA_SUCCESS;
  std::lock_guard lock(table_mutex());
  if (!stream->capture) return refuse_legacy(stream);
  Capture& capture = *stream->capture;
  if (capture.invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  add_node(capture, stream, std::move(work));
  *captured = true;
  return CUDA_SUCCESS;
}

CUresult capture_graph(CUstream stream, const GraphPtr& child, bool* captured) {
  if (under_way.load(std::memory_order_relaxed) == 0) return CUDA_SUCCESS;
  std::lock_guard lock(table_mutex());
  if (!stream->capture) return refuse_legacy(stream);
  Capture& capture = *stream->capture;
  if (capture.invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  Graph& graph = *capture.graph->body;
  const size_t first = graph.nodes.size();
  const std::vector<size_t> before = node_numbers(capture.clocks[stream]);
  for (Node node : child->nodes) {
    for (size_t& number : node.after) number += first;
    node.after.insert(node.after.end(), before.begin(), before.end());
    graph.nodes.push_back(std::move(node));
  }
  add_node(capture, stream, {.run = [] { return CUDA_SUCCESS; }, .on_device = false});
  std::vector<size_t>& after = graph.nodes.back().after;
  for (size_t i = first; i + 1 < graph.nodes.size(); ++i) after.push_back(i);
  graph.children.push_back(child);
  *captured = true;
  return CUDA_SUCCESS;
}

CUresult capture_record(CUstream stream, CUevent event, bool* captured) {
  if (under_way.load(std::memory_order_relaxed) == 0 && !event->capture) return CUDA_SUCCESS;
  std::lock_guard lock(table_mutex());
  event->capture = nullptr;
  if (!stream->capture) return refuse_legacy(stream);
  Capture& capture = *stream->capture;
  if (capture.invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  event->capture = stream->capture;
  event->clock = capture.clocks[stream];
  *captured = true;
  return CUDA_SUCCESS;
}

CUresult capture_wait(CUstream stream, CUevent event, bool* captured) {
  if (under_way.load(std::memory_order_relaxed) == 0) return CUDA_SUCCESS;
  std::lock_guard lock(table_mutex());
  if (!stream->capture && !event->capture) return refuse_legacy(stream);
  // A graph cannot depend on an event recorded outside.
  if (!event->capture) return spoil(*stream->capture, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
  const CapturePtr capture = event->capture;
  if (captures().count(capture) == 0) return CUDA_ERROR_CAPTURED_EVENT;
  if (capture->invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (stream->capture && stream->capture != capture) {
    spoil(*stream->capture, CUDA_ERROR_STREAM_CAPTURE_MERGE);
    return spoil(*capture, CUDA_ERROR_STREAM_CAPTURE_MERGE);
  }
  if (stream == stream->context->legacy) return spoil(*capture, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  stream->capture = capture;
  merge(capture->clocks[stream], event->clock);
  *captured = true;
  return CUDA_SUCCESS;
}

CUresult refuse_in_capture(CUstream stream) {
  if (under_way.load(std::memory_order_relaxed) == 0) return CUDA_SUCCESS;
  std::lock_guard lock(table_mutex());
  if (!stream->capture) return refuse_legacy(stream);
  return spoil(*stream->capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
}

CUresult refuse_captured(CUevent event) {
  std::lock_guard lock(table_mutex());
  if (!event->capture) return CUDA_SUCCESS;
  return spoil(*event->capture, CUDA_ERROR_CAPTURED_EVENT);
}

}  // namespace softcuda

using namespace softcuda;  // NOLINT

extern "C" {

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  SOFTCUDA_ENTER(kDriver, *mode);
  if (*mode < 0 || *mode > CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
  std::swap(*mode, thread_mode);
  return CUDA_SUCCESS;
}

CUresult cuStreamBeginCapture_v2(CUstream hStream, CUstreamCaptureMode mode) {
  SOFTCUDA_ENTER(kContext, hStream, mode);
  CUstream stream;
  if (const CUresult refused = find_stream(hStream, &stream)) return refused;
  static unsigned long long next = 1;
  std::lock_guard lock(table_mutex());
  if (stream == stream->context->legacy) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (stream->capture) return CUDA_ERROR_ILLEGAL_STATE;
  auto capture = std::make_shared<Capture>();
  capture->id = next++;
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->origin = stream;
  capture->clocks[stream] = {};
  capture->graph = make_graph();
  capture->graph->captured = capture.get();
  stream->capture = capture;
  captures().insert(capture);
  ++under_way;
  return CUDA_SUCCESS;
}

CUresult cuStreamEndCapture(CUstream hStream, CUgraph* phGraph) {
  SOFTCUDA_ENTER(kContext, hStream);
  CUstream stream;
  if (const CUresult refused = find_stream(hStream, &stream)) return refused;
  std::lock_guard lock(table_mutex());
  const std::shared_ptr<Capture> capture = stream->capture;
  *phGraph = nullptr;
  if (!capture) return CUDA_ERROR_ILLEGAL_STATE;
  if (capture->origin != stream) return spoil(*capture, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
  if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED &&
      capture->thread != std::this_thread::get_id())
    return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
  const bool joined = is_joined(*capture);
  for (const auto& [member, clock] : capture->clocks) member->capture = nullptr;
  captures().erase(capture);
  --under_way;
  capture->graph->captured = nullptr;
  if (capture->invalid || !joined) destroy_graph(capture->graph);
  if (capture->invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (!joined) return CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
  *phGraph = capture->graph;
  return CUDA_SUCCESS;
}

CUresult cuStreamIsCapturing(CUstream hStream, CUstreamCaptureStatus* captureStatus) {
  return cuStreamGetCaptureInfo_v2(hStream, captureStatus, nullptr, nullptr, nullptr, nullptr);
}

CUresult cuStreamGetCaptureInfo_v2(CUstream hStream, CUstreamCaptureStatus* captureStatus_out,
                                   uint64_t* id_out, CUgraph* graph_out,
                                   const CUgraphNode** dependencies_out,
                                   size_t* numDependencies_out) {
  SOFTCUDA_ENTER(kContext, hStream);
  CUstream stream;
  if (const CUresult refused = find_stream(hStream, &stream)) return refused;
  std::lock_guard lock(table_mutex());
  if (capture_beside(stream) != nullptr) return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  const Capture* capture = stream->capture.get();
  *captureStatus_out = capture == nullptr ? CU_STREAM_CAPTURE_STATUS_NONE
                       : capture->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                          : CU_STREAM_CAPTURE_STATUS_ACTIVE;
  if (id_out != nullptr) *id_out = capture != nullptr ? capture->id : 0;
  if (graph_out != nullptr) *graph_out = capture != nullptr ? capture->graph : nullptr;
  if (dependencies_out != nullptr) *dependencies_out = nullptr;
  if (numDependencies_out != nullptr) *numDependencies_out = 0;
  return CUDA_SUCCESS;
}

CUresult cuStreamGetCaptureInfo_v3(CUstream hStream, CUstreamCaptureStatus* captureStatus_out,
                                   uint64_t* id_out, CUgraph* graph_out,
                                   const CUgraphNode** dependencies_out,
                                   const CUgraphEdgeData** edgeData_out,
                                   size_t* numDependencies_out) {
  if (edgeData_out != nullptr) *edgeData_out = nullptr;
  return cuStreamGetCaptureInfo_v2(hStream, captureStatus_out, id_out, graph_out, dependencies_out,
                                   numDependencies_out);
}

}  // extern "C"
