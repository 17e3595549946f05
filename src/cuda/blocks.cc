// SPDX-License-Identifier: Apache-2.0
#include "cuda/blocks.hpp"

#include <sched.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <new>
#include <utility>

#include "base/clock.hpp"
#include "cuda/memory.hpp"

namespace tern::cuda {

namespace {

constexpr size_t kSlab = 2 << 20;  // the unit of the driver's own pool

// Small blocks have power-of-two sizes for reuse; large blocks are multiples of 2 MiB to save
// memory.
size_t block_bytes(size_t least) noexcept {
  constexpr size_t kLeast = 65536, kLarge = 64 << 20;
  return least > kLarge ? (least + kSlab - 1) / kSlab * kSlab
                        : std::bit_ceil(std::max(least, kLeast));
}

/// Returns the smallest idle block of `bytes` to twice `bytes`.
template <class Blocks>
auto fitting(Blocks& idle, size_t bytes) noexcept {
  const auto found = idle.lower_bound(bytes);
  return found != idle.end() && found->first / 2 <= bytes ? found : idle.end();
}

}  // namespace

bool BlockStore::affords(Store from, size_t bytes, size_t most) noexcept {
  const std::lock_guard<std::mutex> guard(mutex_);
  const auto store = static_cast<size_t>(from);
  const size_t needed = block_bytes(bytes);
  const bool small = from == Store::kDevice && needed < kSlab;
  return held_[store] + (small ? kSlab : needed) <= most ||
         fitting(idle_[store], needed) != idle_[store].end() ||
         (small && larger_part(needed) != idle_[store].end());
}

bool BlockStore::lends(Store from, size_t bytes) noexcept {
  const size_t needed = block_bytes(bytes);
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    const Blocks& idle = idle_[static_cast<size_t>(from)];
    if (idle.lower_bound(needed) != idle.end()) return true;
  }
  if (context_.is_quiet() || becomes_quiet()) return true;
  wanted_[static_cast<size_t>(from)].store(needed, std::memory_order_relaxed);
  return false;
}

// Waits up to kLongest for a quiet device, unless enqueued calls wait for other ranks.
bool BlockStore::becomes_quiet() noexcept {
  constexpr uint32_t kFirst = 8;
  constexpr int64_t kLongest = 100'000'000;  // ns
  const uint32_t refusals = refusals_.fetch_add(1, std::memory_order_relaxed) + 1;
  if (refusals < kFirst || !std::has_single_bit(refusals) || context_.has_waiting()) return false;
  for (const int64_t end = now_ns() + kLongest; now_ns() < end && !context_.has_waiting();
       ::sched_yield())
    if (context_.is_quiet()) return true;
  return false;
}

void BlockStore::make_wanted() noexcept {
  for (const Store store : {Store::kPinned, Store::kDevice}) {
    std::atomic<size_t>& wanted = wanted_[static_cast<size_t>(store)];
    size_t bytes = wanted.load(std::memory_order_relaxed);
    if (TERN_LIKELY(bytes == 0) || !context_.is_quiet()) continue;
    wanted.store(0, std::memory_order_relaxed);
    const Current current(context_);
    CUresult error = current.result();
    if (std::byte* const block = acquire(store, &bytes, &error); block != nullptr)
      release(store, block, bytes);
  }
}

std::byte* BlockStore::acquire(Store from, size_t* bytes, CUresult* error) noexcept {
  *bytes = block_bytes(*bytes);
  if (std::byte* const block = take_idle(from, bytes)) return block;
  std::byte* block = nullptr;
  *error = allocate(from, *bytes, &block);
  if (*error == CUDA_ERROR_OUT_OF_MEMORY && free_idle(from))
    *error = allocate(from, *bytes, &block);
  return *error == CUDA_SUCCESS ? block : nullptr;
}

std::byte* BlockStore::spare(Store from, size_t* bytes) noexcept {
  *bytes = block_bytes(*bytes);
  return take_idle(from, bytes, nullptr);
}

std::byte* BlockStore::take_idle(Store from, size_t* bytes) noexcept {
  bool larger = false;
  if (std::byte* const block = take_idle(from, bytes, &larger)) return block;
  if (from == Store::kDevice)
    if (std::byte* const block = split(*bytes)) return block;
  return larger && !context_.is_quiet() ? take_idle(from, bytes, nullptr) : nullptr;
}

std::byte* BlockStore::take_idle(Store from, size_t* bytes, bool* larger) noexcept {
  const std::lock_guard<std::mutex> guard(mutex_);
  Blocks& idle = idle_[static_cast<size_t>(from)];
  const auto found = larger == nullptr ? idle.lower_bound(*bytes) : fitting(idle, *bytes);
  if (found == idle.end()) {
    if (larger != nullptr) *larger = idle.lower_bound(*bytes) != idle.end();
    return nullptr;
  }
  std::byte* const block = found->second;
  *bytes = found->first;
  idle.erase(found);
  return block;
}

BlockStore::Blocks::iterator BlockStore::larger_part(size_t bytes) noexcept {
  Blocks& idle = idle_[static_cast<size_t>(Store::kDevice)];
  auto found = idle.lower_bound(bytes);
  while (found != idle.end() && found->first < kSlab && !is_in_slab(found->second)) ++found;
  return found != idle.end() && found->first < kSlab ? found : idle.end();
}

// Halves an idle part of a slab down to `bytes`.
std::byte* BlockStore::split(size_t bytes) noexcept {
  const std::lock_guard<std::mutex> guard(mutex_);
  Blocks& idle = idle_[static_cast<size_t>(Store::kDevice)];
  const auto found = larger_part(bytes);
  if (found == idle.end()) return nullptr;
  const auto [size, block] = *found;
  idle.erase(found);
  try {
    for (size_t half = size / 2; half >= bytes; half /= 2) idle.emplace(half, block + half);
  } catch (const std::bad_alloc&) {  // the rest stays unused
  }
  return block;
}

void BlockStore::release(Store to, std::byte* block, size_t bytes) noexcept {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (!context_.gone()) idle_[static_cast<size_t>(to)].emplace(bytes, block);
}

// The driver is called without the lock: the driver may wait for streams, streams for the proxy,
// and the proxy returns memory here.
CUresult BlockStore::allocate(Store from, size_t bytes, std::byte** block) noexcept {
  if (from == Store::kDevice && bytes < kSlab) return allocate_slab(bytes, block);
  void* host = nullptr;
  CUdeviceptr device = 0;
  const CUresult result = from == Store::kPinned ? context_.driver.cuMemHostAlloc(
                                                       &host, bytes, CU_MEMHOSTALLOC_PORTABLE)
                                                 : context_.driver.cuMemAlloc_v2(&device, bytes);
  *block = static_cast<std::byte*>(from == Store::kPinned ? host : reinterpret_cast<void*>(device));
  if (result != CUDA_SUCCESS) return result;
  const std::lock_guard<std::mutex> guard(mutex_);
  held_[static_cast<size_t>(from)] += bytes;
  if (from == Store::kPinned) {
    try {
      known_.push_back(host);
      know_pinned(host, bytes);
    } catch (const std::bad_alloc&) {  // look-ups of the block then ask the driver
    }
  }
  return result;
}

// The slab's first `bytes` are lent; the rest becomes idle blocks of bytes, 2 bytes, 4 bytes, ...
CUresult BlockStore::allocate_slab(size_t bytes, std::byte** block) noexcept {
  CUdeviceptr slab = 0;
  if (const CUresult result = context_.driver.cuMemAlloc_v2(&slab, kSlab); result != CUDA_SUCCESS)
    return result;
  *block = reinterpret_cast<std::byte*>(slab);
  const std::lock_guard<std::mutex> guard(mutex_);
  held_[static_cast<size_t>(Store::kDevice)] += kSlab;
  try {
    slabs_.push_back(slab);
    for (size_t at = bytes; at < kSlab; at *= 2)
      idle_[static_cast<size_t>(Store::kDevice)].emplace(at, *block + at);
  } catch (const std::bad_alloc&) {  // the rest stays unused
  }
  return CUDA_SUCCESS;
}

bool BlockStore::is_in_slab(const std::byte* block) const noexcept {
  const auto at = reinterpret_cast<CUdeviceptr>(block);
  return std::any_of(slabs_.begin(), slabs_.end(),
                     [&](CUdeviceptr slab) { return slab <= at && at < slab + kSlab; });
}

// Parts of slabs stay until destroy().
bool BlockStore::free_idle(Store of) noexcept {
  Blocks going;
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    going.swap(idle_[static_cast<size_t>(of)]);
    for (auto one = going.begin(); of == Store::kDevice && one != going.end();) {
      const auto next = std::next(one);
      if (is_in_slab(one->second)) idle_[static_cast<size_t>(of)].insert(going.extract(one));
      one = next;
    }
    for (const auto& [bytes, block] : going) {
      held_[static_cast<size_t>(of)] -= bytes;
      if (of != Store::kPinned) continue;
      forget_pinned(block);
      known_.erase(std::remove(known_.begin(), known_.end(), block), known_.end());
    }
  }
  for (const auto& [bytes, block] : going)
    (void)(of == Store::kPinned
               ? context_.driver.cuMemFreeHost(block)
               : context_.driver.cuMemFree_v2(reinterpret_cast<CUdeviceptr>(block)));
  return !going.empty();
}

bool BlockStore::empty() const noexcept { return idle_[0].empty() && idle_[1].empty(); }

void BlockStore::destroy() noexcept {
  free_idle(Store::kPinned);
  free_idle(Store::kDevice);
  idle_ = {};
  for (const CUdeviceptr slab : std::exchange(slabs_, {})) (void)context_.driver.cuMemFree_v2(slab);
}

void BlockStore::forget() noexcept {
  const std::lock_guard<std::mutex> guard(mutex_);
  idle_ = {};
  slabs_.clear();
  for (const void* one : known_) forget_pinned(one);
}

}  // namespace tern::cuda
