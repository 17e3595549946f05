// SPDX-License-Identifier: Apache-2.0
// Locks: the epochs of MPI_Win_lock and MPI_Win_lock_all. Threads: any; each call locks the
// channel.
#pragma once

#include <cstdint>
#include <vector>

#include "rma/epoch.hpp"
#include "rma/open_accesses.hpp"
#include "rma/targets.hpp"

namespace tern::rma {

class Locks {
 public:
  Locks(Targets& targets, Epoch& epoch, OpenAccesses& accesses)
      : targets_(targets),
        epoch_(epoch),
        accesses_(accesses),
        unchecked_(static_cast<size_t>(targets.size())) {}

  // All calls return 0, or an error class with fail() text.
  [[nodiscard]] int lock(int type, int target, int assertion) noexcept;
  [[nodiscard]] int unlock(int target) noexcept;
  [[nodiscard]] int lock_all(int assertion) noexcept;
  [[nodiscard]] int unlock_all() noexcept;

  bool no_locks = false;

 private:
  [[nodiscard]] int take(int target, bool exclusive) noexcept;
  [[nodiscard]] int take_late(int target, bool exclusive) noexcept;
  [[nodiscard]] int take_after_others(int target, bool exclusive) noexcept;
  [[nodiscard]] int take_all();
  [[nodiscard]] int await_word(int target, bool exclusive) noexcept;
  [[nodiscard]] int await_own(bool exclusive) noexcept;
  [[nodiscard]] bool try_for_a_moment(Control control, bool exclusive) noexcept;
  void drop(int target, bool exclusive) noexcept;
  [[nodiscard]] int dead_holder(int target) noexcept;
  void describe(int target, bool exclusive, WaitReport* report);
  [[nodiscard]] int check_assertion(int assertion) noexcept;

  Targets& targets_;
  Epoch& epoch_;
  OpenAccesses& accesses_;
  bool all_unchecked_ = false;
  std::vector<uint8_t> unchecked_;  // by target: locked with MPI_MODE_NOCHECK
};

}  // namespace tern::rma
