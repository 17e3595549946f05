// SPDX-License-Identifier: Apache-2.0
// DeviceCache: device memory registered with a network's library, kept after use. An entry is a
// whole allocation.
// Why: a registration of device memory takes far longer than a transfer of 1 MiB. A freed
// allocation and its successor at the same address have different buffer ids, so no lease gets a
// stale region.
// Lifetime: the transport's of a channel, and of all leases.
// Threads: callers hold the channel's lock, also when a lease ends.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <span>
#include <string>

#include "btl/capabilities.hpp"
#include "core/process.hpp"
#include "cuda/memory.hpp"

namespace tern::btl::net {

class DeviceCache : public std::enable_shared_from_this<DeviceCache> {
 public:
  /// Registers an allocation. Throws Error if the library or the adapter refuses.
  using Register = std::function<std::unique_ptr<MemoryRegion>(const cuda::Memory& allocation)>;
  /// TERN_NET_CACHE limits the bytes that stay registered after use; 0: no limit, because a region
  /// costs addresses of the GPU's window (BAR1) only, and a refusal evicts idle regions.
  DeviceCache(core::Process& process, Register registers);
  DeviceCache(const DeviceCache&) = delete;
  DeviceCache& operator=(const DeviceCache&) = delete;
  ~DeviceCache();

  /// Null if the memory is refused, or no single allocation; the first refusal is said.
  [[nodiscard]] std::unique_ptr<MemoryRegion> lease(const iovec& block) noexcept;
  /// Asks the driver whether the allocations still exist.
  void drop_freed() noexcept;

 private:
  friend class DeviceLease;
  struct Entry {
    cuda::Memory memory;
    std::shared_ptr<const MemoryRegion> region;  // null: refused
    std::string why_refused = {};
    uint32_t refusals = 0;
    uint64_t next_question = 0;  // in releases_
    [[nodiscard]] bool is_idle() const noexcept { return region.use_count() == 1; }
  };
  using Entries = std::list<Entry>;
  [[nodiscard]] std::shared_ptr<const MemoryRegion> region_of(const cuda::Memory& memory);
  [[nodiscard]] std::shared_ptr<const MemoryRegion> registered(const cuda::Memory& memory,
                                                               uint32_t refusals);
  void end_lease(std::shared_ptr<const MemoryRegion>* region) noexcept;
  void drop_if(const std::function<bool(const Entry&)>& condition);
  void drop(Entries::iterator entry) noexcept;
  [[nodiscard]] bool evict_one() noexcept;
  void trim(size_t most) noexcept;

  core::Process& process_;
  const Register registers_;
  const size_t most_;
  size_t bytes_ = 0;
  uint64_t releases_ = 0;  // ends of leases and of regions
  Entries entries_;        // the last used first
};

/// Keeps an entry from eviction.
class DeviceLease final : public MemoryRegion {
 public:
  DeviceLease(std::shared_ptr<DeviceCache> cache,
              std::shared_ptr<const MemoryRegion> region) noexcept
      : cache_(std::move(cache)), region_(std::move(region)) {}
  DeviceLease(const DeviceLease&) = delete;
  DeviceLease& operator=(const DeviceLease&) = delete;
  ~DeviceLease() override;
  std::span<const std::byte> key() const noexcept override { return region_->key(); }
  /// The library's region.
  [[nodiscard]] const MemoryRegion& region() const noexcept { return *region_; }

 private:
  const std::shared_ptr<DeviceCache> cache_;
  std::shared_ptr<const MemoryRegion> region_;
};

}  // namespace tern::btl::net
