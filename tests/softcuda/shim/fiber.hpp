// SPDX-License-Identifier: Apache-2.0
// Fibers: stacks within a system thread, about 20 ns per switch. Why: ucontext saves signal masks
// by system calls, ten times slower. TSan sees each fiber as a thread, ordered only by tsan_release
// and tsan_acquire, and so finds races between kernel threads. This file and grid.cc compile
// without TSan. ASan knows the stacks.
#pragma once

#include <cstddef>

namespace tern::softcuda {

[[nodiscard]] bool tsan() noexcept;
/// For TSan, tsan_release(p) happens before tsan_acquire(p).
void tsan_release(void* place) noexcept;
void tsan_acquire(void* place) noexcept;

/// TsanLooksAway hides the shim's own state from TSan.
class TsanLooksAway {
 public:
  TsanLooksAway() noexcept;
  ~TsanLooksAway();
  TsanLooksAway(const TsanLooksAway&) = delete;
  TsanLooksAway& operator=(const TsanLooksAway&) = delete;
};

class Fiber {
 public:
  using Entry = void (*)(void* argument);
  Fiber();
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// The entry ends with leave(), not return.
  void start(Entry entry, void* argument) noexcept;
  void resume() noexcept;
  void leave() noexcept;

 private:
  [[noreturn]] static void begin(Fiber* fiber);
  void* stack_;
  void* fiber_stack_pointer_ = nullptr;
  void* outer_stack_pointer_ = nullptr;
  Entry entry_ = nullptr;
  void* argument_ = nullptr;
  void* tsan_fiber_ = nullptr;
  void* tsan_outer_ = nullptr;
  [[maybe_unused]] const void* outer_stack_ = nullptr;
  [[maybe_unused]] size_t outer_bytes_ = 0;
  [[maybe_unused]] void* fake_outer_ = nullptr;
  [[maybe_unused]] void* fake_fiber_ = nullptr;
};

}  // namespace tern::softcuda
