// SPDX-License-Identifier: Apache-2.0
// A grid on the host: blocks, threads, barriers, watchdog.
#include "tests/softcuda/shim/grid.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "tests/softcuda/shim/fiber.hpp"
#include "tests/softcuda/shim/weak.hpp"

namespace tern::softcuda {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kSuccess = 0, kInvalidValue = 1, kLaunchTimeout = 702;
constexpr unsigned kMostThreads = 1024, kWarp = 32;
constexpr size_t kMostTogether = 8192;  // threads of a cooperative grid

/// Barrier is not atomic, because a single system thread runs all threads.
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
  alignas(16) char pieces[kWarp][16] = {};
};

struct Block {
  Barrier barrier;
  std::vector<Warp> warps;
  std::vector<char> shared;
  size_t alive = 0;
  BlockMemory memory;
};

struct Thread {
  Fiber fiber;
  Here place;
  Block* block = nullptr;
  bool ended = false;
  const Barrier* barrier = nullptr;
  unsigned generation = 0;

  [[nodiscard]] bool waits() const noexcept {
    return barrier != nullptr && barrier->generation == generation;
  }
};

struct Grid {
  Body body = nullptr;
  const void* parameter = nullptr;
  Thread* running = nullptr;  // null: plain loop
  BlockMemory* memory = nullptr;
  Clock::time_point moved;
  bool stirs = false;
  size_t resident = 0;
  unsigned pauses = 0;
  char begun = 0, ended = 0;
};
thread_local Grid grid;

struct Hangs {};

Clock::duration patience() {
  const char* const seconds = std::getenv("HOST_KERNELS_TIMEOUT");
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

class Places {
 public:
  Places() = default;
  Places(const Places&) = delete;
  Places& operator=(const Places&) = delete;
  ~Places() {
    for (; count_ > 0; --count_) give_place();
  }
  bool take() {
    if (!take_place()) return false;
    ++count_;
    return true;
  }
  void give() {
    give_place();
    --count_;
  }
  void take_all(size_t wanted) {
    while (count_ < wanted) {
      if (take()) continue;
      for (; count_ > 0; --count_) give_place();
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }

 private:
  size_t count_ = 0;
};

void run_plainly(const TernLaunch& launch) {
  const size_t blocks = volume(launch.grid), size = volume(launch.block);
  std::vector<char> shared(launch.shared_bytes);
  Places places;
  places.take_all(1);
  grid.moved = Clock::now();
  for (size_t b = 0; b < blocks; ++b) {
    here = place(launch, b);
    here.shared = shared.data();
    BlockMemory memory;
    grid.memory = &memory;
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
  --self->block->alive;
  Barrier& barrier = self->block->barrier;  // an exited thread leaves the barrier
  if (--barrier.count > 0 && barrier.arrived == barrier.count) barrier.open();
  self->fiber.leave();
}

/// Threads keep for later launches: TSan never frees a fiber and allows at most 8128.
class Threads {
 public:
  Threads() = default;
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;
  ~Threads() {
    const std::lock_guard lock(kept().mutex);
    for (auto& one : here_) kept().idle.push_back(std::move(one));
  }
  [[nodiscard]] size_t size() const noexcept { return here_.size(); }
  Thread& operator[](size_t i) noexcept { return *here_[i]; }
  void add_one() {
    const std::lock_guard lock(kept().mutex);
    if (kept().idle.empty()) {
      here_.push_back(std::make_unique<Thread>());
      return;
    }
    here_.push_back(std::move(kept().idle.back()));
    kept().idle.pop_back();
  }

 private:
  struct Kept {
    std::mutex mutex;
    std::vector<std::unique_ptr<Thread>> idle;
  };
  // Streams may outlive statics. TSan misses the guard of a local static here.
  static inline Kept* const all_ = new Kept;
  static Kept& kept() { return *all_; }
  std::vector<std::unique_ptr<Thread>> here_;
};

/// Another block begins when the others merely spin, so most grids need few stacks.
class Residents {
 public:
  explicit Residents(const TernLaunch& launch)
      : launch_(launch),
        blocks_(volume(launch.grid)),
        size_(volume(launch.block)),
        seats_(std::min(blocks_, std::max<size_t>(1, kMostTogether / size_))) {}

  /// run() returns false if no thread makes progress.
  bool run(Clock::duration patience) {
    const size_t first = launch_.cooperative != 0 ? blocks_ : std::max<size_t>(1, kAtOnce / size_);
    places_.take_all(launch_.cooperative != 0 ? blocks_ : 1);
    for (size_t i = 0; i < first; ++i)
      if (!begin_block(launch_.cooperative != 0 || i == 0)) break;
    tsan_release(&grid.begun);
    grid.moved = Clock::now();
    unsigned idle = 0;
    while (grid.resident > 0 || next_ < blocks_) {
      if (grid.stirs) idle = 0;
      grid.stirs = false;
      for (size_t seat = 0; seat < seats_.size(); ++seat)
        if (seats_[seat].alive > 0) run_block(seat);
      if (!grid.stirs && !begin_block(false)) {
        if (grid.resident == 0) grid.moved = Clock::now();
        if (grid.resident == 0) std::this_thread::sleep_for(std::chrono::microseconds(50));
        give_way(++idle);
        if (Clock::now() - grid.moved > patience) return false;
      }
    }
    tsan_acquire(&grid.ended);
    return true;
  }

 private:
  static constexpr size_t kAtOnce = 512;
  // Threads may exchange data in idle rounds, so the grid sleeps late.
  static constexpr unsigned kIdleRounds = 1000;

  bool begin_block(bool has_place) {
    size_t seat = 0;
    while (seat < seats_.size() && seats_[seat].alive > 0) ++seat;
    if (next_ == blocks_ || seat == seats_.size() || (!has_place && !places_.take())) return false;
    prepare(seat);
    ++next_;
    ++grid.resident;
    return true;
  }

  void prepare(size_t seat) {
    while (threads_.size() < (seat + 1) * size_) threads_.add_one();
    tsan_acquire(&grid.ended);
    Block& block = seats_[seat];
    block.barrier = Barrier{.count = static_cast<unsigned>(size_)};
    block.warps.assign((size_ + kWarp - 1) / kWarp, Warp{});
    block.shared.assign(launch_.shared_bytes, 0);
    block.alive = size_;
    for (size_t t = 0; t < size_; ++t) {
      Thread& thread = threads_[seat * size_ + t];
      thread.place = place(launch_, next_);
      thread.place.thread = at(launch_.block, t);
      thread.place.shared = block.shared.data();
      thread.block = &block;
      thread.ended = false;
      thread.barrier = nullptr;
      thread.fiber.start(thread_main, &thread);
    }
    tsan_release(&grid.begun);
  }

  void run_block(size_t seat) {
    BlockMemory& memory = seats_[seat].memory;
    grid.memory = &memory;
    for (size_t t = 0; t < size_; ++t) {
      Thread& thread = threads_[seat * size_ + t];
      if (thread.ended || thread.waits()) continue;
      grid.running = &thread;
      here = thread.place;
      thread.fiber.resume();
      if (thread.ended) stir();
    }
    memory.drain_some();
    if (seats_[seat].alive > 0) return;
    memory.drain();
    memory.forget();
    --grid.resident;
    places_.give();
    tsan_release(&grid.begun);
    begin_block(false);
  }

  static void give_way(unsigned idle) {
    if (idle < kIdleRounds)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(50));
  }

  static void stir() {
    grid.moved = Clock::now();
    grid.stirs = true;
  }

  const TernLaunch& launch_;
  const size_t blocks_, size_;
  std::vector<Block> seats_;
  Threads threads_;
  Places places_;
  size_t next_ = 0;
};

bool run_together(const TernLaunch& launch) {
  Residents residents(launch);
  const bool ended = residents.run(patience());
  grid.running = nullptr;
  return ended;
}

template <class... T>
int complain(int result, char* why, size_t room, const char* form, T... values) {
  std::snprintf(why, room, form, values...);
  return result;
}

// A warp that votes while waiting makes no progress.
void wait_at(Barrier& barrier, bool stirs) {
  tsan_release(&barrier);
  const unsigned before = barrier.generation;
  if (++barrier.arrived >= barrier.count) {
    barrier.open();
    if (stirs) grid.moved = Clock::now();
    grid.stirs |= stirs;
  }
  Thread& thread = *grid.running;
  thread.barrier = &barrier;
  thread.generation = before;
  while (barrier.generation == before) thread.fiber.leave();
  thread.barrier = nullptr;
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
    return complain(kInvalidValue, why, room,
                    "kernel %s: no device can run %zu blocks of %zu threads", kernel.name, blocks,
                    size);
  grid = Grid{.body = body_of(kernel), .parameter = parameter, .moved = Clock::now()};
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
  return complain(
      kLaunchTimeout, why, room,
      "kernel %s hangs: of its %zu blocks of %zu threads %zu are resident, without progress "
      "(HOST_KERNELS_TIMEOUT)",
      kernel.name, blocks, size, std::max<size_t>(grid.resident, 1));
}

BlockMemory& block_memory() noexcept { return *grid.memory; }

void pause() {
  if (grid.running == nullptr) grid.memory->drain_some();
  if (grid.running != nullptr) return grid.running->fiber.leave();
  if ((++grid.pauses & 63U) != 0) return;
  if (Clock::now() - grid.moved > patience()) throw Hangs();
  std::this_thread::yield();
}

void block_barrier() { wait_at(grid.running->block->barrier, true); }

int lane() noexcept {
  const Here& p = here;
  return static_cast<int>(
      (p.thread.x + p.block_size.x * (p.thread.y + p.block_size.y * p.thread.z)) % kWarp);
}

namespace {
Block& block() noexcept { return *grid.running->block; }
Warp& warp() noexcept {
  const Here& p = here;
  const unsigned linear = p.thread.x + p.block_size.x * (p.thread.y + p.block_size.y * p.thread.z);
  return block().warps[linear / kWarp];
}
}  // namespace

uint64_t* warp_slots() noexcept { return warp().slots; }
void* warp_pieces() noexcept { return warp().pieces; }

unsigned present_lanes(unsigned mask) noexcept {
  const size_t size = volume({here.block_size.x, here.block_size.y, here.block_size.z});
  const auto first = static_cast<size_t>(&warp() - block().warps.data()) * kWarp;
  const size_t lanes = std::min<size_t>(kWarp, size - first);
  return mask & (lanes == kWarp ? ~0U : (1U << lanes) - 1);
}

void warp_barrier(unsigned mask) {
  Warp& mine = warp();
  mine.barrier.count = static_cast<unsigned>(__builtin_popcount(present_lanes(mask)));
  wait_at(mine.barrier, false);
}

}  // namespace tern::softcuda
