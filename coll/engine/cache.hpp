// SPDX-License-Identifier: Apache-2.0
// ScheduleCache: schedules by shape and plan, built at first use and shared by communicators.
// Beyond kMostSteps steps in total, the least recently used idle schedules are evicted; trials
// evict only schedules of trials.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "coll/algorithms/algorithms.hpp"

namespace tern::coll {

struct CachedSchedule {
  explicit CachedSchedule(Schedule made, std::shared_ptr<const Plan> of = {}) noexcept
      : schedule(std::move(made)), plan(std::move(of)) {}
  const Schedule schedule;
  const std::shared_ptr<const Plan> plan;  // part of the key, so no other plan gets its address
  std::atomic<int> running{0};             // nonzero prevents eviction
  uint64_t last_use = 0;
};

class ScheduleCache {
 public:
  static constexpr size_t kMostSteps = size_t{1} << 18;

  CachedSchedule& get(const Algorithm& algorithm, int32_t ranks, int32_t rank, int32_t root,
                      const Levels* levels = nullptr, const Plan* plan = nullptr);
  CachedSchedule& get_between(const Algorithm& algorithm, int32_t ranks, int32_t others,
                              int32_t rank, int32_t root);
  [[nodiscard]] std::vector<const Algorithm*> algorithms() const;
  void set_trial(bool on) noexcept { trial_ = on; }
  [[nodiscard]] size_t steps() const noexcept { return steps_; }
  [[nodiscard]] size_t size() const noexcept { return schedules_.size(); }

 private:
  struct Key {
    const Algorithm* algorithm;
    int32_t ranks, rank, root, others;
    const Levels* levels;
    const Plan* plan;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    size_t operator()(const Key& key) const noexcept;
  };
  static constexpr uint64_t kOfTrials = 0;  // last_use of schedules used only by trials

  template <class Make>
  CachedSchedule& find(const Key& key, Make&& make);
  void make_room();

  std::unordered_map<Key, std::unique_ptr<CachedSchedule>, Hash> schedules_;
  size_t steps_ = 0;
  uint64_t clock_ = kOfTrials;
  bool trial_ = false;
};

}  // namespace tern::coll
