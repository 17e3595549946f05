// SPDX-License-Identifier: Apache-2.0
// Contest: rounds, budget, decisions.
#include "coll/select/contest.hpp"

#include <algorithm>
#include <cmath>

namespace tern::coll {
namespace {

constexpr double kBudget = 0.02;
/// kClose: slower rivals get no match.
constexpr float kClose = 1.1F, kCloseInLearning = 1.5F;
/// A single disturbed pair must not decide, so a probe is repeated.
constexpr int kProbes = 2;
/// kUnknown is the assumed time of an unmeasured algorithm, relative to the serving one.
constexpr double kUnknown = 3;
/// kLook: ns of a clock reading before the first agreement.
constexpr double kLook = 50;
/// kModelErrs: predicted over true time of a small call.
constexpr double kModelErrs = 3;
/// To win a match a rival must lead in kWins pairs, with a median ratio below kBy.
constexpr int kWins = 7;
constexpr float kBy = 1 / 1.08F;
constexpr double kDrift = 1.5;
constexpr int kWatchPairs = 4, kWatchVotes = 3;

float ratio_of(std::span<const uint32_t> worst, size_t pair) noexcept {
  return static_cast<float>(std::max(worst[2 * pair + 1], 1U)) /
         static_cast<float>(std::max(worst[2 * pair], 1U));
}

double time_of_call(std::span<const uint32_t> worst) noexcept {
  std::array<uint32_t, Contest::kPairs> own{};
  const size_t pairs = worst.size() / 2;
  for (size_t pair = 0; pair < pairs; ++pair) own[pair] = worst[2 * pair];
  std::sort(own.begin(), own.begin() + static_cast<ptrdiff_t>(pairs));
  return static_cast<double>(own[pairs / 2]) / (Contest::kBlock - Contest::kWarmUp);
}

}  // namespace

Contest::Contest(std::span<const Algorithm* const> rows, double microseconds, double agreement,
                 bool learns, bool known)
    : Countdown{0},
      agreement_(kModelErrs * agreement / microseconds),
      look_(kModelErrs * kLook / 1000 / microseconds),
      learns_(learns),
      decided_(known) {
  for (const Algorithm* row : rows) rows_.push_back({row, 1, false, false});
  if (has_rivals())
    begin(known ? Round::kWatch : Round::kProbe);
  else
    rest();
}

double Contest::price(size_t row) const noexcept {
  const Rival& rival = rows_[row];
  const double ratio = rival.measured ? static_cast<double>(rival.ratio) : kUnknown;
  return kBlock * (std::max(ratio - 1, 0.0) + 2 * look_);
}

void Contest::begin(Round round) noexcept {
  round_ = round;
  const int pairs = round == Round::kProbe   ? static_cast<int>(rows_.size()) - 1
                    : round == Round::kMatch ? kPairs
                                             : kWatchPairs;
  blocks_ = static_cast<uint8_t>(2 * pairs);
  block_ = call_ = 0;
  times_.fill(0);
  await_pair();
}

// A pair begins once the budget covers the pair, and the last pair also the agreement.
void Contest::await_pair() noexcept {
  double needed = spent_ + price(round_ == Round::kProbe ? 1 + block_ / 2U : rival_);
  if (block_ + 2 == blocks_) needed += agreement_;
  const double at = learns_ ? 0 : needed / kBudget;
  // The shift avoids resonance with a loop of the program.
  const uint32_t shift = (block_ / 2U * 3 + rounds_) % kBlock;
  const double wait = std::max(at - static_cast<double>(calls_),
                               round_ == Round::kWatch ? static_cast<double>(distance_) : 1.0) +
                      shift;
  constexpr double kMost = 1 << 30;
  left = waited_ = static_cast<uint32_t>(std::min(std::ceil(wait), kMost));
}

bool Contest::take(int64_t nanoseconds) noexcept {
  calls_ += waited_;
  if (blocks_ == 0) {
    rest();
    return false;
  }
  if (call_ >= kWarmUp) {
    uint32_t& sum = times_[block_];
    constexpr int64_t kMost = UINT32_MAX;
    sum = static_cast<uint32_t>(std::min(sum + nanoseconds, kMost));
  }
  left = waited_ = 1;
  if (++call_ < kBlock) return false;
  call_ = 0;
  if (const size_t row = block_row(); row != 0) spent_ += price(row);
  if (++block_ == blocks_) return true;
  if (block_ % 2 == 0) await_pair();
  return false;
}

void Contest::agree(std::span<const uint32_t> worst, uint32_t agreement, uint32_t look) noexcept {
  ++rounds_;
  const double took = std::max(time_of_call(worst), 1.0), before = look_;
  if (agreement != 0) agreement_ = static_cast<double>(agreement) / took;
  look_ = static_cast<double>(look) / took;
  spent_ += agreement_ + blocks_ * kBlock * (look_ - before);
  if (round_ == Round::kProbe) return judge_probe(worst);
  if (round_ == Round::kMatch) return judge_match(worst);
  judge_watch(worst);
}

void Contest::judge_probe(std::span<const uint32_t> worst) noexcept {
  nanoseconds_ = time_of_call(worst);
  for (size_t row = 1; row < rows_.size(); ++row) {
    const float ratio = ratio_of(worst, row - 1), before = rows_[row].ratio;
    measure(row, probes_ == 0 ? ratio : std::min(ratio, before), 1);
    rows_[row].to_be_matched = rows_[row].ratio < (learns_ ? kCloseInLearning : kClose);
  }
  std::sort(rows_.begin() + 1, rows_.end(),
            [](const Rival& a, const Rival& b) { return a.ratio < b.ratio; });
  ++probes_;
  const bool close = rows_[1].to_be_matched;  // a disturbed pair may have decided
  if (!close && probes_ < kProbes) return begin(Round::kProbe);
  go_on();
}

void Contest::measure(size_t row, float ratio, int pairs) noexcept {
  const double taken = price(row);
  rows_[row].ratio = ratio;
  rows_[row].measured = true;
  spent_ += pairs * (price(row) - taken);
}

void Contest::go_on() noexcept {
  for (rival_ = 1; rival_ < rows_.size(); ++rival_)
    if (rows_[rival_].to_be_matched) return begin(Round::kMatch);
  decided_ = true;
  rival_ = 1;
  probes_ = 0;
  has_rivals() ? begin(Round::kWatch) : rest();
}

// A contest at rest waits until the counter wraps.
void Contest::rest() noexcept {
  blocks_ = 0;
  left = waited_ = UINT32_MAX;
}

void Contest::judge_match(std::span<const uint32_t> worst) noexcept {
  std::array<float, kPairs> ratios{};
  for (size_t pair = 0; pair < kPairs; ++pair) ratios[pair] = ratio_of(worst, pair);
  std::sort(ratios.begin(), ratios.end());
  rows_[rival_].to_be_matched = false;
  const float middle = (ratios[kPairs / 2 - 1] + ratios[kPairs / 2]) / 2;
  measure(rival_, middle, kPairs);
  nanoseconds_ = time_of_call(worst);
  if (ratios[kWins - 1] < 1 && middle < kBy) replace(middle);
  go_on();
}

void Contest::replace(float ratio) noexcept {
  for (Rival& one : rows_) one.ratio /= ratio;
  nanoseconds_ *= static_cast<double>(ratio);
  spent_ /= static_cast<double>(ratio);
  agreement_ /= static_cast<double>(ratio);
  look_ /= static_cast<double>(ratio);
  rows_[rival_].ratio = 1;
  rows_[0].measured = true;
  std::swap(rows_[0], rows_[rival_]);
  decided_ = true;
  for (size_t row = 1; row < rows_.size(); ++row)
    rows_[row].to_be_matched = rows_[row].to_be_matched && rows_[row].ratio < kClose;
}

// The second-best row may now be best, or the machine has changed.
void Contest::judge_watch(std::span<const uint32_t> worst) noexcept {
  int slower = 0, lost = 0;
  for (size_t pair = 0; pair < kWatchPairs; ++pair) {
    const double took = static_cast<double>(worst[2 * pair]) / (kBlock - kWarmUp);
    slower += nanoseconds_ > 0 && took > kDrift * nanoseconds_ ? 1 : 0;
    lost += ratio_of(worst, pair) < kBy ? 1 : 0;
  }
  if (nanoseconds_ == 0) nanoseconds_ = time_of_call(worst);
  std::array<float, kWatchPairs> ratios{};
  for (size_t pair = 0; pair < kWatchPairs; ++pair) ratios[pair] = ratio_of(worst, pair);
  std::sort(ratios.begin(), ratios.end());
  measure(rival_, (ratios[kWatchPairs / 2 - 1] + ratios[kWatchPairs / 2]) / 2, kWatchPairs);
  const bool drifted = slower >= kWatchVotes;
  if (lost < kWatchVotes && !drifted) return begin(Round::kWatch);
  distance_ = std::min(distance_ * 2, 1U << 20);
  if (drifted) return begin(Round::kProbe);
  rows_[rival_].to_be_matched = true;
  begin(Round::kMatch);
}

}  // namespace tern::coll
