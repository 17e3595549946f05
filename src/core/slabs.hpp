// SPDX-License-Identifier: Apache-2.0
// Slabs: memory of this rank, read by the ranks of its host.
// Why: a rank of a collective writes its data once for all readers. Slabs are already mapped:
// claiming takes no system call. One object per channel. Threads: under the channel's lock.
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

  [[nodiscard]] virtual bool reaches(const Peer& peer) const noexcept = 0;
  /// claim() returns kNone if all slabs are taken.
  [[nodiscard]] virtual uint32_t claim(Size size) = 0;
  virtual void release(Size size, uint32_t slab) noexcept = 0;
  [[nodiscard]] virtual std::byte* own(Size size, uint32_t slab) noexcept = 0;
  /// An address from of() is valid as long as the Slabs object. Throws Error for an unknown number.
  [[nodiscard]] virtual std::byte* of(Peer& peer, Size size, uint32_t slab) = 0;
  [[nodiscard]] virtual bool has_died(Peer& peer) noexcept = 0;
  [[nodiscard]] virtual Doorbell& bell(Peer& peer) = 0;
  /// fenced() is true if writers must fence before Doorbell::ring.
  [[nodiscard]] virtual bool fenced() const noexcept = 0;
  [[nodiscard]] virtual bool can_get(Peer& peer) = 0;
  [[nodiscard]] virtual int get(Peer& peer, void* to, uint64_t from, size_t bytes) noexcept = 0;
  /// is_readable() is true if a peer's get() may read this memory: the kernel refuses mappings of
  /// devices. Each call asks the kernel.
  [[nodiscard]] virtual bool is_readable(const void* address, size_t bytes) noexcept = 0;
};

}  // namespace tern::core
