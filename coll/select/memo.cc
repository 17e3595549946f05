// SPDX-License-Identifier: Apache-2.0
#include "coll/select/memo.hpp"

#include <algorithm>
#include <bit>

namespace tern::coll {

uint32_t power_of(size_t bytes) noexcept {
  return bytes == 0 ? 0 : 1 + static_cast<uint32_t>(std::bit_width(bytes - 1));
}

Rule rule_of(const Tuning::TunedKey& entry) noexcept {
  const Question& question = entry.question;
  const uint32_t power = power_of(question.bytes);
  const bool one_host = question.levels == nullptr;
  Rule rule{question.collective,
            question.ranks,
            question.ranks,
            0,
            0,
            one_host,
            !one_host,
            false,
            false,
            Wire::kAuto,
            &entry.contest.serving(),
            0};
  if (power > 0) rule.most_bytes = int64_t{1} << (power - 1);
  if (power > 0) rule.least_bytes = rule.most_bytes / 2 + 1;
  return rule;
}

bool has_line(const Tuning::TunedKey& entry) noexcept {
  const Question& question = entry.question;
  return entry.contest.is_decided() && !needs_plan(entry.contest.serving()) &&
         question.commutative && question.equal_blocks &&
         (question.levels != nullptr || question.shared);
}

core::Ref<core::Object> Memo::learnt(const core::Ref<core::Object>& inherited) {
  if (tuning == nullptr) return inherited;
  if (tuning->learnt) return tuning->learnt;
  auto made = core::Ref<Learnt>::adopt(new Learnt);
  for (const bool any_order : {true, false})
    for (const auto& entry : tuning->entries)
      if (has_line(*entry) && entry->question.any_order == any_order)
        made->lines.add(rule_of(*entry));
  if (const MeasuredLines* const older = lines_of(inherited))
    for (const Rules& rules : older->by)
      for (const Rule& rule : rules.rules) made->lines.add(rule);
  tuning->learnt = core::Ref<core::Object>(made.get());
  return tuning->learnt;
}

}  // namespace tern::coll
