// SPDX-License-Identifier: Apache-2.0
// The watch over this rank's waiting: answers the launcher's question "what do you wait for?", and
// where the launcher does not watch (TERN_HANG under PMIx, or alone) speaks for itself.
// Lifetime: api::Runtime. Threads: under the lock of the channel that asks.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "core/process.hpp"
#include "core/progress.hpp"

namespace tern::api {

class HangWatch final : public core::Watch {
 public:
  explicit HangWatch(core::Process& process) noexcept;
  ~HangWatch() override;
  void asleep(core::Progress& progress) noexcept override;
  void awake() noexcept override;

 private:
  [[nodiscard]] std::vector<WaitReport> reports(const core::Progress& progress) const;
  void answer(const core::Progress& progress, uint32_t question) noexcept;
  void speak_up(const core::Progress& progress, int64_t since_ns) noexcept;

  core::Process& process_;
  std::mutex mutex_;  // of what follows
  bool watched_;
  uint32_t answered_;
  int64_t spoken_ = 0;  // of the wait that was reported
};

}  // namespace tern::api
