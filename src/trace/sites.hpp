// SPDX-License-Identifier: Apache-2.0
// Sites: call paths of MPI calls, as numbers.
// Method: the first call of a path unwinds the stack, and keeps the stack slots of the outer return
// addresses. A later call with the same return address and frame compares these slots.
// Cost: about 10 ns for a known path, some microseconds for a new one.
// Lifetime: SiteCache: a thread. SiteTable: the process. Threads: SiteTable any, SiteCache its own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace tern::trace {

inline constexpr size_t kFrames = 4;
using Frames =
    std::array<uintptr_t, kFrames>;  // return addresses from the caller outwards; 0: none

class SiteTable {
 public:
  /// number() begins with 1. *is_new: the path has no definition yet. Throws std::bad_alloc.
  [[nodiscard]] uint32_t number(const Frames& frames, bool* is_new);
  /// Calls use(number, frames) for each path. Throws what `use` throws.
  template <class Use>
  void each(const Use& use) {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [frames, number] : numbers_) use(number, frames);
  }

 private:
  std::mutex mutex_;
  std::map<Frames, uint32_t> numbers_;
};

/// "MODULE(function+0xOFFSET)" or "MODULE+0xOFFSET" for each frame, between ';'. The offsets are
/// those of the last byte of each call. Throws std::bad_alloc.
[[nodiscard]] std::string in_words(const Frames& frames);
[[nodiscard]] std::string frame_in_words(uintptr_t address);
/// "FILE:LINE(function)", or an empty text without debug information. The first call reads all
/// debug information, for up to a second.
[[nodiscard]] std::string source_in_words(uintptr_t address);

class SiteCache {
 public:
  using Number = uint32_t (*)(const Frames& frames) noexcept;
  /// For the calling thread, also after another thread. `number` gives a new path its number.
  void start(Number number) noexcept;
  /// `frame` is an address in the frame of the called function, at a constant distance from the
  /// caller's frame. Returns 0 for an unknown path.
  [[nodiscard]] uint32_t find(const void* site, const void* frame) noexcept {
    const auto address = reinterpret_cast<uintptr_t>(site), at = reinterpret_cast<uintptr_t>(frame);
    const Entry& entry = entries_[slot(address, at)];
    if (entry.site == address && entry.frame == at && holds(entry)) return entry.number;
    return look_up(address, at);
  }

 private:
  static constexpr size_t kEntries = 256;
  struct Entry {
    uintptr_t site = 0, frame = 0;
    uint32_t number = 0, slots = 0;
    uintptr_t where[kFrames - 1] = {};
    uintptr_t value[kFrames - 1] = {};
  };
  [[nodiscard]] static size_t slot(uintptr_t site, uintptr_t frame) noexcept {
    return ((site ^ frame << 7) * 0x9e3779b97f4a7c15ULL >> 40) % kEntries;
  }
  // The slots lie between the frame and the end of the stack, so a load is safe.
  [[nodiscard]] static bool holds(const Entry& entry) noexcept {
    for (uint32_t i = 0; i < entry.slots; ++i)
      if (*reinterpret_cast<const uintptr_t*>(entry.where[i]) != entry.value[i]) return false;
    return true;
  }
  [[gnu::cold, gnu::noinline]] uint32_t look_up(uintptr_t site, uintptr_t frame) noexcept;

  Number number_ = nullptr;
  uintptr_t stack_begin_ = 0, stack_end_ = 0;
  Entry entries_[kEntries];
};

}  // namespace tern::trace
