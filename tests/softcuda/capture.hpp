// SPDX-License-Identifier: Apache-2.0
// Stream capture: permitted calls, recorded work, and the errors of violations.
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
  CUgraph graph = nullptr;           // result, nodes in a valid order
  std::map<CUstream, Clock> clocks;  // of each participating stream
};

/// Whether a capture forbids this thread an unsafe call. The call then invalidates the capture.
bool forbidden_by_capture();
/// Adds work to the graph if the stream captures.
CUresult capture_work(CUstream stream, Work& work, bool* captured);
/// Copies the nodes of a launched graph into the captured graph.
CUresult capture_graph(CUstream stream, const GraphPtr& child, bool* captured);
CUresult capture_record(CUstream stream, CUevent event, bool* captured);
CUresult capture_wait(CUstream stream, CUevent event, bool* captured);
/// For calls that a capturing stream, or an event recorded in a capture, refuses.
CUresult refuse_in_capture(CUstream stream);
CUresult refuse_captured(CUevent event);

}  // namespace softcuda
