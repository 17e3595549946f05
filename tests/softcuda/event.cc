// SPDX-License-Identifier: Apache-2.0
// Events within a process and between processes.
#include "event.hpp"

#include <time.h>

#include <set>

#include "capture.hpp"
#include "futex.hpp"

namespace softcuda {
namespace {

std::set<CUevent>& live_events() {
  static auto& made = *new std::set<CUevent>;
  return made;
}

int64_t now_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

void complete(SharedEvent& shared, uint64_t turn) {
  uint64_t seen = shared.completed.load();
  while (seen < turn && !shared.completed.compare_exchange_weak(seen, turn)) {
  }
  shared.bell.fetch_add(1);
  wake(shared.bell);
}

void wait_shared(SharedEvent& shared, uint64_t turn) {
  Patience patience;
  while (!exiting()) {
    const uint32_t bell = shared.bell.load();
    if (shared.completed.load() >= turn) return;
    sleep_on(shared.bell, bell);
    patience.ask([] { return std::string("an event of another process has not happened"); });
  }
}

CUresult record(CUevent event, CUstream stream) {
  std::unique_lock lock(event->mutex);
  const uint64_t turn = event->shared != nullptr ? event->shared->recorded.fetch_add(1) + 1 : 0;
  const CUresult result = submit(stream, {.run =
                                              [event, turn] {
                                                event->time_ns = now_ns();
                                                if (event->shared != nullptr)
                                                  complete(*event->shared, turn);
                                                return CUDA_SUCCESS;
                                              },
                                          .after = {},
                                          .always = true,
                                          .on_device = false,
                                          .what = "an event's record"});
  if (result != CUDA_SUCCESS) {
    lock.unlock();
    if (event->shared != nullptr) complete(*event->shared, turn);
    return result;
  }
  event->last = end_of(stream);
  event->recorded = true;
  return CUDA_SUCCESS;
}

CUresult wait_in_stream(CUstream stream, CUevent event) {
  std::unique_lock lock(event->mutex);
  if (event->shared != nullptr) {
    SharedEvent* shared = event->shared;
    const uint64_t turn = shared->recorded.load();
    lock.unlock();
    if (shared->completed.load() >= turn) return CUDA_SUCCESS;
    return submit(stream, {.run =
                               [shared, turn] {
                                 wait_shared(*shared, turn);
                                 return CUDA_SUCCESS;
                               },
                           .after = {},
                           .on_device = false,
                           .what = "an event of another process"});
  }
  const Place place = event->last;
  lock.unlock();
  if (reached(place)) return CUDA_SUCCESS;
  return submit(stream, {.run = [] { return CUDA_SUCCESS; }, .after = {place}, .on_device = false});
}

bool is_complete(CUevent event) {
  std::unique_lock lock(event->mutex);
  if (event->shared != nullptr)
    return event->shared->completed.load() >= event->shared->recorded.load();
  const Place place = event->last;
  lock.unlock();
  return reached(place);
}

}  // namespace

CUevent find_event(CUevent handle) {
  std::lock_guard lock(table_mutex());
  return live_events().count(handle) ? handle : nullptr;
}

CUevent make_event(CUcontext context, unsigned flags) {
  auto* event = make_for_ever<CUevent_st>();
  event->context = context;
  event->flags = flags;
  std::lock_guard lock(table_mutex());
  live_events().insert(event);
  return event;
}

CUevent adopt_event(CUcontext context, SharedEvent* shared) {
  const CUevent event = make_event(context, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING);
  event->shared = shared;
  event->adopted = true;
  ++live("events");
  return event;
}

}  // namespace softcuda

using namespace softcuda;  // NOLINT

extern "C" {

CUresult cuEventCreate(CUevent* phEvent, unsigned Flags) {
  SOFTCUDA_ENTER(kContext, Flags);
  constexpr unsigned kKnown =
      CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
  if (Flags & ~kKnown) return CUDA_ERROR_INVALID_VALUE;
  const bool shared = Flags & CU_EVENT_INTERPROCESS;
  if (shared && !(Flags & CU_EVENT_DISABLE_TIMING)) return CUDA_ERROR_INVALID_VALUE;
  const CUevent event = make_event(current_context(), Flags);
  if (shared) event->shared = take_shared_event(&event->fd, &event->inode, &event->index);
  *phEvent = event;
  ++live("events");
  return CUDA_SUCCESS;
}

CUresult cuEventDestroy_v2(CUevent hEvent) {
  SOFTCUDA_ENTER(kDriver, hEvent);
  std::lock_guard lock(table_mutex());
  if (live_events().erase(hEvent) == 0) return CUDA_ERROR_INVALID_HANDLE;
  --live("events");
  return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent hEvent, CUstream hStream) {
  SOFTCUDA_ENTER(kContext, hEvent, hStream);
  CUstream stream;
  if (const CUresult refused = find_stream(hStream, &stream)) return refused;
  const CUevent event = find_event(hEvent);
  if (event == nullptr || event->context != stream->context) return CUDA_ERROR_INVALID_HANDLE;
  bool captured = false;
  if (const CUresult refused = capture_record(stream, event, &captured)) return refused;
  return captured ? CUDA_SUCCESS : record(event, stream);
}

CUresult cuStreamWaitEvent(CUstream hStream, CUevent hEvent, unsigned Flags) {
  SOFTCUDA_ENTER(kContext, hStream, hEvent, Flags);
  CUstream stream;
  if (const CUresult refused = find_stream(hStream, &stream)) return refused;
  const CUevent event = find_event(hEvent);
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (Flags > CU_EVENT_WAIT_EXTERNAL) return CUDA_ERROR_INVALID_VALUE;
  bool captured = false;
  if (const CUresult refused = capture_wait(stream, event, &captured)) return refused;
  return captured ? CUDA_SUCCESS : wait_in_stream(stream, event);
}

CUresult cuEventQuery(CUevent hEvent) {
  SOFTCUDA_ENTER(kUncaptured, hEvent);
  const CUevent event = find_event(hEvent);
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (const CUresult refused = refuse_captured(event)) return refused;
  if (const CUresult failed = state_of(event->context)) return failed;
  return is_complete(event) ? CUDA_SUCCESS : not_ready();
}

CUresult cuEventSynchronize(CUevent hEvent) {
  SOFTCUDA_ENTER(kUncaptured, hEvent);
  const CUevent event = find_event(hEvent);
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (const CUresult refused = refuse_captured(event)) return refused;
  if (event->shared != nullptr) {
    wait_shared(*event->shared, event->shared->recorded.load());
    return state_of(event->context);
  }
  std::unique_lock lock(event->mutex);
  const Place place = event->last;
  lock.unlock();
  wait_for(place);
  return state_of(event->context);
}

CUresult cuEventElapsedTime(float* pMilliseconds, CUevent hStart, CUevent hEnd) {
  SOFTCUDA_ENTER(kContext, hStart, hEnd);
  const CUevent start = find_event(hStart), end = find_event(hEnd);
  if (start == nullptr || end == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if ((start->flags | end->flags) & CU_EVENT_DISABLE_TIMING) return CUDA_ERROR_INVALID_HANDLE;
  if (!start->recorded || !end->recorded) return CUDA_ERROR_INVALID_HANDLE;
  if (!is_complete(start) || !is_complete(end)) return CUDA_ERROR_NOT_READY;
  *pMilliseconds = static_cast<float>(end->time_ns - start->time_ns) / 1e6f;
  return CUDA_SUCCESS;
}

}  // extern "C"
