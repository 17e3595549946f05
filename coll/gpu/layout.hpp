// SPDX-License-Identifier: Apache-2.0
// ScratchLayout: what lies where in the symmetric scratch of a rank of a team: equal on all ranks,
// whatever the message.
// Why: layouts that moved with the size of messages would let replayed graphs of different sizes
// write over each other.
//
// A rank has a region for each rank that puts to it, in each of two sets: passes use the sets in
// turn. With a region go words: one for each message that it can hold in a pass (data words), and,
// at the rank that puts, one that says that the region is free (its credit). Words are binary: a
// signal sets 1, a wait waits for 1 and sets 0. So nothing is counted, and what is recorded in a
// graph can be replayed.
//
//   one     a word that is always 1: signals are copies of it
//   data    [from][set][message]
//   credit  [to][set]
//   local   memory of the rank's own: what is put aside, stages and mirrors
//   inbox   [from][set]: regions
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/types.hpp"

namespace tern::coll {

[[nodiscard]] inline CUdeviceptr device_pointer(const std::byte* address) noexcept {
  return reinterpret_cast<CUdeviceptr>(address);
}

struct ScratchLayout {
  static constexpr int kSets = 2;
  static constexpr int kMessages = 256;  // of one rank to another in one pass
  static constexpr size_t kGrain = 256;
  static constexpr size_t kWord = sizeof(uint32_t);
  static constexpr size_t kLeastRegion = 16384;

  int ranks = 0;
  size_t bytes = 0;

  static constexpr size_t up(size_t bytes) noexcept {
    return (bytes + kGrain - 1) / kGrain * kGrain;
  }
  [[nodiscard]] static constexpr size_t one() noexcept { return 0; }
  [[nodiscard]] size_t data(int from, int set, int message) const noexcept {
    return kGrain + (at(from, set) * kMessages + static_cast<size_t>(message)) * kWord;
  }
  [[nodiscard]] size_t credit(int to, int set) const noexcept {
    return credits() + at(to, set) * kWord;
  }
  [[nodiscard]] size_t local() const noexcept { return up(credits() + pairs() * kWord); }
  [[nodiscard]] size_t local_bytes() const noexcept {
    return (bytes - local()) / 4 / kGrain * kGrain;
  }
  [[nodiscard]] size_t inbox(int from, int set) const noexcept {
    return local() + local_bytes() + at(from, set) * region();
  }
  /// Bytes that one rank's messages of one pass may take.
  [[nodiscard]] size_t region() const noexcept {
    return (bytes - local() - local_bytes()) / pairs() / kGrain * kGrain;
  }
  [[nodiscard]] size_t words_end() const noexcept { return credits() + pairs() * kWord; }
  /// Whether anything useful fits.
  [[nodiscard]] bool serves() const noexcept {
    return bytes > local() && region() >= kLeastRegion && local_bytes() >= kLeastRegion;
  }

 private:
  [[nodiscard]] static size_t at(int rank, int set) noexcept {
    return static_cast<size_t>(rank) * kSets + static_cast<size_t>(set);
  }
  [[nodiscard]] size_t pairs() const noexcept { return static_cast<size_t>(ranks) * kSets; }
  [[nodiscard]] size_t credits() const noexcept { return kGrain + pairs() * kMessages * kWord; }
};

}  // namespace tern::coll
