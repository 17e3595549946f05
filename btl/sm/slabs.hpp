// SPDX-License-Identifier: Apache-2.0
// SmSlabs: slabs in the segments of the ranks of one host.
#pragma once

#include <unistd.h>

#include <array>
#include <vector>

#include "btl/sm/endpoint.hpp"
#include "btl/sm/segment.hpp"
#include "core/slabs.hpp"

namespace tern::btl::sm {

class HostSegments {
 public:
  [[nodiscard]] virtual bool reaches_segment(const core::Peer& peer) const noexcept = 0;
  [[nodiscard]] virtual const Segment& segment() const noexcept = 0;
  /// attached() attaches the peer's segment at the first call. Throws Error.
  virtual Attached& attached(const core::Peer& peer) = 0;

 protected:
  ~HostSegments() = default;
};

class SmSlabs final : public core::Slabs {
 public:
  SmSlabs(const core::Process& process, HostSegments& segments, uint32_t channel,
          const bool& fenced) noexcept
      : process_(process), segments_(segments), channel_(channel), fenced_(fenced) {}

  bool reaches(const core::Peer& peer) const noexcept override;
  uint32_t claim(Size size) override;
  void release(Size size, uint32_t slab) noexcept override;
  std::byte* own(Size size, uint32_t slab) noexcept override;
  std::byte* of(core::Peer& peer, Size size, uint32_t slab) override;
  bool has_died(core::Peer& peer) noexcept override;
  Doorbell& bell(core::Peer& peer) override;
  bool fenced() const noexcept override { return fenced_; }
  bool can_get(core::Peer& peer) override;
  int get(core::Peer& peer, void* to, uint64_t from, size_t bytes) noexcept override;
  bool is_readable(const void* address, size_t bytes) noexcept override;

 private:
  struct Free {
    uint32_t untouched = 0;  // first slab without pages
    std::vector<uint32_t> returned;
  };

  const core::Process& process_;
  HostSegments& segments_;
  const uint32_t channel_;
  const bool& fenced_;
  const pid_t self_ = ::getpid();
  std::array<Free, kSizes> free_;
  bool refusal_said_ = false;
};

}  // namespace tern::btl::sm
