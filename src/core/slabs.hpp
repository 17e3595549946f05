// SPDX-License-Identifier: Apache-2.0
// Slabs: pieces of this rank's memory that the ranks of its host read.
// Why: on one host a collective writes its part where all see it, instead of sending it to each.
// They lie in memory that is mapped already: a communicator that claims one makes no system call.
// Lifetime: the transport that has the memory (btl/sm); one for each channel. Threads: under the
// channel's lock. See: coll/flat/ (what lies in them).
#pragma once

#include <cstddef>
#include <cstdint>

namespace tern {
class Doorbell;
}

namespace tern::core {

struct Peer;

class Slabs {
 public:
  /// Deep: for many short parts.
  enum class Size : uint8_t { kSmall, kLarge, kDeep };
  static constexpr size_t kSizes = 3;
  static constexpr size_t kSmallBytes = 1984, kLargeBytes = 64 + 4 * (32768 + 64),
                          kDeepBytes = 64 + 64 * 960;
  static constexpr size_t bytes_of(Size size) noexcept {
    constexpr size_t kBytes[kSizes] = {kSmallBytes, kLargeBytes, kDeepBytes};
    return kBytes[static_cast<size_t>(size)];
  }
  static constexpr uint32_t kNone = UINT32_MAX;

  virtual ~Slabs() = default;

  /// Whether the peer is on this host.
  [[nodiscard]] virtual bool reaches(const Peer& peer) const noexcept = 0;
  /// The number of a free slab, with whatever was in it; kNone where all are taken.
  [[nodiscard]] virtual uint32_t claim(Size size) = 0;
  virtual void release(Size size, uint32_t slab) noexcept = 0;
  /// An own slab, at a multiple of 64 bytes.
  [[nodiscard]] virtual std::byte* own(Size size, uint32_t slab) noexcept = 0;
  /// A peer's; valid as long as this object. Throws Error where no slab has this number.
  [[nodiscard]] virtual std::byte* of(Peer& peer, Size size, uint32_t slab) = 0;
  /// Whether the peer's process has ended without leaving MPI. For who waits for it at the end.
  [[nodiscard]] virtual bool has_died(Peer& peer) noexcept = 0;
  /// Where the peer sleeps.
  [[nodiscard]] virtual Doorbell& bell(Peer& peer) = 0;
  /// Whether who writes must fence before it looks for sleepers (Doorbell::ring).
  [[nodiscard]] virtual bool fenced() const noexcept = 0;
  /// Whether get() works with the peer; found by trying.
  [[nodiscard]] virtual bool can_get(Peer& peer) = 0;
  /// Copies from the peer's memory into own memory: 0 or an errno. Contiguous on both sides.
  [[nodiscard]] virtual int get(Peer& peer, void* to, uint64_t from, size_t bytes) noexcept = 0;
  /// Whether get() of a peer may read this memory of ours: the kernel refuses mappings of devices
  /// and their like. Asks it in each call, and explains the first refusal.
  [[nodiscard]] virtual bool is_readable(const void* address, size_t bytes) noexcept = 0;
};

}  // namespace tern::core
