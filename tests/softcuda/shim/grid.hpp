// SPDX-License-Identifier: Apache-2.0
// A grid on one system thread: plain loops or fibers.
// Why: tests kernels without a GPU, including barriers and spin loops.
// Threads: all state belongs to the calling thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tests/softcuda/shim/launch.h"

namespace tern::softcuda {

struct Index {
  unsigned x = 0, y = 0, z = 0;
};

struct Here {
  Index thread, block, block_size, grid_size;
  void* shared = nullptr;
};
extern thread_local Here here;

using Body = void (*)(const void* parameter);

struct Registration {
  Registration(TernHostKernel kernel, Body body);
};
[[nodiscard]] Body body_of(const TernHostKernel& kernel) noexcept;

void* translate(const void* address) noexcept;
/// take_place() returns false if the device is full.
[[nodiscard]] bool take_place() noexcept;
void give_place() noexcept;
template <class T>
T* translated(T* address) noexcept {
  return static_cast<T*>(translate(static_cast<const void*>(address)));
}

int run_grid(const TernHostKernel& kernel, const TernLaunch& launch, const void* parameter,
             char* why, size_t room);

/// pause() lets other threads run, and does not return after the watchdog's timeout.
void pause();
void block_barrier();
/// warp_barrier() waits for an exited thread, which is undefined behaviour on a GPU.
void warp_barrier(unsigned mask);
[[nodiscard]] int lane() noexcept;
[[nodiscard]] unsigned present_lanes(unsigned mask) noexcept;
/// 8 bytes per lane
[[nodiscard]] uint64_t* warp_slots() noexcept;
/// 16 aligned bytes per lane
[[nodiscard]] void* warp_pieces() noexcept;

template <class T>
T exchanged(unsigned mask, T value, int from) {
  static_assert(sizeof(T) <= sizeof(uint64_t));
  std::memcpy(warp_slots() + lane(), &value, sizeof value);
  warp_barrier(mask);
  std::memcpy(&value, warp_slots() + (from & 31), sizeof value);
  warp_barrier(mask);
  return value;
}

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
