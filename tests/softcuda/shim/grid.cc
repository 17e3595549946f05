// SPDX-License-Identifier: Apache-2.0
// A grid on the host: the loop over blocks and threads, barriers among fibers, the watchdog.
#include "tests/softcuda/shim/grid.hpp"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "tests/softcuda/shim/fiber.hpp"

namespace tern::softcuda {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kSuccess = 0, kInvalidValue = 1, kLaunchTimeout = 702;
constexpr unsigned kMostThreads = 1024, kWarp = 32;
constexpr size_t kMostTogether = 8192;  // threads of a cooperative grid

/// Where `count` threads meet. One thread of the system runs them all: nothing here is atomic.
struct Barrier {
  unsigned count = 0, arrived = 0, generation = 0;
  void open() noexcept {
    arrived = 0;
    ++generation;
  }
};

struct Warp {
  Barrier barrier;
  uint64_t slots[kWarp] = {};
};

struct Block {
  Barrier barrier;
  std::vector<Warp> warps;
  std::vector<char> shared;
};

struct Thread {
  Fiber fiber;
  Here place;
  Block* block = nullptr;
  bool ended = false;
};

/// Everything of the grid that runs on this thread of the system.
struct Grid {
  Body body = nullptr;
  const void* parameter = nullptr;
  Thread* running = nullptr;  // null: the threads are a plain loop
  Clock::time_point moved;    // when a thread last ended or met the others
  unsigned pauses = 0;
  char begun = 0, ended = 0;  // what TSan orders the launch and its end by
};
thread_local Grid grid;
thread_local std::vector<std::unique_ptr<Thread>> threads;  // kept for the next launch

struct Hangs {};  // thrown through a kernel whose threads are a plain loop

Clock::duration patience() {
  const char* const seconds = std::getenv("TERN_HOST_KERNELS_TIMEOUT");
  return std::chrono::seconds(seconds != nullptr ? std::atoi(seconds) : 20);
}

Index at(const unsigned (&size)[3], size_t linear) noexcept {
  return {static_cast<unsigned>(linear % size[0]),
          static_cast<unsigned>(linear / size[0] % size[1]),
          static_cast<unsigned>(linear / size[0] / size[1])};
}
size_t volume(const unsigned (&size)[3]) noexcept { return size_t{size[0]} * size[1] * size[2]; }

Here place(const TernLaunch& launch, size_t block) noexcept {
  Here there;
  there.block = at(launch.grid, block);
  there.block_size = {launch.block[0], launch.block[1], launch.block[2]};
  there.grid_size = {launch.grid[0], launch.grid[1], launch.grid[2]};
  return there;
}

void run_plainly(const TernLaunch& launch) {
  const size_t blocks = volume(launch.grid), size = volume(launch.block);
  std::vector<char> shared(launch.shared_bytes);
  for (size_t b = 0; b < blocks; ++b) {
    here = place(launch, b);
    here.shared = shared.data();
    for (size_t t = 0; t < size; ++t) {
      here.thread = at(launch.block, t);
      grid.body(grid.parameter);
    }
  }
}

void thread_main(void* argument) {
  auto* const self = static_cast<Thread*>(argument);
  tsan_acquire(&grid.begun);
  grid.body(grid.parameter);
  tsan_release(&grid.ended);
  self->ended = true;
  Barrier& barrier = self->block->barrier;  // the others do not wait for what has ended
  if (--barrier.count > 0 && barrier.arrived == barrier.count) barrier.open();
  self->fiber.leave();
}

void prepare(const TernLaunch& launch, size_t first, std::vector<Block>& blocks) {
  const size_t size = volume(launch.block);
  while (threads.size() < blocks.size() * size) threads.push_back(std::make_unique<Thread>());
  for (size_t b = 0; b < blocks.size(); ++b) {
    Block& block = blocks[b];
    block.barrier.count = static_cast<unsigned>(size);
    block.warps.resize((size + kWarp - 1) / kWarp);
    block.shared.assign(launch.shared_bytes, 0);
    for (size_t t = 0; t < size; ++t) {
      Thread& thread = *threads[b * size + t];
      thread.place = place(launch, first + b);
      thread.place.thread = at(launch.block, t);
      thread.place.shared = block.shared.data();
      thread.block = &block;
      thread.ended = false;
      thread.fiber.start(thread_main, &thread);
    }
  }
}

/// Lets each thread run in turn until all have ended. False: none moves on.
bool run_all(size_t count, Clock::duration patience) {
  grid.moved = Clock::now();
  for (size_t alive = count; alive > 0;) {
    for (size_t i = 0; i < count; ++i) {
      Thread& thread = *threads[i];
      if (thread.ended) continue;
      grid.running = &thread;
      here = thread.place;
      thread.fiber.resume();
      if (!thread.ended) continue;
      --alive;
      grid.moved = Clock::now();
    }
    if (alive > 0 && (++grid.pauses & 63U) == 0) {
      if (Clock::now() - grid.moved > patience) return false;
      sched_yield();
    }
  }
  return true;
}

bool run_together(const TernLaunch& launch) {
  const size_t blocks = volume(launch.grid), size = volume(launch.block);
  const size_t step = launch.cooperative != 0 ? blocks : 1;
  bool ended = true;
  for (size_t first = 0; first < blocks && ended; first += step) {
    std::vector<Block> alive(std::min(step, blocks - first));
    prepare(launch, first, alive);
    tsan_release(&grid.begun);
    ended = run_all(alive.size() * size, patience());
    tsan_acquire(&grid.ended);
  }
  grid.running = nullptr;
  return ended;
}

int complain(char* why, size_t room, const char* form, const char* name, size_t blocks,
             size_t threads_each, int result) {
  std::snprintf(why, room, form, name, blocks, threads_each);
  return result;
}

void wait_at(Barrier& barrier) {
  tsan_release(&barrier);
  const unsigned before = barrier.generation;
  if (++barrier.arrived >= barrier.count) {
    barrier.open();
    grid.moved = Clock::now();
  }
  while (barrier.generation == before) grid.running->fiber.leave();
  tsan_acquire(&barrier);
}

}  // namespace

thread_local Here here;

int run_grid(const TernHostKernel& kernel, const TernLaunch& launch, const void* parameter,
             char* why, size_t room) {
  const size_t blocks = volume(launch.grid), size = volume(launch.block);
  const bool too_many = launch.cooperative != 0 && blocks * size > kMostTogether;
  if (blocks == 0 || size == 0 || size > static_cast<size_t>(kernel.max_threads) ||
      size > kMostThreads || too_many)
    return complain(why, room, "kernel %s: no device runs %zu blocks of %zu threads", kernel.name,
                    blocks, size, kInvalidValue);
  grid = Grid{body_of(kernel), parameter, nullptr, Clock::now()};
  bool ended = true;
  try {
    if (kernel.synchronises != 0 || launch.cooperative != 0 || tsan())
      ended = run_together(launch);
    else
      run_plainly(launch);
  } catch (const Hangs&) {
    ended = false;
  }
  if (ended) return kSuccess;
  return complain(why, room,
                  "kernel %s hangs: of its %zu blocks of %zu threads none moves on; see "
                  "TERN_HOST_KERNELS_TIMEOUT",
                  kernel.name, blocks, size, kLaunchTimeout);
}

void pause() {
  if (grid.running != nullptr) return grid.running->fiber.leave();
  if ((++grid.pauses & 63U) != 0) return;
  if (Clock::now() - grid.moved > patience()) throw Hangs();
  sched_yield();
}

void block_barrier() { wait_at(grid.running->block->barrier); }

int lane() noexcept {
  const Here& p = here;
  return static_cast<int>(
      (p.thread.x + p.block_size.x * (p.thread.y + p.block_size.y * p.thread.z)) % kWarp);
}

namespace {
Warp& warp() noexcept {
  const Here& p = here;
  const unsigned linear = p.thread.x + p.block_size.x * (p.thread.y + p.block_size.y * p.thread.z);
  return grid.running->block->warps[linear / kWarp];
}
}  // namespace

uint64_t* warp_slots() noexcept { return warp().slots; }

void warp_barrier(unsigned mask) {
  const size_t size = volume({here.block_size.x, here.block_size.y, here.block_size.z});
  Warp& mine = warp();
  const auto first = static_cast<size_t>(&mine - grid.running->block->warps.data()) * kWarp;
  const size_t lanes = std::min<size_t>(kWarp, size - first);
  const unsigned present = lanes == kWarp ? ~0U : (1U << lanes) - 1;
  mine.barrier.count = static_cast<unsigned>(__builtin_popcount(mask & present));
  wait_at(mine.barrier);
}

}  // namespace tern::softcuda
