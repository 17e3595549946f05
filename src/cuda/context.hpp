// SPDX-License-Identifier: Apache-2.0
// DeviceContext: a CUDA context of the application. Current and Entered make a context current for
// a scope.
// Lifetime: its Device. Threads: any.
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

  /// Whether the legacy stream is idle and no enqueued call waits for other ranks. Driver calls for
  /// all device work then return soon. Any context may be current.
  [[nodiscard]] bool is_quiet() const noexcept;
  [[nodiscard]] bool has_waiting() const noexcept {
    return waiting_.load(std::memory_order_relaxed) > 0;
  }
  void count_waiting(int more) noexcept { waiting_.fetch_add(more, std::memory_order_relaxed); }
  /// Whether the context has ended since construction; a new context may have the same handle.
  [[nodiscard]] bool stale() const noexcept;
  [[nodiscard]] bool gone() const noexcept { return gone_.load(std::memory_order_relaxed); }

 protected:
  ~DeviceContext() = default;
  void leave() noexcept { gone_.store(true, std::memory_order_relaxed); }

 private:
  unsigned long long id_ = 0;
  std::atomic<bool> gone_{false};
  std::atomic<int> waiting_{0};
};

/// Makes a context current, and allows driver calls during a capture of this thread. Nesting for
/// the same context is free.
class Current {
 public:
  explicit Current(const DeviceContext& context) noexcept
      : Current(context.driver, context.context) {}
  Current(const Driver& driver, CUcontext context) noexcept;
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;
  ~Current();
  [[nodiscard]] CUresult result() const noexcept { return result_; }

 private:
  const Driver& driver_;
  const CUcontext outer_;
  const bool nested_;
  bool pushed_ = false;
  CUresult result_ = CUDA_SUCCESS;
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

/// Like Current, for launches into the library's own streams. Captures allow these launches, so the
/// capture mode stays.
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
