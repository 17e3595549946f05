// SPDX-License-Identifier: Apache-2.0
// A grid of threads on one thread of the system: plain loops where the threads of a kernel do not
// wait for one another, else fibers.
// Why: the kernels' logic is tested without a GPU, barriers and waiting loops included.
// Threads: `here` and all that runs a grid belong to the calling thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tests/softcuda/shim/launch.h"

namespace tern::softcuda {

struct Index {
  unsigned x = 0, y = 0, z = 0;
};

/// The place of the thread that runs now.
struct Here {
  Index thread, block, block_size, grid_size;
  void* shared = nullptr;
};
extern thread_local Here here;

using Body = void (*)(const void* parameter);

/// Enters a kernel in the list; static objects of kernels_host.cc.
struct Registration {
  Registration(TernHostKernel kernel, Body body);
};
[[nodiscard]] Body body_of(const TernHostKernel& kernel) noexcept;

void* translate(const void* address) noexcept;
/// A place of a block on the device: false where all are taken.
[[nodiscard]] bool take_place() noexcept;
void give_place() noexcept;
template <class T>
T* translated(T* address) noexcept {
  return static_cast<T*>(translate(static_cast<const void*>(address)));
}

/// Runs all threads of `kernel`; see TernHostKernels::launch.
int run_grid(const TernHostKernel& kernel, const TernLaunch& launch, const void* parameter,
             char* why, size_t room);

/// For a thread of a kernel: lets others run. Does not return once the watchdog has barked.
void pause();
void block_barrier();
/// The threads of the mask; one that has ended is waited for, as undefined behaviour may do it.
void warp_barrier(unsigned mask);
[[nodiscard]] int lane() noexcept;
/// Of the mask's lanes those that the warp has.
[[nodiscard]] unsigned present_lanes(unsigned mask) noexcept;
/// 8 bytes that each lane of a warp offers the others.
[[nodiscard]] uint64_t* warp_slots() noexcept;
/// 16 bytes of each, at a multiple of 16: what one instruction of the warp moves.
[[nodiscard]] void* warp_pieces() noexcept;

/// What lane `from` gave as `value`.
template <class T>
T exchanged(unsigned mask, T value, int from) {
  static_assert(sizeof(T) <= sizeof(uint64_t));
  std::memcpy(warp_slots() + lane(), &value, sizeof value);
  warp_barrier(mask);
  std::memcpy(&value, warp_slots() + (from & 31), sizeof value);
  warp_barrier(mask);
  return value;
}

/// How many of the lanes gave a value that is not false.
template <class T>
int votes(unsigned mask, T value) {
  uint64_t* const slots = warp_slots();
  slots[lane()] = value ? 1 : 0;
  warp_barrier(mask);
  int count = 0;
  const unsigned present = present_lanes(mask);
  for (int i = 0; i < 32; ++i) count += (present >> i & 1U) != 0 && slots[i] != 0 ? 1 : 0;
  warp_barrier(mask);
  return count;
}

}  // namespace tern::softcuda
