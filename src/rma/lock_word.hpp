// SPDX-License-Identifier: Apache-2.0
// The word of a part's lock: taken and freed by this rank, for itself or for a rank of another
// host. A rank leaves a bit at a taken lock and waits; freeing the lock wakes a waiting rank. A
// third rank may take the free lock first: a handover would cost a switch each time.
// Threads: any, of any process. See: rma/control.hpp, rma/locks.cc.
#pragma once

#include "rma/targets.hpp"

namespace tern::rma {

/// A barging reader goes before a waiting writer.
[[nodiscard]] bool try_lock(Control control, int holder, bool exclusive,
                            bool barges = false) noexcept;
/// Keeps further readers out until a writer has had its turn.
void want(Control control) noexcept;
/// Asks to be woken when the lock of `target` may be free.
void enlist(Targets& targets, int target) noexcept;
bool wake_next(Targets& targets, int target) noexcept;  // false: no rank waits
void wake_all(Targets& targets, int target) noexcept;
/// Of an own or local target, for the holder.
void release_lock(Targets& targets, int target, bool exclusive) noexcept;

}  // namespace tern::rma
