// SPDX-License-Identifier: Apache-2.0
// A store buffer and cached lines, drained at random.
#include "tests/softcuda/shim/weak.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "tests/softcuda/shim/fiber.hpp"

namespace tern::softcuda {
namespace {

uint64_t random_below(uint64_t limit) noexcept {
  static const char* const seed = std::getenv("SOFTCUDA_SEED");
  static std::atomic<uint64_t> state{seed != nullptr ? std::strtoull(seed, nullptr, 10) : 1};
  uint64_t word = state.fetch_add(0x9E3779B97F4A7C15u, std::memory_order_relaxed);
  word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9u;
  word = (word ^ (word >> 27)) * 0x94D049BB133111EBu;
  return (word ^ (word >> 31)) % limit;
}

void put(uintptr_t at, uint64_t value, size_t bytes) noexcept {
  if (bytes == 8)
    __atomic_store_n(reinterpret_cast<uint64_t*>(at), value, __ATOMIC_RELEASE);
  else
    __atomic_store_n(reinterpret_cast<uint32_t*>(at), static_cast<uint32_t>(value),
                     __ATOMIC_RELEASE);
}

uint64_t get(uintptr_t at) noexcept {
  return __atomic_load_n(reinterpret_cast<const uint64_t*>(at), __ATOMIC_ACQUIRE);
}

size_t piece(size_t bytes) noexcept { return bytes % 8 == 0 ? 8 : 4; }

}  // namespace

void BlockMemory::push(uintptr_t at, const void* value, size_t bytes, Arrival arrival, bool line) {
  Store made{at, bytes, 0, line && arrival == Arrival::kLines};
  std::memcpy(&made.value, value, bytes);
  stores_.push_back(made);
  ++stores_near(at);
}

void BlockMemory::store(void* to, const void* value, size_t bytes, bool line) {
  const TsanLooksAway away;
  const auto at = reinterpret_cast<uintptr_t>(to);
  const Arrival arrival = arrival_at(to);
  const size_t step = piece(bytes);
  for (size_t done = 0; done < bytes; done += step)
    push(at + done, static_cast<const char*>(value) + done, step, arrival, line);
  drain_some();
}

// A block sees its own buffered stores.
void BlockMemory::load(void* into, const void* from, size_t bytes) {
  const TsanLooksAway away;
  const auto at = reinterpret_cast<uintptr_t>(from);
  const size_t step = piece(bytes);
  for (size_t done = 0; done < bytes; done += step) {
    const uintptr_t here = at + done, line = here / kLine * kLine;
    const auto [found, fresh] = lines_.try_emplace(line);
    for (size_t i = 0; fresh && i < kLine; i += 8) {
      const uint64_t part = get(line + i);
      std::memcpy(found->second.data() + i, &part, 8);
    }
    uint64_t word = 0;
    std::memcpy(&word, found->second.data() + (here - line), step);
    for (size_t i = 0; i < (stores_near(here) > 0 ? stores_.size() : 0); ++i) {
      const Store& own = stores_[i];
      const uintptr_t first = std::max(own.at, here),
                      end = std::min(own.at + own.bytes, here + step);
      if (first < end)
        std::memcpy(reinterpret_cast<char*>(&word) + (first - here),
                    reinterpret_cast<const char*>(&own.value) + (first - own.at), end - first);
    }
    std::memcpy(static_cast<char*>(into) + done, &word, step);
  }
}

void BlockMemory::forget() {
  const TsanLooksAway away;
  lines_.clear();
}

void BlockMemory::settle(const void* word) {
  const auto at = reinterpret_cast<uintptr_t>(word);
  if (stores_near(at) == 0) return;
  const TsanLooksAway away;
  const auto is_mine = [&](const Store& one) { return one.at / 8 == at / 8; };
  for (auto found = stores_.begin();
       (found = std::find_if(stores_.begin(), stores_.end(), is_mine)) != stores_.end();) {
    const auto which = static_cast<size_t>(found - stores_.begin());
    leave(may_leave(which) ? which : 0);
  }
}

// Stores to a word and to a whole line keep their order.
bool BlockMemory::may_leave(size_t which) const {
  const Store& mine = stores_[which];
  for (size_t i = 0; i < which; ++i) {
    const Store& earlier = stores_[i];
    if (earlier.at / 8 == mine.at / 8 || (mine.line && earlier.at / kLine == mine.at / kLine))
      return false;
  }
  return true;
}

void BlockMemory::leave(size_t which) {
  const Store gone = stores_[which];
  stores_.erase(stores_.begin() + static_cast<long>(which));
  --stores_near(gone.at);
  const auto line = lines_.find(gone.at / kLine * kLine);
  if (line != lines_.end())
    std::memcpy(line->second.data() + gone.at % kLine, &gone.value, gone.bytes);
  put(gone.at, gone.value, gone.bytes);
}

// Parts of a line may leave together. Often the last store leaves first, as a flag would.
void BlockMemory::drain_some() {
  if (stores_.empty() || (stores_.size() < 64 && random_below(4) != 0)) return;
  const size_t last = stores_.size() - 1;
  const size_t chosen = random_below(3) == 0 ? last : random_below(stores_.size());
  const size_t which = may_leave(chosen) ? chosen : 0;
  const Store first = stores_[which];
  leave(which);
  const auto is_beside = [&](const Store& one) {
    return one.line && one.at / kLine == first.at / kLine;
  };
  for (uint64_t more = first.line ? random_below(16) : 0; more > 0; --more) {
    const auto next = std::find_if(stores_.begin(), stores_.end(), is_beside);
    if (next == stores_.end()) return;
    leave(static_cast<size_t>(next - stores_.begin()));
  }
}

// A pause lets other blocks see a partial drain.
void BlockMemory::drain() {
  const TsanLooksAway away;
  const size_t rest = stores_.empty() ? 0 : random_below(stores_.size());
  while (!stores_.empty()) {
    if (stores_.size() == rest) std::this_thread::sleep_for(std::chrono::microseconds(100));
    const size_t which = random_below(stores_.size());
    leave(may_leave(which) ? which : 0);
  }
}

}  // namespace tern::softcuda
