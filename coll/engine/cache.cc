// SPDX-License-Identifier: Apache-2.0
// ScheduleCache: look-up and eviction.
#include "coll/engine/cache.hpp"

namespace tern::coll {

size_t ScheduleCache::Hash::operator()(const Key& key) const noexcept {
  const auto mix = [](uint64_t seed, uint64_t value) {
    return (seed ^ value) * 0x9E3779B97F4A7C15ULL;
  };
  uint64_t hash = mix(0, reinterpret_cast<uintptr_t>(key.algorithm));
  hash = mix(hash, (static_cast<uint64_t>(static_cast<uint32_t>(key.ranks)) << 32) |
                       static_cast<uint32_t>(key.rank));
  hash = mix(hash, reinterpret_cast<uintptr_t>(key.levels) ^ reinterpret_cast<uintptr_t>(key.plan));
  return mix(hash, (static_cast<uint64_t>(static_cast<uint32_t>(key.others)) << 32) |
                       static_cast<uint32_t>(key.root)) >>
         7;
}

CachedSchedule& ScheduleCache::get(const Algorithm& algorithm, int32_t ranks, int32_t rank,
                                   int32_t root, const Levels* levels, const Plan* plan) {
  if ((algorithm.limits & kLevels) == 0) levels = nullptr;
  if ((algorithm.limits & kPlan) == 0) plan = nullptr;
  return find({&algorithm, ranks, rank, root, 0, levels, plan},
              [&] { return build(algorithm, ranks, rank, root, levels, plan); });
}

CachedSchedule& ScheduleCache::get_between(const Algorithm& algorithm, int32_t ranks,
                                           int32_t others, int32_t rank, int32_t root) {
  return find({&algorithm, ranks, rank, root, others, nullptr, nullptr},
              [&] { return build_between(algorithm, ranks, others, rank, root); });
}

template <class Make>
CachedSchedule& ScheduleCache::find(const Key& key, Make&& make) {
  const auto found = schedules_.find(key);
  if (found != schedules_.end()) {
    if (!trial_) found->second->last_use = ++clock_;
    return *found->second;
  }
  auto made = std::make_unique<CachedSchedule>(
      make(), key.plan == nullptr ? nullptr : key.plan->shared_from_this());
  made->last_use = trial_ ? kOfTrials : ++clock_;
  steps_ += made->schedule.steps.size();
  make_room();
  return *(schedules_[key] = std::move(made));
}

std::vector<const Algorithm*> ScheduleCache::algorithms() const {
  std::vector<const Algorithm*> found;
  for (const auto& [key, cached] : schedules_) found.push_back(key.algorithm);
  return found;
}

void ScheduleCache::make_room() {
  while (steps_ > kMostSteps) {
    auto oldest = schedules_.end();
    for (auto it = schedules_.begin(); it != schedules_.end(); ++it)
      if (it->second->running == 0 && (!trial_ || it->second->last_use == kOfTrials) &&
          (oldest == schedules_.end() || it->second->last_use < oldest->second->last_use))
        oldest = it;
    if (oldest == schedules_.end()) return;
    steps_ -= oldest->second->schedule.steps.size();
    schedules_.erase(oldest);
  }
}

}  // namespace tern::coll
