// SPDX-License-Identifier: Apache-2.0
// DeviceContext: a context of the application's, as long as it is there; Current and Entered make
// it a thread's for a scope. Why: calls of the driver need a context, and many of them wait for all
// work in it. Lifetime: of its Device. Threads: any. See: tests/gpu/mpi/context_after_init.cc,
// context_reset.cc.
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

  /// Whether the application has no work under way that the legacy stream would wait for, and none
  /// that waits for other ranks, so that calls which wait for all work on the device end soon. Any
  /// context may be current.
  [[nodiscard]] bool is_quiet() const noexcept;
  /// Whether enqueued calls may wait for other ranks.
  [[nodiscard]] bool has_waiting() const noexcept {
    return waiting_.load(std::memory_order_relaxed) > 0;
  }
  /// So many more calls, or fewer, that were put into its streams and wait for other ranks.
  void count_waiting(int more) noexcept { waiting_.fetch_add(more, std::memory_order_relaxed); }
  /// It has ended, and perhaps come back since this was made.
  [[nodiscard]] bool stale() const noexcept;
  /// Nothing in it may be touched any more.
  [[nodiscard]] bool gone() const noexcept { return gone_.load(std::memory_order_relaxed); }

 protected:
  ~DeviceContext() = default;
  void leave() noexcept { gone_.store(true, std::memory_order_relaxed); }

 private:
  unsigned long long id_ = 0;
  std::atomic<bool> gone_{false};
  std::atomic<int> waiting_{0};
};

/// Makes a context current for a scope, and driver calls harmless to a capture of this thread's.
/// The application's context is current again afterwards. Within another of the same context it is
/// free.
class Current {
 public:
  explicit Current(const DeviceContext& context) noexcept
      : Current(context.driver, context.context) {}
  Current(const Driver& driver, CUcontext context) noexcept;
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;
  ~Current();
  /// Why the context could not be made current.
  [[nodiscard]] CUresult result() const noexcept { return result_; }

 private:
  const Driver& driver_;
  const CUcontext outer_;  // made current by the Current around this one
  const bool nested_;
  bool pushed_ = false;
  CUresult result_ = CUDA_SUCCESS;
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

/// The same for a scope that only puts work into the library's own streams, which no capture
/// forbids: captures are not asked about. Within one of these or of the above it is free.
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
