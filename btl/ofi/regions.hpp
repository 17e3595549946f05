// SPDX-License-Identifier: Apache-2.0
// Regions: the registrations of a port. A peer needs a region's key and base.
// Threads: callers hold the channel's lock, also when a MemoryRegion ends.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>

#include "btl/capabilities.hpp"
#include "btl/net/registrations.hpp"
#include "btl/ofi/fabric.hpp"
#include "cuda/memory.hpp"

namespace tern::btl::ofi {

/// The owner's base is 0 if libfabric wants virtual addresses.
struct KeyAndBase {
  uint64_t key, base;
};
using KeyBytes = std::array<std::byte, sizeof(KeyAndBase)>;
[[nodiscard]] KeyBytes packed(const KeyAndBase& both) noexcept;
/// Nothing if the length is wrong.
[[nodiscard]] std::optional<KeyAndBase> unpacked(std::span<const std::byte> key) noexcept;

class Regions {
 public:
  Regions(const Library& fi, const fi_info& info, fid_domain* domain, fid_ep* ep) noexcept;
  Regions(const Regions&) = delete;
  Regions& operator=(const Regions&) = delete;
  ~Regions() { close_all(); }

  /// open() returns 0, or libfabric's negative error.
  [[nodiscard]] int open(const iovec& memory, uint64_t access, fid_mr** made) noexcept;
  /// As open(), for user memory: at most a quarter of the limit of locked memory, because libfabric
  /// waits for ever when buffers of new connections find no room.
  [[nodiscard]] int open_within_limit(const iovec& memory, uint64_t access, fid_mr** made) noexcept;
  /// open_device() registers an allocation, by dma-buf where libfabric and the driver can.
  [[nodiscard]] int open_device(const cuda::Memory& memory, fid_mr** made) noexcept;
  void close(fid_mr* region) noexcept;
  /// Later calls of close() have no effect.
  void close_all() noexcept;
  [[nodiscard]] uint64_t base_of(const void* memory) const noexcept {
    return (mode_ & FI_MR_VIRT_ADDR) != 0 ? 0 : reinterpret_cast<uint64_t>(memory);
  }

 private:
  [[nodiscard]] uint64_t new_key() noexcept;
  [[nodiscard]] int enlist(fid_mr* region, fid_mr** made) noexcept;
  [[nodiscard]] int open_dma_buf(const cuda::Memory& memory, fid_mr** made) noexcept;

  fid_domain* const domain_;
  fid_ep* const ep_;
  const int mode_;
  const size_t key_bytes_;
  const bool takes_dma_buf_;
  const size_t most_;
  size_t used_ = 0;
  uint64_t last_key_ = 0;
  std::unordered_map<fid_mr*, size_t> open_;  // bytes that count in used_
};

class OfiRegion : public MemoryRegion {
 public:
  OfiRegion(std::shared_ptr<Regions> regions, fid_mr* region, const KeyAndBase& both) noexcept
      : regions_(std::move(regions)), region_(region), key_(packed(both)) {}
  OfiRegion(const OfiRegion&) = delete;
  OfiRegion& operator=(const OfiRegion&) = delete;
  ~OfiRegion() override { regions_->close(region_); }
  std::span<const std::byte> key() const noexcept override { return key_; }
  [[nodiscard]] fid_mr* get() const noexcept { return region_; }

 private:
  const std::shared_ptr<Regions> regions_;
  fid_mr* const region_;
  const KeyBytes key_;
};

class CountedRegion final : public OfiRegion {
 public:
  CountedRegion(core::Process& process, std::shared_ptr<Regions> regions, fid_mr* region,
                size_t bytes, const KeyAndBase& both) noexcept
      : OfiRegion(std::move(regions), region, both), counted_(process, bytes) {}

 private:
  const net::CountedBytes counted_;
};

class OfiRemoteKey final : public RemoteKey {
 public:
  explicit OfiRemoteKey(const KeyAndBase& both) noexcept : parts(both) {}
  const KeyAndBase parts;
};

/// Throws Error if libfabric or all adapters refuse the allocation.
[[nodiscard]] std::unique_ptr<MemoryRegion> register_device(const Fabric& fabric,
                                                            const std::shared_ptr<Regions>& regions,
                                                            const cuda::Memory& memory);

[[nodiscard]] inline void* descriptor_of(fid_mr* region) noexcept {
  return region == nullptr ? nullptr : ::fi_mr_desc(region);
}

/// Registers 64 MiB for a moment if locked memory is limited and the provider locks it. Throws
/// Error.
void require_lockable_memory(const Fabric& fabric, Regions& regions);

}  // namespace tern::btl::ofi
