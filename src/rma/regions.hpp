// SPDX-License-Identifier: Apache-2.0
// Regions: memory attached to a dynamic window, by this rank and (for copies) others of its host.
// Threads: any.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

namespace tern::rma {

class Targets;

class Regions {
 public:
  explicit Regions(Targets& targets) noexcept : targets_(targets) {}

  /// attach() and detach() return 0, or an error class with fail() text (MPI_ERR_RMA_FLAVOR for
  /// other windows), and throw std::bad_alloc.
  [[nodiscard]] int attach(void* address, int64_t length);
  [[nodiscard]] int detach(const void* address);
  [[nodiscard]] bool attached(uint64_t address, uint64_t length) const noexcept;
  /// Whether another rank of this host has attached the bytes. Throws std::bad_alloc.
  [[nodiscard]] int look_up(int target, uint64_t address, uint64_t length, bool* found);

 private:
  struct Region {
    uint64_t first, bytes;
  };
  using Table = std::vector<Region>;
  struct CachedRegions {
    uint32_t version = 0;
    Table regions{};
  };
  void show(Table next) noexcept;
  [[nodiscard]] static bool covers(const Table& regions, uint64_t address,
                                   uint64_t length) noexcept;
  [[nodiscard]] int read(int target, CachedRegions* known);

  Targets& targets_;
  mutable std::mutex mutex_;
  Table own_;
  std::vector<CachedRegions> known_;
};

}  // namespace tern::rma
