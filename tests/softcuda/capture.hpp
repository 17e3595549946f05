// SPDX-License-Identifier: Apache-2.0
// Stream capture: permitted calls, recorded work, errors.
#pragma once
#include <thread>

#include "event.hpp"
#include "graph.hpp"
#include "stream.hpp"

namespace softcuda {

/// table_mutex guards captures.
struct Capture {
  unsigned long long id = 0;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::thread::id thread;
  CUstream origin = nullptr;
  bool invalid = false;
  CUgraph graph = nullptr;  // nodes in a valid order
  std::map<CUstream, Clock> clocks;
};

/// A forbidden call invalidates the capture.
bool forbidden_by_capture();
CUresult capture_work(CUstream stream, Work& work, bool* captured);
CUresult capture_graph(CUstream stream, const GraphPtr& child, bool* captured);
CUresult capture_record(CUstream stream, CUevent event, bool* captured);
CUresult capture_wait(CUstream stream, CUevent event, bool* captured);
CUresult refuse_in_capture(CUstream stream);
CUresult refuse_captured(CUevent event);

}  // namespace softcuda
