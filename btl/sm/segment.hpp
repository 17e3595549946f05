// SPDX-License-Identifier: Apache-2.0
// Segment: a rank's memory, mapped by the host's ranks, and divided equally among the rank's
// channels.
// Why: a memfd leaves nothing behind and admits only processes of the same user.
// Layout: SegmentHead | RingControl[] | SharedClaims[] | BlockFlag[] | rings | pool blocks | slabs,
// then for processes of other worlds RingControl[] | rings, which ranks of the own world do not
// map.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/doorbell.hpp"
#include "base/fd.hpp"
#include "base/shared_file.hpp"
#include "btl/btl.hpp"
#include "btl/claims.hpp"
#include "core/process.hpp"
#include "core/slabs.hpp"

namespace tern::btl::sm {

inline constexpr size_t kLine = 64;
inline constexpr uint32_t kClaims = 64;  // per channel
inline constexpr uint32_t kMostChannels = core::Process::kMostChannels;
inline constexpr uint32_t kMostStrangers = core::Worlds::kMostSharing;
inline constexpr size_t kBlockBytes = kMostPayload;
inline constexpr uint32_t kSlabs[core::Slabs::kSizes] = {4096, 32, 32};  // per channel, by size

struct alignas(kLine) Line {
  std::byte bytes[kLine];
};

struct SegmentHead {
  uint64_t magic;
  uint32_t channels, rings, ring_lines, blocks, rank;
  std::atomic<uint32_t> gone;
  static constexpr uint32_t kLeft = 1, kDied = 2;  // kDied is set by peers
  alignas(kLine) Doorbell doorbell;
  /// Senders of the own world claim rings in order. `by_strangers` counts the claims of others.
  struct alignas(kLine) Claimed {
    std::atomic<uint32_t> rings, by_strangers;
  };
  std::array<Claimed, kMostChannels> claimed;
};

/// `owner` is the writer, or 0 while a sender claims the ring, and in a stranger's free ring.
struct RingControl {
  alignas(kLine) std::atomic<uint64_t> owner;
  /// `world` is the reader's number of the writer's world.
  static uint64_t name(uint32_t world, uint32_t rank, uint32_t channel) noexcept {
    return (uint64_t{world} << 48) | (uint64_t{channel} << 32) | (uint64_t{rank} + 1);
  }
  static uint32_t rank_of(uint64_t name) noexcept { return static_cast<uint32_t>(name) - 1; }
  static uint32_t channel_of(uint64_t name) noexcept { return name >> 32 & 0xffff; }
  static uint32_t world_of(uint64_t name) noexcept { return static_cast<uint32_t>(name >> 48); }
  /// A stranger's farewell.
  std::atomic<uint32_t> farewell;
  static constexpr uint32_t kLast = 1;     // no frame follows
  static constexpr uint32_t kAllRead = 2;  // the writer has also read the other direction
  alignas(kLine) std::atomic<uint64_t> consumed;
};

struct alignas(kLine) BlockFlag {
  std::atomic<uint32_t> busy;
};

struct PoolPayload {
  uint32_t block;
};

/// Shape counts rings and blocks per channel; indices count over all channels.
struct Shape {
  uint32_t channels, rings, ring_lines, blocks;
  [[nodiscard]] size_t bytes() const noexcept;
  /// The part for ranks of the own world.
  [[nodiscard]] size_t world_bytes() const noexcept;
  [[nodiscard]] bool sensible() const noexcept;
  /// A peer with more channels writes to several rings of a channel.
  [[nodiscard]] uint32_t stranger_rings() const noexcept {
    return kMostStrangers * (kMostChannels / channels);
  }
  /// Strangers' rings have the numbers from all_rings() on.
  [[nodiscard]] uint32_t all_rings() const noexcept { return channels * rings; }
  [[nodiscard]] uint32_t first_stranger_ring(uint32_t channel) const noexcept {
    return all_rings() + channel * stranger_rings();
  }
  [[nodiscard]] uint32_t all_blocks() const noexcept { return channels * blocks; }
  [[nodiscard]] uint32_t all_claims() const noexcept { return channels * kClaims; }
  [[nodiscard]] uint32_t all_slabs(core::Slabs::Size size) const noexcept {
    return channels * kSlabs[static_cast<size_t>(size)];
  }
};

struct SmAddress : FileOffer {
  uint64_t bytes = 0;  // for ranks of the own world
  uint64_t base = 0;   // address in the owner
};

class Segment {
 public:
  Segment() = default;
  static Segment create(const Shape& shape, uint32_t rank);
  enum class Part { kWorld, kWhole };
  static Segment attach(const SmAddress& address, uint32_t rank, Part part);

  [[nodiscard]] SegmentHead& head() const noexcept { return *at<SegmentHead>(0); }
  [[nodiscard]] RingControl& control(uint32_t ring) const noexcept {
    const uint32_t rings = shape_.all_rings();
    return ring < rings ? at<RingControl>(controls_)[ring]
                        : at<RingControl>(stranger_controls_)[ring - rings];
  }
  [[nodiscard]] SharedClaims& claims(uint32_t slot) const noexcept {
    return at<SharedClaims>(claims_)[slot];
  }
  [[nodiscard]] BlockFlag& flag(uint32_t block) const noexcept {
    return at<BlockFlag>(flags_)[block];
  }
  [[nodiscard]] Line* ring(uint32_t ring) const noexcept {
    const uint32_t rings = shape_.all_rings();
    return ring < rings ? at<Line>(rings_) + size_t{ring} * shape_.ring_lines
                        : at<Line>(stranger_rings_) + size_t{ring - rings} * shape_.ring_lines;
  }
  [[nodiscard]] std::byte* block(uint32_t block) const noexcept {
    return base_ + blocks_ + size_t{block} * kBlockBytes;
  }
  [[nodiscard]] std::byte* slab(core::Slabs::Size size, uint32_t slab) const noexcept {
    return base_ + slabs_[static_cast<size_t>(size)] + slab * core::Slabs::bytes_of(size);
  }
  [[nodiscard]] const Shape& shape() const noexcept { return shape_; }
  [[nodiscard]] const Fd& fd() const noexcept { return fd_; }
  [[nodiscard]] SmAddress address() const noexcept;
  [[nodiscard]] bool valid() const noexcept { return base_ != nullptr; }
  [[nodiscard]] std::byte* base() const noexcept { return base_; }

 private:
  template <class T>
  [[nodiscard]] T* at(size_t offset) const noexcept {
    return reinterpret_cast<T*>(base_ + offset);
  }
  void lay_out(const Shape& shape) noexcept;

  Fd fd_;
  OfferedFile offered_;
  Mapping map_;  // invalid if another rank of this process owns it
  std::byte* base_ = nullptr;
  Shape shape_{};
  size_t controls_ = 0, claims_ = 0, flags_ = 0, rings_ = 0, blocks_ = 0;
  std::array<size_t, core::Slabs::kSizes> slabs_{};
  size_t stranger_controls_ = 0, stranger_rings_ = 0;
};

}  // namespace tern::btl::sm
