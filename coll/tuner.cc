// SPDX-License-Identifier: Apache-2.0
#include "coll/tuner.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/attempt.hpp"
#include "base/clock.hpp"
#include "base/explain.hpp"
#include "coll/comm_state.hpp"
#include "coll/engine/executions.hpp"
#include "coll/flat/flat.hpp"
#include "coll/select/select.hpp"
#include "mpi.h"

namespace tern::coll {
namespace {

constexpr size_t kMore = 3;

/// A trial creates no slab, unless the unmeasured row would.
bool has_slab(const CommState& state, const Question& question, const Algorithm& row) noexcept {
  const auto in_flight = [&](FlatMethod method) {
    return method == FlatMethod::kSliced && flat_bytes(question) >= kLeastOnDevice;
  };
  const FlatMethod own = state.memo.untuned;
  if (row.flat == FlatMethod::kNone) return true;
  if (in_flight(row.flat)) return in_flight(own) || state.flights[2] != nullptr;
  const auto size_of = [&](FlatMethod method) {
    return slab_size_of(room_for(method, question, state.shares_large));
  };
  const Slab::Size size = size_of(row.flat);
  const bool by_own = own != FlatMethod::kNone && !in_flight(own) && size_of(own) == size;
  return by_own || state.slabs[static_cast<size_t>(size)] != nullptr;
}

uint32_t clock_ns() noexcept {
  constexpr int kTries = 4, kReadings = 16;
  int64_t least = INT64_MAX;
  for (int i = 0; i < kTries; ++i) {
    const int64_t began = now_ns();
    int64_t last = began;
    for (int reading = 0; reading < kReadings; ++reading) last = now_ns();
    least = std::min(least, last - began);
  }
  return static_cast<uint32_t>(2 * least / kReadings);
}

}  // namespace

Tuner::Tuner(core::Process& process, const Selector& selector, Executions& executions) noexcept
    : process_(process),
      selector_(selector),
      executions_(executions),
      mode_(process.params.coll_tune) {}

uint32_t Tuner::key_of(const Question& question) noexcept {
  const auto bit = [](bool set, int at) { return (set ? 1U : 0U) << at; };
  return static_cast<uint32_t>(question.collective) | power_of(question.bytes) << 8 |
         bit(question.commutative, 16) | bit(question.any_order, 17) |
         bit(question.equal_blocks, 18) | bit(question.shared, 19) | bit(question.single_copy, 20);
}

Tuning::TunedKey* Tuner::find(const CommState& state) const noexcept {
  if (state.memo.tuning == nullptr) return nullptr;
  const uint32_t key = key_of(state.memo.question);
  for (const auto& entry : state.memo.tuning->entries)
    if (entry->key == key) return entry.get();
  return nullptr;
}

void Tuner::attend(CommState& state) const noexcept {
  state.memo.countdown = nullptr;
  if (mode_ == CollTune::kOff || state.devices || state.communicator.inter()) return;
  const Question& question = state.memo.question;
  const bool measurable = state.memo.answer.why >= Choice::Why::kMeasured &&
                          !neighborly(question.collective) && question.ranks > 1 &&
                          (question.bytes > 0 || question.collective == Collective::kBarrier);
  if (!measurable) return;
  Tuning::TunedKey* const entry = find(state);
  if (entry == nullptr) {
    const size_t most = mode_ == CollTune::kLearn ? Tuning::kMostInLearning : Tuning::kMostKeys;
    if (state.memo.tuning == nullptr || state.memo.tuning->entries.size() < most)
      state.memo.countdown = &state.memo.first_calls;
    return;
  }
  if (!same_bits(entry->contest.serving(), *state.memo.answer.algorithm, question)) return;
  state.memo.countdown = &entry->contest;
  if (&entry->contest.serving() != state.memo.answer.algorithm && entry->contest.is_decided())
    state.memo.answer = choice_of(entry->contest.serving(), Choice::Why::kMeasured, question);
}

Tuning::TunedKey* Tuner::enter(CommState& state) const {
  if (state.memo.tuning == nullptr) state.memo.tuning = std::make_unique<Tuning>();
  state.memo.first_calls.left = 1;
  const Question& question = state.memo.question;
  std::vector<const Algorithm*> rows;
  for (const Algorithm* row : selector_.candidates(question, *state.memo.answer.algorithm)) {
    if (rows.size() == Contest::kMostRows) break;
    if (!rows.empty() && mode_ != CollTune::kLearn && !has_slab(state, question, *row)) continue;
    rows.push_back(row);
  }
  Question exchange{Collective::kAllgather, question.ranks, (Contest::kMostBlocks + kMore) * 4};
  exchange.levels = question.levels;
  static const Algorithm& bruck = *find_algorithm(Collective::kAllgather, "bruck");
  const Model& model = selector_.model();
  auto made = std::make_unique<Tuning::TunedKey>(Tuning::TunedKey{
      key_of(question), question,
      Contest(rows, model.predict(*rows[0], question), model.predict(bruck, exchange),
              mode_ == CollTune::kLearn, state.memo.answer.why == Choice::Why::kMeasured)});
  state.memo.tuning->entries.push_back(std::move(made));
  std::string names;
  for (const Algorithm* row : rows) names += std::string(names.empty() ? "" : ", ") + row->name;
  tell(state, *state.memo.tuning->entries.back(), names + " compete (TERN_COLL_TUNE)");
  return state.memo.tuning->entries.back().get();
}

Tuner::Trial::Trial(Tuner& tuner, CommState& state)
    : tuner_(tuner), state_(state), entry_(tuner.find(state)), asked_(state.memo.question) {
  answer_ = state.memo.answer;
  if (state.devices) {  // devices found: the contests end
    state.memo.countdown = nullptr;
    entry_ = nullptr;
    return;
  }
  if (entry_ == nullptr) {
    state.memo.countdown = &tuner.enter(state)->contest;
    return;
  }
  if (const Algorithm& row = entry_->contest.row(); &row != answer_.algorithm) {
    state.memo.answer = choice_of(row, Choice::Why::kTrial, asked_);
    tuner.executions_.set_trial(true);
  }
  began_ = now_ns();
}

Tuner::Trial::~Trial() {
  tuner_.executions_.set_trial(false);
  if (state_.memo.question == asked_) state_.memo.answer = answer_;
}

void Tuner::Trial::end() {
  if (entry_ == nullptr) return;
  const int64_t took = now_ns() - began_;
  const std::span<const Algorithm> rows = algorithms(asked_.collective);
  for (const Algorithm* row : {&entry_->contest.row(), answer_.algorithm})
    state_.memo.tuning->follow(entry_->key, static_cast<uint32_t>(row - rows.data()));
  if (entry_->contest.take(took)) tuner_.agree(state_, *entry_);
}

// Different rows are never the program's fault; the next calls could hang.
Error Tuner::different_rows(const CommState& state, const Tuning::TunedKey& entry, size_t rank) {
  return {
      MPI_ERR_INTERN,
      strf("rank %d of %s has taken other algorithms than rank %zu in measured calls up to a %s "
           "of about %s, a bug in Tern; set TERN_COLL_TUNE=off",
           state.communicator.rank(), state.communicator.name.text().c_str(), rank,
           name_of(entry.question.collective), bytes_in_words(entry.question.bytes).c_str())};
}

void Tuner::agree(CommState& state, Tuning::TunedKey& entry) {
  Contest& contest = entry.contest;
  const auto ranks = static_cast<size_t>(state.communicator.size());
  std::vector<uint32_t> mine(contest.times().begin(), contest.times().end());
  static const uint32_t look = clock_ns();
  const size_t blocks = mine.size(), words = blocks + kMore;
  for (const uint32_t more : {entry.agreement, look, state.memo.tuning->trail})
    mine.push_back(more);
  std::vector<uint32_t> all(ranks * words);
  const int64_t began = now_ns();
  executions_.gather(state.communicator, mine.data(), all.data(), words * sizeof(uint32_t),
                     name_of(entry.question.collective));
  constexpr int64_t kMost = UINT32_MAX;
  entry.agreement = static_cast<uint32_t>(std::min(now_ns() - began, kMost));
  // Contests count the longest block time but the shortest agreement, since other ranks wait in the
  // agreement.
  for (size_t rank = 0; rank < ranks; ++rank) {
    const uint32_t* const one = &all[rank * words];
    for (size_t word = 0; word < words; ++word)
      mine[word] =
          word == blocks ? std::min(mine[word], one[word]) : std::max(mine[word], one[word]);
    if (one[words - 1] != state.memo.tuning->trail) throw different_rows(state, entry, rank);
  }
  const Algorithm& before = contest.serving();
  contest.agree({mine.data(), blocks}, mine[blocks], mine[blocks + 1]);
  if (contest.is_decided()) state.memo.tuning->learnt = {};
  if (file_ && has_line(entry)) note(entry);
  if (&contest.serving() == &before) return;
  state.memo.forget();
  tell(state, entry,
       strf("%s instead of %s from now on, %.1f us a call, by %u rounds of measurement",
            contest.serving().name, before.name, contest.nanoseconds() / 1000, contest.rounds()));
}

void Tuner::note(const Tuning::TunedKey& entry) {
  const Rule rule = rule_of(entry);
  const auto least = static_cast<long long>(rule.least_bytes);
  const auto most = static_cast<long long>(rule.most_bytes);
  const char* const order = entry.question.any_order ? ", any order" : "";
  const std::string calls =
      strf("%s %d %s", name_of(rule.collective), entry.question.ranks,
           least == most ? strf("%lld", most).c_str() : strf("%lld..%lld", least, most).c_str());
  learnt_[calls + order] = strf("%s %s %s  # %.2f us, %u rounds%s", calls.c_str(),
                                rule.algorithm->name, rule.one_host ? "one_host" : "many_hosts",
                                entry.contest.nanoseconds() / 1000, entry.contest.rounds(), order);
}

void Tuner::save() noexcept {
  if (!file_ || learnt_.empty()) return;
  (void)attempt(
      [&] {
        std::vector<std::string> lines;
        for (const auto& [calls, line] : learnt_) lines.push_back(line);
        file_->merge(lines);
        return Failure{};
      },
      [] { return Failure{}; });
}

void Tuner::tell(const CommState& state, const Tuning::TunedKey& entry,
                 const std::string& news) const {
  if (!process_.explain.on() || state.communicator.rank() != 0) return;
  const Question& question = entry.question;
  process_.explain.say("tuning",
                       {{"operation", name_of(question.collective)},
                        {"bytes", question.bytes},
                        {"ranks", static_cast<unsigned long long>(question.ranks)},
                        {"algorithm", entry.contest.serving().name},
                        {"communicator", state.communicator.name.text()}},
                       strf("%s of about %s on %d ranks (%s): %s", name_of(question.collective),
                            bytes_in_words(question.bytes).c_str(), question.ranks,
                            state.communicator.name.text().c_str(), news.c_str()));
}

}  // namespace tern::coll
