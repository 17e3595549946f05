// SPDX-License-Identifier: Apache-2.0
// Streams: a queue and, from the first piece of work on, a thread.
//
// Order: work of a stream in order; the legacy stream and the blocking streams of its context wait
// for each other; everything else only by events.
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

/// A place in a stream: what has been submitted up to there.
struct Place {
  CUstream stream = nullptr;
  uint64_t ticket = 0;
};

/// A part of a piece of work. It gives CUDA_SUCCESS, CUDA_ERROR_NOT_READY where it is to be asked
/// again, or the error that ends the context.
using Step = std::function<CUresult()>;

/// One piece of work: its steps in order. A piece that failed, and what follows in a context that
/// has failed, is not run.
struct Work {
  Step run;
  std::vector<Place> after = {};
  bool always = false;    // also in a context that has failed: events
  bool on_device = true;  // not what waits, or runs on the host
  const char* what = "a copy, memset or kernel";
  std::vector<Step> more = {};  // behind `run`
  uint64_t ticket = 0;          // in its hardware queue
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
  bool counted = false;                        // among those that live("streams") counts
  bool closed = false;                         // destroyed: the thread ends when the queue is empty
  std::atomic<bool> abandoned{false};          // its context has ended: what is queued is dropped
  std::atomic<const char*> busy{nullptr};      // with what
  std::shared_ptr<softcuda::Capture> capture;  // guarded by table_mutex
};

namespace softcuda {

/// The caller holds table_mutex.
CUstream make_stream(CUcontext context, bool blocking, int priority);
void abandon_stream(CUstream stream);

/// The stream of a handle: of null, CU_STREAM_LEGACY and CU_STREAM_PER_THREAD, too. Fails for a
/// stale handle, and for a context that has failed.
CUresult find_stream(CUstream handle, CUstream* stream);
/// Puts work at a stream's end, or into the graph that it captures.
CUresult submit(CUstream stream, Work work);
inline CUresult submit(CUstream stream, std::function<CUresult()> run) {
  return submit(stream, Work{.run = std::move(run)});
}
/// Tries a step once, for a stream.
CUresult attempt(CUstream stream, const Step& step, bool on_device);
Place end_of(CUstream stream);
bool reached(const Place& place);
/// Waits until the place is reached, or the context has failed (then its error).
CUresult wait_for(const Place& place);
/// CUDA_ERROR_NOT_READY: who polls leaves the core to the threads that are the device.
CUresult not_ready();
/// Tells, once, that a wait has lasted SOFTCUDA_PATIENCE seconds.
class Patience {
 public:
  void ask(const std::function<std::string()>& what);

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  bool told_ = false;
};
/// What allocates, frees, pins or loads waits for all work of the current context, where
/// SOFTCUDA_WAITS asks for it: the real driver may.
void wait_as_it_may();
/// Waits for all streams of a context, of a device, of all.
CUresult wait_for_context(CUcontext context);
void wait_for_device(int physical);

}  // namespace softcuda
