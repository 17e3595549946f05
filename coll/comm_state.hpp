// SPDX-License-Identifier: Apache-2.0
// CommState: what collectives keep per communicator: its levels, its hints, and, while
// TERN_EXPLAIN is on, how long each choice took. Why: made at the first collective, so that an idle
// communicator holds nothing. Lifetime: the communicator. Threads: under the channel's lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "coll/engine/cache.hpp"
#include "coll/engine/measured.hpp"
#include "coll/engine/refusal.hpp"
#include "coll/flat/slots.hpp"
#include "coll/select/memo.hpp"
#include "core/communicator.hpp"

namespace tern::coll {

class FlatQueue;
class Flights;
class GpuTeam;
class DeviceCalls;

struct CommState final : CommRefusals {
  CommState(core::Communicator& owner, Flights& of_channel) noexcept;
  ~CommState() override;
  /// Ends measurement: rows serve by what they do with devices.
  void find_devices() noexcept {
    if (!devices) memo.forget();
    devices = true;
  }
  [[nodiscard]] core::Ref<core::Object> learnt() override {
    return memo.learnt(communicator.inherited);
  }

  const Levels* levels = nullptr;
  const Levels* islands = nullptr;                      // of ranks whose devices reach each other
  bool shares_large = true;                             // large ones, too
  bool single_copy = true;                              // and buffers, likewise
  bool devices = false;                                 // a rank has a driver of devices
  bool asked_for_drivers = false;                       // for that alone, without slots
  std::unique_ptr<Slab> slabs[2];                       // by size; null until they are used
  std::unique_ptr<FlatQueue> flights[3];                // of nonblocking calls, likewise
  std::unique_ptr<Forced> hints;                        // null: none
  std::shared_ptr<GpuTeam> team;                        // of its ranks' streams; null: none
  std::string no_team;                                  // why not
  bool has_duplicate = false;                           // which has the team's twin, if any
  std::atomic<const char*> wire_taken{nullptr};         // by the last call of its streams
  std::vector<std::shared_ptr<GpuTeam>> related_teams;  // of parts of its ranks, whose streams wait
  /// Of ordinary calls on devices.
  struct OwnTeam {
    std::shared_ptr<GpuTeam> team;       // null: not yet, or none
    std::unique_ptr<DeviceCalls> calls;  // in its streams
    uint32_t rests = 0, last_rest = 0;   // calls before ranks ask for it again
    uint32_t calls_without = 0;          // of device memory
    bool none = false;                   // ranks came to that together
  } own;
  std::shared_ptr<CachedSchedule> neighborhoods[2];  // of its topology: allgather, alltoall
  Memo memo;
  using Size = std::pair<const Algorithm*, int>;
  std::map<Size, Measured> measured;

 private:
  Flights& flights_of_channel_;
};

/// The algorithms that the communicator's hints name; null: none.
[[nodiscard]] std::unique_ptr<Forced> hints_of(const core::Communicator& communicator);

}  // namespace tern::coll
