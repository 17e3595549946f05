// SPDX-License-Identifier: Apache-2.0
// ScheduleCache: schedules by shape, built at the first use.
// Why: a schedule depends on (algorithm, ranks, rank, root, levels) alone, so communicators of one
// shape share it: a thousand pairs hold one schedule, and an idle communicator none. Bound: beyond
// kMostSteps steps in all, schedules that are not running leave, the longest unused first. A trial
// evicts schedules of trials alone, and goes beyond the bound rather than evict others.
// Lifetime: Coll. Threads: under the channel's lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "coll/algorithms/algorithms.hpp"

namespace tern::coll {

struct CachedSchedule {
  explicit CachedSchedule(Schedule made) noexcept : schedule(std::move(made)) {}
  const Schedule schedule;
  std::atomic<int> running{0};  // executions; it stays while there is one
  uint64_t last_use = 0;
};

class ScheduleCache {
 public:
  static constexpr size_t kMostSteps = size_t{1} << 18;

  /// Throws std::bad_alloc.
  CachedSchedule& get(const Algorithm& algorithm, int32_t ranks, int32_t rank, int32_t root,
                      const Levels* levels = nullptr);
  /// Between two groups: build_between()'s.
  CachedSchedule& get_between(const Algorithm& algorithm, int32_t ranks, int32_t others,
                              int32_t rank, int32_t root);
  /// Of each schedule.
  [[nodiscard]] std::vector<const Algorithm*> algorithms() const;
  /// From now on schedules are for a trial: the first to leave, until another call uses them.
  void set_trial(bool on) noexcept { trial_ = on; }
  [[nodiscard]] size_t steps() const noexcept { return steps_; }
  [[nodiscard]] size_t size() const noexcept { return schedules_.size(); }

 private:
  struct Key {
    const Algorithm* algorithm;
    int32_t ranks, rank, root, others;
    const Levels* levels;  // null for algorithms that ask for none
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    size_t operator()(const Key& key) const noexcept;
  };
  static constexpr uint64_t kOfTrials = 0;  // last_use of schedules that trials alone have used

  template <class Make>
  CachedSchedule& find(const Key& key, Make&& make);
  void make_room();

  std::unordered_map<Key, std::unique_ptr<CachedSchedule>, Hash> schedules_;
  size_t steps_ = 0;
  uint64_t clock_ = kOfTrials;
  bool trial_ = false;
};

}  // namespace tern::coll
