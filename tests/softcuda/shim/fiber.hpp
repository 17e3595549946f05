// SPDX-License-Identifier: Apache-2.0
// Fibers: stacks that one thread of the system switches between, some 20 ns a switch.
// Why: ucontext asks the kernel to save signal masks at each switch, which costs ten times more.
// TSan sees each fiber as a thread of its own, and no order between fibers but what tsan_release
// and tsan_acquire say: so it finds races between the threads of a kernel. This file and grid.cc
// are compiled without it. ASan is told of the stacks.
#pragma once

#include <cstddef>

namespace tern::softcuda {

/// True where the program runs under TSan.
[[nodiscard]] bool tsan() noexcept;
/// What was done before release(p) is seen after acquire(p). For TSan alone.
void tsan_release(void* place) noexcept;
void tsan_acquire(void* place) noexcept;

/// What a fiber does with the driver's own state, which the fibers of a block use in turn: nothing
/// for TSan to judge. Atomic accesses still order.
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

  /// Prepares entry(argument) to run at the next resume; it must end with leave(), not return.
  void start(Entry entry, void* argument) noexcept;
  /// From the thread's own stack: runs the fiber until it leaves.
  void resume() noexcept;
  /// From the fiber: back to the caller of resume().
  void leave() noexcept;

 private:
  [[noreturn]] static void begin(Fiber* fiber);
  void* stack_;
  void* fiber_stack_pointer_ = nullptr;
  void* outer_stack_pointer_ = nullptr;
  Entry entry_ = nullptr;
  void* argument_ = nullptr;
  // For the sanitizers.
  void* tsan_fiber_ = nullptr;
  void* tsan_outer_ = nullptr;
  [[maybe_unused]] const void* outer_stack_ = nullptr;
  [[maybe_unused]] size_t outer_bytes_ = 0;
  [[maybe_unused]] void* fake_outer_ = nullptr;
  [[maybe_unused]] void* fake_fiber_ = nullptr;
};

}  // namespace tern::softcuda
