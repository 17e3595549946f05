// SPDX-License-Identifier: Apache-2.0
// OpenAccesses: this rank's accesses until a flush or an epoch's end (MPI-5.0 section 12.5.4).
// Threads: any.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "rma/access_log.hpp"
#include "rma/messages.hpp"
#include "rma/network_path.hpp"
#include "rma/targets.hpp"

namespace tern::rma {

class OpenAccesses {
 public:
  explicit OpenAccesses(Targets& targets) noexcept : targets_(targets) {}
  OpenAccesses(const OpenAccesses&) = delete;
  OpenAccesses& operator=(const OpenAccesses&) = delete;

  /// Waits for accesses to the target, or all (-1); only at the origin if `local`. Returns 0, or an
  /// error class with fail() text.
  [[nodiscard]] int finish(int target, bool local) noexcept {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    return finish_before_fence(target, local);
  }
  /// finish_before_fence() is finish() for callers whose next atomic operation is a full fence.
  [[nodiscard]] int finish_before_fence(int target, bool local) noexcept {
    if (TERN_UNLIKELY(log != nullptr || messages != nullptr)) return finish_far(target, local);
    look_around();
    return MPI_SUCCESS;
  }
  /// Ends accesses before a notice, which follows records on its own.
  [[nodiscard]] int finish_before_notice() noexcept;
  /// If end_with_a_fence() returns false, the caller must call finish().
  [[nodiscard]] bool end_with_a_fence() noexcept {
    return messages == nullptr && log == nullptr && is_early();
  }
  /// Polls now and then, because a rank may loop over a call while others wait.
  void look_around() noexcept {
    if (TERN_UNLIKELY(messages != nullptr || !is_early())) poll();
  }

  std::unique_ptr<AccessLog> log;
  std::unique_ptr<Messages> messages;
  std::unique_ptr<NetworkPath> network;  // only beside messages

 private:
  [[nodiscard]] int finish_remote(int target, bool local) noexcept;
  [[nodiscard]] int finish_far(int target, bool local) noexcept;
  [[nodiscard]] TERN_COLD int finish_logged(int target) noexcept;
  TERN_COLD void poll() noexcept;
  /// Returns false when a poll is due.
  [[nodiscard]] bool is_early() noexcept {
    constexpr uint32_t kCallsBetween = 128;
    const uint32_t calls = calls_.load(std::memory_order_relaxed) + 1;
    calls_.store(calls, std::memory_order_relaxed);
    return calls < kCallsBetween;
  }

  Targets& targets_;
  std::atomic<uint32_t> calls_{0};
};

}  // namespace tern::rma
