// SPDX-License-Identifier: Apache-2.0
// OpenAccesses: the accesses of this rank until a flush, or another end of an epoch.
// Lifetime: Window; the channel is locked when it ends. Threads: any. See: MPI-5.0 section 12.5.4.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "rma/access_log.hpp"
#include "rma/messages.hpp"
#include "rma/targets.hpp"

namespace tern::rma {

class OpenAccesses {
 public:
  explicit OpenAccesses(Targets& targets) noexcept : targets_(targets) {}
  OpenAccesses(const OpenAccesses&) = delete;
  OpenAccesses& operator=(const OpenAccesses&) = delete;

  /// Accesses to the target, or to all (-1), are done there, or here only (`local`). 0, or an error
  /// class with fail() text.
  [[nodiscard]] int finish(int target, bool local) noexcept;
  /// Moves messages now and then: a rank may loop over a call while others wait for an answer.
  void look_around() noexcept {
    constexpr uint32_t kCallsBetween = 127;
    const uint32_t calls = calls_.load(std::memory_order_relaxed) + 1;
    calls_.store(calls, std::memory_order_relaxed);
    if (TERN_UNLIKELY((calls & kCallsBetween) == 0 || messages != nullptr)) poll();
  }

  std::unique_ptr<AccessLog> log;      // TERN_CHECK=rma
  std::unique_ptr<Messages> messages;  // null: no target needs messages

 private:
  [[nodiscard]] TERN_COLD int finish_logged(int target) noexcept;
  TERN_COLD void poll() noexcept;

  Targets& targets_;
  std::atomic<uint32_t> calls_{0};  // of look_around()
};

}  // namespace tern::rma
