// SPDX-License-Identifier: Apache-2.0
#include "cuda/late_writes.hpp"

#include <new>

namespace tern::cuda {
namespace {

constexpr size_t kMostSeen = 65536;  // allocations before the cache is emptied

}  // namespace

bool legacy_is_captured(const Driver& driver) noexcept {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  return driver.cuStreamIsCapturing != nullptr &&
         driver.cuStreamIsCapturing(CU_STREAM_LEGACY, &status) ==
             CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
}

bool LateWrites::are_none_on(const Memory& memory) noexcept {
  const std::lock_guard<std::mutex> guard(mutex_);
  const auto known = synchronous_.find(memory.buffer_id);
  return known != synchronous_.end() && known->second;
}

// Memory of pools and mapped memory belongs to no context.
bool LateWrites::knows(const Memory& memory) const noexcept {
  if (memory.context == nullptr || memory.buffer_id == 0) return false;
  const std::lock_guard<std::mutex> guard(mutex_);
  return synchronous_.contains(memory.buffer_id);
}

bool LateWrites::end_on(const Memory& memory) noexcept {
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    if (synchronous_.contains(memory.buffer_id)) return false;
  }
  unsigned int on = 1;
  const bool all_written =
      driver_.cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS,
                                    static_cast<CUdeviceptr>(memory.base)) == CUDA_SUCCESS;
  try {
    const std::lock_guard<std::mutex> guard(mutex_);
    if (synchronous_.size() >= kMostSeen) synchronous_.clear();
    synchronous_.emplace(memory.buffer_id, all_written);
  } catch (const std::bad_alloc&) {
    return all_written;
  }
  return all_written;
}

// Returns nothing if the driver cannot change flags (before CUDA 12.1).
std::optional<unsigned> LateWrites::flags() const noexcept {
  unsigned flags = 0;
  if (driver_.cuCtxSetFlags == nullptr || driver_.cuCtxGetFlags == nullptr ||
      driver_.cuCtxGetFlags(&flags) != CUDA_SUCCESS)
    return std::nullopt;
  return flags;
}

CUresult LateWrites::record(CUevent* event) const noexcept {
  CUresult result = driver_.cuEventCreate(event, CU_EVENT_DISABLE_TIMING);
  if (result == CUDA_SUCCESS) result = driver_.cuEventRecord(*event, CU_STREAM_LEGACY);
  if (result == CUDA_SUCCESS || *event == nullptr) return result;
  (void)driver_.cuEventDestroy_v2(*event);
  return result;
}

// The application may clear the flag, or a new context may get the same handle. Cached state is
// valid only while the flag is set.
CUresult LateWrites::order_behind(CUstream stream, CUcontext current, bool* waits) noexcept {
  *waits = false;
  const std::lock_guard<std::mutex> guard(mutex_);
  const auto known = since_.find(current);
  const std::optional<unsigned> now = flags();
  const bool still = known != since_.end() && now && (*now & CU_CTX_SYNC_MEMOPS) != 0;
  if (still && known->second.event == nullptr) return CUDA_SUCCESS;
  CUevent event = still ? known->second.event : nullptr;
  bool keeps = still;
  if (!still) {
    if (legacy_is_captured(driver_)) return CUDA_SUCCESS;
    const bool synchronous =
        now && driver_.cuCtxSetFlags(*now | CU_CTX_SYNC_MEMOPS) == CUDA_SUCCESS;
    const bool ours = synchronous && (*now & CU_CTX_SYNC_MEMOPS) == 0;
    const CUresult result = record(&event);
    keeps = result == CUDA_SUCCESS && synchronous && keep(current, {event, ours, id_of(current)});
    if (ours && keeps) changed_.store(true, std::memory_order_relaxed);
    if (ours && !keeps) (void)driver_.cuCtxSetFlags(*now);
    if (result != CUDA_SUCCESS) return result;
  }
  CUresult result = CUDA_SUCCESS;
  *waits = driver_.cuEventQuery(event) == CUDA_ERROR_NOT_READY;
  if (*waits) result = driver_.cuStreamWaitEvent(stream, event, 0);
  if (keeps && *waits) return result;
  if (keeps) since_[current].event = nullptr;
  (void)driver_.cuEventDestroy_v2(event);  // the driver frees the event once it has happened
  return result;
}

bool LateWrites::keep(CUcontext of, const Since& since) noexcept {
  try {
    Since& kept = since_[of];
    if (kept.event != nullptr) (void)driver_.cuEventDestroy_v2(kept.event);
    kept = since;
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

unsigned long long LateWrites::id_of(CUcontext context) const noexcept {
  unsigned long long id = 0;
  if (driver_.cuCtxGetId != nullptr) (void)driver_.cuCtxGetId(context, &id);
  return id;
}

// cuCtxPushCurrent fails for an ended context.
void LateWrites::restore(CUcontext context) noexcept {
  if (driver_.cuCtxPushCurrent_v2(context) != CUDA_SUCCESS) return;
  if (const std::optional<unsigned> now = flags(); now)
    (void)driver_.cuCtxSetFlags(*now & ~static_cast<unsigned>(CU_CTX_SYNC_MEMOPS));
  CUcontext popped = nullptr;
  (void)driver_.cuCtxPopCurrent_v2(&popped);
}

void LateWrites::destroy() noexcept {
  for (const auto& [context, since] : since_) {
    if (since.event != nullptr) (void)driver_.cuEventDestroy_v2(since.event);
    if (since.ours && id_of(context) == since.id) restore(context);
  }
  since_.clear();
}

void LateWrites::forget() noexcept {
  const std::lock_guard<std::mutex> guard(mutex_);
  since_.clear();
  synchronous_.clear();
}

}  // namespace tern::cuda
