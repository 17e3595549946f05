// SPDX-License-Identifier: Apache-2.0
// ScratchLayout: the layout of each rank's scratch in a team, independent of message sizes.
// Why: with a layout by message size, replayed graphs of different sizes would overwrite each
// other's data.
//
// Each writing rank has a region in each of two sets; passes alternate between the sets. A region
// has a data semaphore ("word") per message, and a credit at the writer, set while the region is
// free. Semaphores are binary: a signal sets 1, a wait waits for 1 and writes 0. Without counters a
// captured graph can be replayed.
//
//   one     a semaphore fixed at 1, the source of signals; then the abort word of kernels
//   data    [from][set][message]
//   kernel_data    [from][set][message][part]
//   credit  [to][set]
//   kernel_credit  [to][set][part]
//   push    for each wire of PushRun: pass counters [part], perhaps flags [set][from][part], slots
//           [set][from][part]
//   local   memory of this rank alone: saved input, stages and mirrors
//   inbox   [from][set]: regions
//   kernel_inbox   [from][set][part]
//
// Streams and kernels have separate semaphores and regions, because a stream's credit does not
// cover a kernel's reads, nor the reverse. Each thread block has an equal part of a kernel's
// semaphores, regions and local memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "coll/gpu/push_wires.hpp"
#include "cuda/kernels/arguments.hpp"
#include "cuda/types.hpp"

namespace tern::coll {

[[nodiscard]] inline CUdeviceptr device_pointer(const std::byte* address) noexcept {
  return reinterpret_cast<CUdeviceptr>(address);
}

struct ScratchLayout {
  static constexpr int kSets = 2;
  static constexpr int kMessages = 256;
  static constexpr int kParts = 8;
  static constexpr int kReports = kMostPushParts;
  static constexpr int kKernelMessages = 128;
  static constexpr size_t kKernelGrain = 16;
  static constexpr size_t kGrain = 256;
  static constexpr size_t kWord = sizeof(uint32_t);
  static constexpr size_t kLeastRegion = 16384;

  int ranks = 0;
  size_t bytes = 0;
  bool lines = false;  // wires of PushFacts::lines have slots

  static constexpr size_t up(size_t bytes) noexcept {
    return (bytes + kGrain - 1) / kGrain * kGrain;
  }
  [[nodiscard]] static constexpr size_t one() noexcept { return 0; }
  [[nodiscard]] static constexpr size_t abort() noexcept { return kWord; }
  [[nodiscard]] size_t data(int from, int set, int message) const noexcept {
    return kGrain + (at(from, set) * kMessages + static_cast<size_t>(message)) * kWord;
  }
  [[nodiscard]] size_t credit(int to, int set) const noexcept {
    return credits() + at(to, set) * kWord;
  }
  /// Offsets are of the first pair and part, in the order of the list above.
  [[nodiscard]] size_t kernel_data() const noexcept { return kGrain + pairs() * kMessages * kWord; }
  [[nodiscard]] size_t kernel_credit() const noexcept { return credits() + pairs() * kWord; }
  [[nodiscard]] size_t kernel_inbox() const noexcept { return inbox(ranks, 0); }
  [[nodiscard]] size_t kernel_region() const noexcept {
    return inboxes() / kKernelShare / pairs() / kGrain * kGrain;
  }
  [[nodiscard]] size_t kernel_part(size_t all) const noexcept {
    return all / kParts / kKernelGrain * kKernelGrain;
  }
  [[nodiscard]] cuda::PairRegions pair_regions() const noexcept {
    const auto at = [](size_t offset) { return static_cast<int64_t>(offset); };
    return {at(kernel_inbox()),
            at(kernel_region()),
            at(kernel_part(kernel_region())),
            at(kernel_data()),
            at(kernel_credit()),
            kKernelMessages * kParts,
            kParts};
  }
  [[nodiscard]] size_t push_counters(Wire wire) const noexcept {
    return begin_of_push(push_index(wire));
  }
  [[nodiscard]] size_t push_flags(Wire wire) const noexcept { return push_counters(wire) + kGrain; }
  [[nodiscard]] size_t push_words(Wire wire) const noexcept {
    return words_behind(push_counters(wire), facts_of(wire));
  }
  /// push_parts() is the number of thread blocks with slots: fewer in a small scratch.
  [[nodiscard]] int push_parts(Wire wire) const noexcept {
    return parts_of(facts_of(wire), push_words(wire));
  }
  /// push_room() counts vectors of 16 bytes.
  [[nodiscard]] size_t push_room(Wire wire) const noexcept {
    return units_of(facts_of(wire), push_words(wire)) * facts_of(wire).vectors;
  }
  [[nodiscard]] size_t local() const noexcept { return begin_of_push(kPushes); }
  [[nodiscard]] size_t local_bytes() const noexcept {
    return (bytes - local()) / 4 / kGrain * kGrain;
  }
  [[nodiscard]] size_t lane_local_bytes() const noexcept {
    return local_bytes() / kSets / kGrain * kGrain;
  }
  [[nodiscard]] size_t inbox(int from, int set) const noexcept {
    return local() + local_bytes() + at(from, set) * region();
  }
  /// region() counts bytes of a pair's messages in a pass.
  [[nodiscard]] size_t region() const noexcept {
    return (inboxes() - inboxes() / kKernelShare) / pairs() / kGrain * kGrain;
  }
  [[nodiscard]] size_t words_end() const noexcept {
    return kernel_credit() + pairs() * kParts * kWord;
  }
  [[nodiscard]] bool has(Wire wire) const noexcept { return has(facts_of(wire)); }
  [[nodiscard]] bool serves() const noexcept {
    for (const PushFacts& one : kPushFacts)
      if (has(one) && push_room(one.wire) == 0) return false;
    return bytes > local() && region() >= kLeastRegion && lane_local_bytes() >= kLeastRegion;
  }

 private:
  static constexpr size_t kKernelShare = 4;           // kernels have 1/4 of the inboxes
  static constexpr size_t kLeastForBulk = 128 << 10;  // of the scratch, per rank
  [[nodiscard]] bool has(const PushFacts& wire) const noexcept {
    return wire.flags ? bytes >= kLeastForBulk * static_cast<size_t>(ranks) : !wire.lines || lines;
  }
  [[nodiscard]] size_t words_behind(size_t counters, const PushFacts& wire) const noexcept {
    if (!has(wire)) return counters;
    const size_t flags = wire.flags ? pairs() * static_cast<size_t>(wire.parts) : 0;
    return counters + kGrain + up(flags * sizeof(uint64_t));
  }
  [[nodiscard]] size_t share_of(const PushFacts& wire, size_t words) const noexcept {
    return !has(wire) || bytes < words ? 0 : (bytes - words) / wire.share;
  }
  [[nodiscard]] int parts_of(const PushFacts& wire, size_t words) const noexcept {
    int parts = wire.parts;
    while (parts > 1 && share_of(wire, words) < pairs() * static_cast<size_t>(parts) * wire.bytes)
      parts /= 2;
    return parts;
  }
  [[nodiscard]] size_t slots(const PushFacts& wire, size_t words) const noexcept {
    return pairs() * static_cast<size_t>(parts_of(wire, words));
  }
  [[nodiscard]] size_t begin_of_push(int index) const noexcept {
    size_t begin = up(words_end());
    for (int i = 0; i < index; ++i) {
      const PushFacts& wire = kPushFacts[static_cast<size_t>(i)];
      const size_t words = words_behind(begin, wire);
      begin = up(words + slots(wire, words) * units_of(wire, words) * wire.bytes);
    }
    return begin;
  }
  [[nodiscard]] size_t units_of(const PushFacts& wire, size_t words) const noexcept {
    return std::min(share_of(wire, words) / (slots(wire, words) * wire.bytes), wire.most);
  }
  [[nodiscard]] size_t inboxes() const noexcept { return bytes - local() - local_bytes(); }
  [[nodiscard]] static size_t at(int rank, int set) noexcept {
    return static_cast<size_t>(rank) * kSets + static_cast<size_t>(set);
  }
  [[nodiscard]] size_t pairs() const noexcept { return static_cast<size_t>(ranks) * kSets; }
  [[nodiscard]] size_t credits() const noexcept {
    return kernel_data() + pairs() * kKernelMessages * kParts * kWord;
  }
};

}  // namespace tern::coll
