// SPDX-License-Identifier: Apache-2.0
// HangWatch: answers the launcher's request for waits, or reports unasked (TERN_HANG under PMIx, or
// a singleton). Threads: under the calling channel's lock.
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
  std::mutex mutex_;
  bool watched_;
  uint32_t answered_;
  int64_t spoken_ = 0;
};

}  // namespace tern::api
