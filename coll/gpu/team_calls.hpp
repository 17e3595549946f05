// SPDX-License-Identifier: Apache-2.0
// TeamCalls: the order of a team's calls in streams, and the count of passed calls.
// Why: the host frees data only of passed calls. Captured calls do not count.
// Lifetime: the team's. Threads: the caller holds the team's mutex; count() and passed(): any.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "coll/gpu/device_reports.hpp"
#include "coll/gpu/lanes.hpp"
#include "cuda/device.hpp"

namespace tern::coll {

class TeamCalls {
 public:
  TeamCalls(cuda::Device& device, const DeviceReports& reports) noexcept
      : lanes(device), device_(device), reports_(reports) {}
  TeamCalls(const TeamCalls&) = delete;
  TeamCalls& operator=(const TeamCalls&) = delete;

  [[nodiscard]] bool is_captured(CUstream stream) const noexcept;
  /// begin() requires the device's context and an uncaptured stream.
  [[nodiscard]] CUresult begin(CUstream stream) noexcept;
  [[nodiscard]] CUresult end(CUstream stream) noexcept;
  /// keep() holds data until the stream has passed the last call, or for good for a graph.
  void keep(std::vector<std::shared_ptr<const void>> what, bool captured);
  [[nodiscard]] int next_set() noexcept { return set_ = (set_ + 1) % ScratchLayout::kSets; }
  [[nodiscard]] uint32_t next_exchange() noexcept { return exchanges_++; }

  [[nodiscard]] uint32_t count() const noexcept { return calls_.load(std::memory_order_acquire); }
  [[nodiscard]] uint32_t passed() const noexcept {
    return reports_.made() ? reports_.passed() : count();
  }
  [[nodiscard]] bool over() const noexcept {
    return device_.gone() || device_.stale() || passed() == count();
  }
  void give_back() noexcept;

  Lanes lanes;

 private:
  cuda::Device& device_;
  const DeviceReports& reports_;
  CUevent end_ = nullptr;
  CUstream last_ = nullptr;
  std::atomic<uint32_t> calls_{0};
  std::vector<std::pair<uint32_t, std::shared_ptr<const void>>> kept_;
  std::vector<std::shared_ptr<const void>> kept_for_graphs_;
  int set_ = 0;
  uint32_t exchanges_ = 0;
};

}  // namespace tern::coll
