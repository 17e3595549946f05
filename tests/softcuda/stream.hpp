// SPDX-License-Identifier: Apache-2.0
// Streams: a queue, and a thread from the first work on. Other streams order only by events and the
// legacy stream.
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

/// A place in a stream: all work submitted so far.
struct Place {
  CUstream stream = nullptr;
  uint64_t ticket = 0;
};

/// CUDA_ERROR_NOT_READY repeats the step. Errors end the context.
using Step = std::function<CUresult()>;

/// After a failure, later work in the context is skipped.
struct Work {
  Step run;
  std::vector<Place> after = {};
  bool always = false;    // also in failed contexts
  bool on_device = true;  // false: waits, host functions
  const char* what = "a copy, memset or kernel";
  std::vector<Step> more = {};  // after `run`
  uint64_t ticket = 0;          // in the hardware queue
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
  bool closed = false;                         // the thread ends with the queue
  std::atomic<bool> abandoned{false};          // queued work is dropped
  std::atomic<const char*> busy{nullptr};      // current work
  std::shared_ptr<softcuda::Capture> capture;  // guarded by table_mutex
};

namespace softcuda {

/// The caller holds table_mutex.
CUstream make_stream(CUcontext context, bool blocking, int priority);
void abandon_stream(CUstream stream);

/// Accepts null, CU_STREAM_LEGACY and CU_STREAM_PER_THREAD. Fails for a stale handle or a failed
/// context.
CUresult find_stream(CUstream handle, CUstream* stream);
/// To the stream, or to its captured graph.
CUresult submit(CUstream stream, Work work);
inline CUresult submit(CUstream stream, std::function<CUresult()> run) {
  return submit(stream, Work{.run = std::move(run)});
}
/// Tries a step once.
CUresult attempt(CUstream stream, const Step& step, bool on_device);
Place end_of(CUstream stream);
bool reached(const Place& place);
/// Returns the error of a failed context.
CUresult wait_for(const Place& place);
/// Also yields the core to the device's threads.
CUresult not_ready();
/// Reports a wait of SOFTCUDA_PATIENCE seconds.
class Patience {
 public:
  void ask(const std::function<std::string()>& what);

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  bool told_ = false;
};
/// With SOFTCUDA_WAITS, waits for all work of the context, as the real driver may.
void wait_as_it_may();
CUresult wait_for_context(CUcontext context);
void wait_for_device(int physical);

}  // namespace softcuda
