// SPDX-License-Identifier: Apache-2.0
// TwoLevel: a piece's epochs. A leader's kUp slot holds the domain's sum and has no other reader.
#include "coll/flat/two_level.hpp"

namespace tern::coll {

using enum Collective;

TwoLevel::TwoLevel(const Operation& operation, Slots& slots) noexcept
    : Parts(operation, slots),
      phases_(operation.collective == kBarrier || operation.collective == kAllreduce ? 3 : 2),
      domains_(slots.domains()),
      own_(domains_.of(rank_)),
      of_root_(rooted(operation.collective) ? domains_.of(root_) : -1),
      leads_(leader(own_) == rank_) {
  epochs_ *= phases_;
}

bool TwoLevel::is_scan() const noexcept {
  return operation_.collective == kScan || operation_.collective == kExscan;
}

int TwoLevel::leader(int domain) const noexcept {
  if (domain == of_root_) return root_;
  return is_scan() ? domains_.first(domain + 1) - 1 : domains_.first(domain);
}

int TwoLevel::end_of_up() const noexcept {
  if (is_scan()) return rank_;
  return leads_ ? domains_.first(own_ + 1) : domains_.first(own_);
}

int TwoLevel::end_of_between() const noexcept {
  if (is_scan()) return own_;
  return (is_for_all() ? leads_ : rank_ == root_) ? domains_.count() : 0;
}

Parts::Sources TwoLevel::sources(int64_t epoch) const noexcept {
  const Phase now = phase(epoch);
  if (operation_.collective == kBcast) {
    if (rank_ == root_ || (own_ == of_root_ || leads_) != (now == kUp)) return {0, 0};
    const int from = now == kUp ? root_ : leader(own_);
    return {from, from + 1};
  }
  if (now == kUp) return {domains_.first(own_), end_of_up()};
  if (now == kBetween) return {0, end_of_between(), true};
  return leads_ ? Sources{0, 0} : Sources{leader(own_), leader(own_) + 1};
}

bool TwoLevel::writes(int64_t epoch) const noexcept {
  const bool between = leads_ && own_ != of_root_;
  if (phase(epoch) != kUp) return between;
  return operation_.collective == kBcast ? rank_ == root_ : true;
}

// In a scan all ranks of later domains read a leader's slot.
void TwoLevel::reach() {
  if (is_scan() && leads_) return slots_.reach(0, ranks_);
  const int own_leader = leader(own_);
  slots_.reach(own_leader, own_leader + 1);
  if (leads_ || is_scan()) slots_.reach(domains_.first(own_), domains_.first(own_ + 1));
  for (int domain = 0; domain < domains_.count() && (leads_ || is_scan()); ++domain)
    slots_.reach(leader(domain), leader(domain) + 1);
}

void TwoLevel::hand_on(size_t bytes) noexcept {
  slots_.post(bytes | (code_ == MPI_SUCCESS ? 0 : Slots::kPoisoned));
}

void TwoLevel::write(int64_t epoch) {
  const ElementRange range = piece(epoch / phases_);
  const Phase now = phase(epoch);
  if (!writes(epoch)) return;
  if (operation_.collective == kBcast || now == kDown) return write_for_domain(range);
  if (now == kUp && !leads_) return post(range);
  std::byte* const slot = slots_.claim();
  if (now == kUp) return;
  copy_bytes(slot, slots_.behind(), bytes_of(range.count));
  hand_on(bytes_of(range.count));
}

void TwoLevel::write_for_domain(const ElementRange& range) {
  out_.read(0, bytes_of(range.first), slots_.claim(), bytes_of(range.count));
  hand_on(bytes_of(range.count));
}

void TwoLevel::read(int64_t epoch) {
  const ElementRange range = piece(epoch / phases_);
  const Phase now = phase(epoch);
  if (operation_.collective == kBcast || now == kDown) {
    const Sources from = sources(epoch);
    if (from.first < from.end) take(from.first, 0, range, bytes_of(range.count), 0);
    if (now == kDown) slots_.awaited_all(kDown);
    return;
  }
  if (now == kBetween) return read_between(range);
  return is_scan() ? scan_up(range) : read_up(range);
}

void TwoLevel::read_up(const ElementRange& range) {
  if (!leads_) return;
  const int first = domains_.first(own_), end = end_of_up();
  for (int rank = first; rank < end; ++rank)
    if (rank != rank_) await(rank, bytes_of(range.count));
  if (range.count > 0 && code_ == MPI_SUCCESS)
    reduce_posted(first, end - 1, {0, range.count}, slots_.mine_data(),
                  in_.at(0, bytes_of(range.first)));
}

// scan_up() computes the leader's sum first, because in place the output is an operand.
void TwoLevel::scan_up(const ElementRange& range) {
  const int first = domains_.first(own_);
  for (int rank = first; rank < rank_; ++rank) await(rank, bytes_of(range.count));
  if (range.count == 0 || code_ != MPI_SUCCESS) return;
  std::byte* const out = out_.at(0, bytes_of(range.first));
  if (leads_)
    reduce_posted(first, rank_, {0, range.count}, slots_.mine_data(),
                  in_.at(0, bytes_of(range.first)));
  if (operation_.collective == kExscan) {
    if (first < rank_) reduce_posted(first, rank_ - 1, {0, range.count}, out);
  } else if (leads_) {
    copy_bytes(out, slots_.mine_data(), bytes_of(range.count));
  } else {
    reduce_posted(first, rank_, {0, range.count}, out);
  }
}

void TwoLevel::read_between(const ElementRange& range) {
  const int end = end_of_between();
  for (int domain = 0; domain < end; ++domain)
    if (leader(domain) != rank_) await(leader(domain), bytes_of(range.count));
  if (is_for_all() && leads_) slots_.awaited_all(kBetween);
  if (end == 0 || range.count == 0 || code_ != MPI_SUCCESS) return;
  const bool onto = operation_.collective == kScan ||
                    (operation_.collective == kExscan && rank_ > domains_.first(own_));
  reduce_sums(end, onto, range, out_.at(0, bytes_of(range.first)));
}

// This rank's sum is in the previous epoch's slot.
const std::byte* TwoLevel::sum_of(int domain) {
  const int rank = leader(domain);
  return rank == rank_ ? slots_.behind() : slots_.await(rank).data();
}

void TwoLevel::reduce_sums(int end, bool onto, const ElementRange& range, std::byte* to) {
  if (!onto) copy_bytes(to, sum_of(--end), bytes_of(range.count));
  while (end > 0) apply(sum_of(--end), to, range.count);
}

int flat_two_level(const Operation& operation, Slots& slots);
int flat_two_level(const Operation& operation, Slots& slots) {
  TwoLevel parts(operation, slots);
  parts.run();
  return parts.code();
}

}  // namespace tern::coll
