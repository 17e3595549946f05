// SPDX-License-Identifier: Apache-2.0
// Streams: a queue each, and a thread from the first work on. Only events and the legacy stream
// order other streams.
#pragma once
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "context.hpp"
#include "ledger.hpp"

namespace softcuda {

struct Capture;

/// A Place is all work submitted so far to a stream.
struct Place {
  CUstream stream = nullptr;
  uint64_t ticket = 0;
};

/// CUDA_ERROR_NOT_READY repeats the step. Errors end the context.
using Step = std::function<CUresult()>;

/// After a failure, the driver skips later work in the context.
struct Work {
  Step run;
  std::vector<Place> after = {};
  bool always = false;    // also in failed contexts
  bool on_device = true;  // false: waits, host functions
  const char* what = "a copy, memset or kernel";
  std::vector<Step> more = {};
  uint64_t ticket = 0;
  Starts starts = {};
};

}  // namespace softcuda

struct CUstream_st {
  CUcontext context = nullptr;
  bool blocking = true;
  int priority = 0;
  unsigned long long id = 0;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<softcuda::Work> queue;
  uint64_t submitted = 0;
  uint64_t completed = 0;
  bool started = false;
  bool counted = false;
  bool closed = false;                 // the thread ends with the queue
  std::atomic<bool> abandoned{false};  // the thread drops queued work
  std::atomic<const char*> busy{nullptr};
  std::shared_ptr<softcuda::Capture> capture;  // guarded by table_mutex
};

namespace softcuda {

/// The caller holds table_mutex.
CUstream make_stream(CUcontext context, bool blocking, int priority);
void abandon_stream(CUstream stream);

/// find_stream() accepts null, CU_STREAM_LEGACY and CU_STREAM_PER_THREAD, and fails for a stale
/// handle or a failed context.
CUresult find_stream(CUstream handle, CUstream* stream);
CUresult submit(CUstream stream, Work work);
inline CUresult submit(CUstream stream, std::function<CUresult()> run) {
  return submit(stream, Work{.run = std::move(run)});
}
CUresult attempt(CUstream stream, const Step& step, bool on_device);
Place end_of(CUstream stream);
bool reached(const Place& place);
/// wait_for() returns the error of a failed context.
CUresult wait_for(const Place& place);
/// not_ready() also yields the core to the device's threads.
CUresult not_ready();
/// Patience reports a wait of SOFTCUDA_PATIENCE seconds.
class Patience {
 public:
  void ask(const std::function<std::string()>& what);

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  bool told_ = false;
};
/// With SOFTCUDA_WAITS, wait_as_it_may() waits for all work of the context, as the real driver may.
void wait_as_it_may();
CUresult wait_for_context(CUcontext context);
void wait_for_device(int physical);

}  // namespace softcuda
