// SPDX-License-Identifier: Apache-2.0
// DeviceContext: a CUDA context of the application; Current and Entered make it current for a
// scope. Why: driver calls need a context, and many wait for all its work. Lifetime: its Device.
// Threads: any. See: tests/gpu/mpi/context_after_init.cc, context_reset.cc.
#pragma once

#include <atomic>

#include "cuda/driver.hpp"

namespace tern::cuda {

class DeviceContext {
 public:
  DeviceContext(const Driver& driver, CUcontext context) noexcept;
  DeviceContext(const DeviceContext&) = delete;
  DeviceContext& operator=(const DeviceContext&) = delete;

  const Driver& driver;
  const CUcontext context;

  /// Whether a call ends soon although the driver waits for all work on the device: the application
  /// has no work under way in the legacy stream, and enqueued calls wait for no other rank. Any
  /// context may be current.
  [[nodiscard]] bool is_quiet() const noexcept;
  /// Whether enqueued calls may wait for other ranks.
  [[nodiscard]] bool has_waiting() const noexcept {
    return waiting_.load(std::memory_order_relaxed) > 0;
  }
  /// `more` further enqueued calls wait for other ranks; below 0: fewer.
  void count_waiting(int more) noexcept { waiting_.fetch_add(more, std::memory_order_relaxed); }
  /// The context has ended since this object was made, and may have come back.
  [[nodiscard]] bool stale() const noexcept;
  /// leave() was called: handles in the context are invalid.
  [[nodiscard]] bool gone() const noexcept { return gone_.load(std::memory_order_relaxed); }

 protected:
  ~DeviceContext() = default;
  void leave() noexcept { gone_.store(true, std::memory_order_relaxed); }

 private:
  unsigned long long id_ = 0;
  std::atomic<bool> gone_{false};
  std::atomic<int> waiting_{0};
};

/// Makes a context current for a scope, and driver calls harmless to a capture of this thread.
/// The end of the scope restores the application's context. A nested scope of the same context is
/// free.
class Current {
 public:
  explicit Current(const DeviceContext& context) noexcept
      : Current(context.driver, context.context) {}
  Current(const Driver& driver, CUcontext context) noexcept;
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;
  ~Current();
  /// The driver's reason for a failed push.
  [[nodiscard]] CUresult result() const noexcept { return result_; }

 private:
  const Driver& driver_;
  const CUcontext outer_;  // of the outer Current
  const bool nested_;
  bool pushed_ = false;
  CUresult result_ = CUDA_SUCCESS;
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

/// The same for a scope with launches into the library's own streams alone: no capture forbids
/// them, and the capture mode stays. A nested scope is free.
class Entered {
 public:
  explicit Entered(const DeviceContext& context) noexcept;
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;
  ~Entered();

 private:
  const Driver& driver_;
  bool pushed_ = false;
};

}  // namespace tern::cuda
