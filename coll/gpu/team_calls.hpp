// SPDX-License-Identifier: Apache-2.0
// TeamCalls: the calls of a team, put into streams in one order.
// Why: calls of a team follow each other, in any streams, and the host must know how many the
// device has passed, to free the data of passed calls, and to end. Captured calls do not count.
// Lifetime: of the team. Threads: the caller holds the team's mutex; count() and passed(), any.
// See: coll/gpu/in_stream.hpp.
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

  /// Whether the stream is recorded for a graph.
  [[nodiscard]] bool is_captured(CUstream stream) const noexcept;
  /// Work of another stream than before comes behind the work in that stream. The context is
  /// current; not while the stream is captured.
  [[nodiscard]] CUresult begin(CUstream stream) noexcept;
  /// The call ends here in the stream: after it, the device has passed the call.
  [[nodiscard]] CUresult end(CUstream stream) noexcept;
  /// Data of the last call: kept until the stream has passed it, or for good where a graph reads
  /// the data.
  void keep(std::vector<std::shared_ptr<const void>> what, bool captured);
  /// The set of the next pass; alike on all ranks, which run the same passes.
  [[nodiscard]] int next_set() noexcept { return set_ = (set_ + 1) % ScratchLayout::kSets; }
  /// The number of the next exchange (exchange_run.hpp), alike on all ranks.
  [[nodiscard]] uint32_t next_exchange() noexcept { return exchanges_++; }

  /// Calls put into streams.
  [[nodiscard]] uint32_t count() const noexcept { return calls_.load(std::memory_order_acquire); }
  /// Calls that streams have passed.
  [[nodiscard]] uint32_t passed() const noexcept {
    return reports_.made() ? reports_.passed() : count();
  }
  /// All calls have passed, or the context has ended.
  [[nodiscard]] bool over() const noexcept {
    return device_.gone() || device_.stale() || passed() == count();
  }
  /// In the device's context.
  void give_back() noexcept;

  Lanes lanes;

 private:
  cuda::Device& device_;
  const DeviceReports& reports_;
  CUevent end_ = nullptr;  // of the last call
  CUstream last_ = nullptr;
  std::atomic<uint32_t> calls_{0};
  std::vector<std::pair<uint32_t, std::shared_ptr<const void>>> kept_;  // by number of the call
  std::vector<std::shared_ptr<const void>> kept_for_graphs_;
  int set_ = 0;
  uint32_t exchanges_ = 0;
};

}  // namespace tern::coll
