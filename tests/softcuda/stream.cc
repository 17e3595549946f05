// SPDX-License-Identifier: Apache-2.0
// Streams as threads.
#include "stream.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

#include <chrono>
#include <set>
#include <thread>

#include "capture.hpp"
#include "config.hpp"
#include "hardware_queue.hpp"

namespace softcuda {
namespace {

std::set<CUstream>& live_streams() {
  static auto& made = *new std::set<CUstream>;
  return made;
}

// With SOFTCUDA_EXCLUSIVE, one process at a time works on a device.
class Turn {
 public:
  explicit Turn(int physical) : here_(places[physical]) {
    std::unique_lock lock(here_.mutex);
    if (here_.holders++ > 0) return;
    const std::string path = config().exclusive + "." + std::to_string(physical);
    if (here_.fd < 0) here_.fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (here_.fd < 0) give_up("SOFTCUDA_EXCLUSIVE: cannot open %s", path.c_str());
    flock(here_.fd, LOCK_EX);
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() {
    std::unique_lock lock(here_.mutex);
    if (--here_.holders == 0) flock(here_.fd, LOCK_UN);
  }

 private:
  struct PlaceOfTurn {
    std::mutex mutex;
    int fd = -1;
    int holders = 0;
  };
  static PlaceOfTurn places[64];
  PlaceOfTurn& here_;
};
Turn::PlaceOfTurn Turn::places[64];

void wait_for_room(CUstream stream) {
  if (config().queue == 0) return;
  std::unique_lock lock(stream->mutex);
  Patience patience;
  const auto room = [&] { return stream->queue.size() < config().queue || stream->closed; };
  while (!stream->changed.wait_for(lock, std::chrono::milliseconds(500), room))
    patience.ask([&] {
      const char* const busy = stream->busy;
      return "the launch queue of stream " + std::to_string(stream->id) +
             " is full, and the stream is busy with " + (busy != nullptr ? busy : "nothing");
    });
}

void dawdle() {
  if (config().jitter_us == 0) return;
  std::this_thread::sleep_for(std::chrono::microseconds(random_below(config().jitter_us)));
}

CUresult complete(CUstream stream, const Step& step, bool on_device) {
  Patience patience;
  while (true) {
    const CUresult result = attempt(stream, step, on_device);
    if (result != CUDA_ERROR_NOT_READY) return result;
    if (exiting() || stream->abandoned) return CUDA_SUCCESS;
    patience.ask([&] {
      return "stream " + std::to_string(stream->id) + " is busy with " + stream->busy.load();
    });
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
}

void execute(CUstream stream, Work& work) {
  stream->busy = "a wait for other streams";
  Turnstile turnstile(stream, work);
  for (const Place& place : work.after) wait_for(place);
  dawdle();
  if (work.on_device) turnstile.leave();
  if (stream->context->sticky != 0 && !work.always) return;
  stream->busy = work.what;
  CUresult result = complete(stream, work.run, work.on_device);
  for (auto step = work.more.begin(); step != work.more.end() && result == CUDA_SUCCESS; ++step)
    result = complete(stream, *step, work.on_device);
  if (result != CUDA_SUCCESS) poison_context(stream->context, result);
}

void serve(CUstream stream) {
  std::unique_lock lock(stream->mutex);
  while (true) {
    stream->changed.wait(lock, [&] { return !stream->queue.empty() || stream->closed; });
    if (stream->queue.empty()) break;
    {
      Work work = std::move(stream->queue.front());
      stream->queue.pop_front();
      const bool dropped = stream->abandoned && !work.always;
      lock.unlock();
      if (dropped)
        Turnstile(stream, work).leave();
      else
        execute(stream, work);
      stream->busy = nullptr;
    }
    lock.lock();
    ++stream->completed;
    stream->changed.notify_all();
  }
  lock.unlock();
  std::lock_guard table(table_mutex());
  stream->context->streams.erase(stream);
}

// The caller holds the stream's mutex.
bool start(CUstream stream) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  bool started = true;
  try {
    std::thread(serve, stream).detach();
  } catch (const std::system_error&) {
    started = false;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  stream->started = started;
  return started;
}

CUstream per_thread_stream() {
  static thread_local std::vector<std::pair<unsigned long long, CUstream>> mine;
  const CUcontext context = current_context();
  for (const auto& [id, stream] : mine)
    if (id == context->id) return stream;
  std::lock_guard lock(table_mutex());
  mine.emplace_back(context->id.load(), make_stream(context, true, 0));
  return mine.back().second;
}

void order_with_legacy(CUstream stream, Work& work) {
  std::lock_guard lock(table_mutex());
  const CUcontext context = stream->context;
  if (stream == context->legacy) {
    for (CUstream other : context->streams)
      if (other != stream && other->blocking) work.after.push_back(end_of(other));
  } else if (stream->blocking && context->legacy != nullptr) {
    work.after.push_back(end_of(context->legacy));
  }
  std::erase_if(work.after, [](const Place& place) { return reached(place); });
}

// For the legacy stream, ends_behind() includes the blocking streams.
std::vector<Place> ends_behind(CUstream stream) {
  std::vector<Place> ends;
  std::lock_guard lock(table_mutex());
  if (stream == stream->context->legacy)
    for (CUstream other : stream->context->streams)
      if (other != stream && other->blocking) ends.push_back(end_of(other));
  ends.push_back(end_of(stream));
  return ends;
}

}  // namespace

CUstream make_stream(CUcontext context, bool blocking, int priority) {
  static std::atomic<unsigned long long> next{1};
  auto* stream = make_for_ever<CUstream_st>();
  stream->context = context;
  stream->blocking = blocking;
  stream->priority = priority;
  stream->id = next++;
  context->streams.insert(stream);
  live_streams().insert(stream);
  return stream;
}

void abandon_stream(CUstream stream) {
  {
    std::lock_guard lock(table_mutex());
    live_streams().erase(stream);
    if (stream->counted) --live("streams");
    stream->counted = false;
  }
  std::lock_guard lock(stream->mutex);
  stream->abandoned = stream->closed = true;
  stream->changed.notify_all();
}

CUresult find_stream(CUstream handle, CUstream* stream) {
  if (handle == CU_STREAM_PER_THREAD) {
    *stream = per_thread_stream();
  } else if (handle == nullptr || handle == CU_STREAM_LEGACY) {
    *stream = current_context()->legacy;
  } else {
    std::lock_guard lock(table_mutex());
    if (live_streams().count(handle) == 0) return CUDA_ERROR_INVALID_HANDLE;
    *stream = handle;
  }
  return state_of((*stream)->context);
}

CUresult submit(CUstream stream, Work work) {
  if (const CUresult fault = late_fault()) work.run = [fault] { return fault; };
  bool captured = false;
  if (const CUresult refused = capture_work(stream, work, &captured)) return refused;
  if (captured) return CUDA_SUCCESS;
  charge(work.starts);
  wait_for_room(stream);
  order_with_legacy(stream, work);
  std::lock_guard lock(stream->mutex);
  if (!stream->started && !start(stream)) return CUDA_ERROR_OUT_OF_MEMORY;
  if (HardwareQueue* const queue = HardwareQueue::of(stream)) work.ticket = queue->enter();
  stream->queue.push_back(std::move(work));
  ++stream->submitted;
  stream->changed.notify_all();
  return CUDA_SUCCESS;
}

CUresult attempt(CUstream stream, const Step& step, bool on_device) {
  if (config().exclusive.empty() || !on_device) return step();
  const Turn turn(stream->context->physical);
  return step();
}

Place end_of(CUstream stream) {
  std::lock_guard lock(stream->mutex);
  return {stream, stream->submitted};
}

bool reached(const Place& place) {
  if (place.stream == nullptr) return true;
  std::lock_guard lock(place.stream->mutex);
  return place.stream->completed >= place.ticket;
}

CUresult not_ready() {
  sched_yield();
  return CUDA_ERROR_NOT_READY;
}

CUresult wait_for(const Place& place) {
  if (place.stream == nullptr) return CUDA_SUCCESS;
  std::unique_lock lock(place.stream->mutex);
  const auto done = [&] { return place.stream->completed >= place.ticket; };
  Patience patience;
  while (!place.stream->changed.wait_for(lock, std::chrono::milliseconds(500), done))
    patience.ask([&] {
      const char* const busy = place.stream->busy;
      return "stream " + std::to_string(place.stream->id) + " has done " +
             std::to_string(place.stream->completed) + " of the " + std::to_string(place.ticket) +
             " awaited pieces of work, and is busy with " + (busy != nullptr ? busy : "nothing");
    });
  return static_cast<CUresult>(place.stream->context->sticky.load());
}

void Patience::ask(const std::function<std::string()>& what) {
  if (told_ || std::chrono::steady_clock::now() - begin_ < std::chrono::seconds(config().patience))
    return;
  told_ = true;
  const char* const caller = called_function();
  fprintf(stderr, "softcuda[%d]: %s waits for %u s: %s\n", getpid(),
          caller != nullptr ? caller : "a stream", config().patience, what().c_str());
}

void wait_as_it_may() {
  if (config().waits && current_context() != nullptr) wait_for_context(current_context());
}

CUresult wait_for_context(CUcontext context) {
  std::vector<Place> places;
  {
    std::lock_guard lock(table_mutex());
    for (CUstream stream : context->streams) places.push_back(end_of(stream));
  }
  for (const Place& place : places) wait_for(place);
  return static_cast<CUresult>(context->sticky.load());
}

void wait_for_device(int physical) {
  for (CUcontext context : contexts())
    if (context->physical == physical && context->alive) wait_for_context(context);
}

}  // namespace softcuda

using namespace softcuda;  // NOLINT

extern "C" {

CUresult cuStreamCreateWithPriority(CUstream* phStream, unsigned flags, int priority) {
  SOFTCUDA_ENTER(kContext, flags, priority);
  if (flags > CU_STREAM_NON_BLOCKING) return CUDA_ERROR_INVALID_VALUE;
  std::lock_guard lock(table_mutex());
  *phStream = make_stream(current_context(), flags != CU_STREAM_NON_BLOCKING, priority);
  (*phStream)->counted = true;
  ++live("streams");
  return CUDA_SUCCESS;
}

CUresult cuStreamCreate(CUstream* phStream, unsigned Flags) {
  return cuStreamCreateWithPriority(phStream, Flags, 0);
}

// cuStreamDestroy_v2 returns at once. Queued work still runs.
CUresult cuStreamDestroy_v2(CUstream hStream) {
  SOFTCUDA_ENTER(kDriver, hStream);
  {
    std::lock_guard lock(table_mutex());
    if (live_streams().erase(hStream) == 0) return CUDA_ERROR_INVALID_HANDLE;
    hStream->counted = false;
    std::lock_guard stream_lock(hStream->mutex);
    hStream->closed = true;
    if (!hStream->started) hStream->context->streams.erase(hStream);
    hStream->changed.notify_all();
  }
  --live("streams");
  return CUDA_SUCCESS;
}

CUresult cuStreamQuery(CUstream hStream) {
  SOFTCUDA_ENTER(kContext, hStream);
  CUstream stream;
  if (const CUresult refused = find_stream(hStream, &stream)) return refused;
  if (const CUresult refused = refuse_in_capture(stream)) return refused;
  for (const Place& place : ends_behind(stream))
    if (!reached(place)) return not_ready();
  return static_cast<CUresult>(stream->context->sticky.load());
}

CUresult cuStreamSynchronize(CUstream hStream) {
  SOFTCUDA_ENTER(kContext, hStream);
  CUstream stream;
  if (const CUresult refused = find_stream(hStream, &stream)) return refused;
  if (const CUresult refused = refuse_in_capture(stream)) return refused;
  CUresult result = CUDA_SUCCESS;
  for (const Place& place : ends_behind(stream)) result = wait_for(place);
  return result;
}

CUresult cuStreamGetCtx(CUstream hStream, CUcontext* pctx) {
  SOFTCUDA_ENTER(kContext, hStream);
  CUstream stream;
  if (const CUresult refused = find_stream(hStream, &stream)) return refused;
  *pctx = stream->context;
  return CUDA_SUCCESS;
}

CUresult cuStreamGetId(CUstream hStream, unsigned long long* streamId) {
  SOFTCUDA_ENTER(kContext, hStream);
  CUstream stream;
  if (const CUresult refused = find_stream(hStream, &stream)) return refused;
  *streamId = stream->id;
  return CUDA_SUCCESS;
}

CUresult cuLaunchHostFunc(CUstream hStream, CUhostFn fn, void* userData) {
  SOFTCUDA_ENTER(kContext, hStream, userData);
  CUstream stream;
  if (const CUresult refused = find_stream(hStream, &stream)) return refused;
  Work work{.run =
                [fn, userData] {
                  const HostFunctionScope scope;
                  fn(userData);
                  return CUDA_SUCCESS;
                },
            .after = {},
            .on_device = false,
            .what = "a host function"};
  return submit(stream, std::move(work));
}

CUresult cuCtxSynchronize() {
  SOFTCUDA_ENTER(kUncaptured);
  return wait_for_context(current_context());
}

}  // extern "C"
