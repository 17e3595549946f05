// SPDX-License-Identifier: Apache-2.0
// Executions: binds, launches, advances and pools a channel's schedules.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "coll/engine/cache.hpp"
#include "coll/engine/engine_host.hpp"
#include "coll/engine/refusal.hpp"
#include "core/process.hpp"
#include "pml/object_pool.hpp"
#include "pml/pml.hpp"

namespace tern::coll {

class Executions final : public ExecutionOwner {
 public:
  Executions(core::Channel& channel, Refusals& refusals) noexcept;
  Executions(const Executions&) = delete;
  Executions& operator=(const Executions&) = delete;
  ~Executions();

  [[nodiscard]] const ScheduleCache& cache() const noexcept { return cache_; }
  void set_trial(bool on) noexcept { cache_.set_trial(on); }
  void admit_threads() noexcept { pool_.set_threaded(true); }

  [[nodiscard]] Execution* bound(const Operation& operation, const Algorithm& algorithm,
                                 const Levels* levels, const Plan* plan,
                                 std::shared_ptr<CachedSchedule> own);
  void go(Execution& execution) noexcept override;
  void release(Execution& execution) noexcept override;
  [[nodiscard]] bool idle() const noexcept { return running_.empty(); }
  void advance(int* events) noexcept;
  TERN_COLD void refuse(core::Communicator& communicator, const Failure& why,
                        const Failure& error) noexcept;

  /// Errors of gather() mention `name`. Throws Error.
  void gather(core::Communicator& communicator, const void* mine, void* all, size_t bytes,
              const char* name);
  [[nodiscard]] std::vector<uint32_t> exchange(core::Communicator& communicator, uint32_t mine,
                                               const char* name);
  /// The caller of begin_exchange() waits for the execution and releases it.
  [[nodiscard]] Execution* begin_exchange(core::Communicator& communicator, uint32_t* mine,
                                          uint32_t* all, const char* name, CallNumber number,
                                          uint32_t sequence);

 private:
  [[nodiscard]] Execution* acquire();
  [[nodiscard]] Execution* bound_exchange(core::Communicator& communicator, const void* mine,
                                          void* all, size_t bytes, const char* name);

  ScheduleCache cache_;
  pml::ObjectPool<Execution> pool_;
  std::vector<Execution*> running_;
};

}  // namespace tern::coll
