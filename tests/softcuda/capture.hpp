// SPDX-License-Identifier: Apache-2.0
// Stream capture: what may be called meanwhile, what is recorded, and the errors of those who
// break the rules.
#pragma once
#include <thread>

#include "event.hpp"
#include "graph.hpp"
#include "stream.hpp"

namespace softcuda {

/// Guarded by table_mutex.
struct Capture {
  unsigned long long id = 0;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::thread::id thread;
  CUstream origin = nullptr;
  bool invalid = false;
  CUgraph graph = nullptr;           // what it makes; its nodes are in an order that could be kept
  std::map<CUstream, Clock> clocks;  // of each stream that takes part
};

/// Whether some capture forbids this thread an unsafe call; such a capture is broken then.
bool forbidden_by_capture();
/// Takes work into the graph where the stream captures.
CUresult capture_work(CUstream stream, Work& work, bool* captured);
/// A graph is launched into one that is captured: its nodes become nodes of that.
CUresult capture_graph(CUstream stream, const GraphPtr& child, bool* captured);
CUresult capture_record(CUstream stream, CUevent event, bool* captured);
CUresult capture_wait(CUstream stream, CUevent event, bool* captured);
/// For calls that a capturing stream, or an event recorded in one, does not allow.
CUresult refuse_in_capture(CUstream stream);
CUresult refuse_captured(CUevent event);

}  // namespace softcuda
