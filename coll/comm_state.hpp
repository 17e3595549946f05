// SPDX-License-Identifier: Apache-2.0
// CommState: collective state of a communicator, created at its first collective.
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
  void find_devices() noexcept {
    if (!devices) memo.forget();
    devices = true;
  }
  [[nodiscard]] core::Ref<core::Object> learnt() override {
    return memo.learnt(communicator.inherited);
  }

  const Levels* levels = nullptr;
  const Levels* islands = nullptr;
  std::shared_ptr<const Plan> plan;  // null: no row with kPlan serves
  bool shares_large = true;
  bool single_copy = true;  // all ranks can read each other's buffers
  bool devices = false;
  bool asked_for_drivers = false;
  std::unique_ptr<Slab> slabs[2];
  std::unique_ptr<FlatQueue> flights[3];
  std::unique_ptr<Forced> hints;
  std::shared_ptr<GpuTeam> team;  // serves collectives in streams
  std::string no_team;
  bool has_duplicate = false;                    // the duplicate owns the team's twin, if any
  std::atomic<const char*> wire_taken{nullptr};  // the wire of the last collective in a stream
  std::vector<std::shared_ptr<GpuTeam>> related_teams;
  struct OwnTeam {
    std::shared_ptr<GpuTeam> team;
    std::unique_ptr<DeviceCalls> calls;
    uint32_t rests = 0, last_rest = 0;  // device calls until the next probe
    uint32_t calls_without = 0;         // device calls without a team
    bool none = false;
  } own;
  std::shared_ptr<CachedSchedule> neighborhoods[2];
  Memo memo;
  using Size = std::pair<const Algorithm*, int>;
  std::map<Size, Measured> measured;

 private:
  Flights& flights_of_channel_;
};

[[nodiscard]] std::unique_ptr<Forced> hints_of(const core::Communicator& communicator);

}  // namespace tern::coll
