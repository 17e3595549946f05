// SPDX-License-Identifier: Apache-2.0
#include "fault/agreement.hpp"

namespace tern::fault {

Agreement::Agreement(uint64_t number, int self, int members, const Proposal& proposal) noexcept
    : number_(number), self_(self), members_(members) {
  outcome_.flag = proposal.flag;
  outcome_.acked = proposal.acked;
}

Progress Agreement::next_member() noexcept {
  if (++member_ == self_) ++member_;
  phase_ = member_ < members_ ? Phase::kRead : Phase::kDone;
  return phase_ == Phase::kDone ? Progress::kDone : Progress::kMoved;
}

Word detail::word_of(const Outcome& outcome, std::vector<int> seen, std::vector<int> acked) {
  std::sort(seen.begin(), seen.end());
  std::sort(acked.begin(), acked.end());
  Word word{outcome.flag, std::move(seen), std::move(acked)};
  word.fail(outcome.absent);
  return word;
}

Shrink::Shrink(uint64_t number, int self, int members, uint32_t acked,
               std::vector<int> failed_before)
    : self_(self),
      members_(members),
      acked_(acked),
      agreement_(number, self, members, {~0U, acked}),
      failed_(std::move(failed_before)) {}

bool Shrink::take(const Word& result) {
  if (result.failed == failed_) return true;
  failed_ = result.failed;
  agreement_ = Agreement(agreement_.number() + 1, self_, members_, {~0U, acked_});
  return false;
}

}  // namespace tern::fault
