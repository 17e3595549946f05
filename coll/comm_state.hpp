// SPDX-License-Identifier: Apache-2.0
// CommState: what collectives keep per communicator: its levels, its hints, and, while
// TERN_EXPLAIN is on, how long each choice took. Why: made at the first collective, so that an idle
// communicator holds nothing. Lifetime: the communicator. Threads: under the channel's lock.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "coll/cache.hpp"
#include "coll/flat/slots.hpp"
#include "coll/refusal.hpp"
#include "coll/select.hpp"
#include "core/communicator.hpp"

namespace tern::coll {

/// How often an algorithm served a size (a power of two), and how long it took.
struct Measured {
  int64_t count = 0, nanoseconds = 0;
  double predicted = 0;  // microseconds, in sum
};

class FlatQueue;

struct CommState final : core::CollState {
  explicit CommState(core::Communicator& owner) noexcept;
  ~CommState() override;

  /// No collective works any more.
  [[nodiscard]] bool over() const noexcept { return trouble != nullptr && trouble->over; }

  core::Communicator& communicator;
  const Levels* levels = nullptr;
  bool shares_memory = false;             // all ranks see each other's slabs, as far as is known
  bool shares_large = true;               // large ones, too
  bool single_copy = true;                // and buffers, likewise
  std::unique_ptr<Slab> slabs[2];         // by size; null until they are used
  std::unique_ptr<FlatQueue> flights[2];  // of nonblocking calls, likewise
  std::unique_ptr<Forced> hints;          // null: none
  std::unique_ptr<Trouble> trouble;       // null: none
  CommState *previous_state = nullptr, *next_state = nullptr;  // of the channel
  std::shared_ptr<CachedSchedule> neighborhoods[2];  // of its topology: allgather, alltoall
  // The last answer: programs ask the same again and again.
  Question question{Collective::kBarrier, 0, 0};
  Choice answer{nullptr, Choice::Why::kModel};
  using Size = std::pair<const Algorithm*, int>;
  std::map<Size, Measured> measured;
};

/// The algorithms that the communicator's hints name; null: none.
[[nodiscard]] std::unique_ptr<Forced> hints_of(const core::Communicator& communicator);

}  // namespace tern::coll
