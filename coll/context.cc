// SPDX-License-Identifier: Apache-2.0
// Context: facts of communicators and operations; choice of rows.
#include "coll/context.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

#include "base/error.hpp"
#include "base/learnt_file.hpp"

namespace tern::coll {
namespace {

// A slab has a bit per rank, and page tables grow with the square of the rank count.
constexpr int kMostRanks = SlabHead::kMostRanks;

size_t mean_block(const Side& blocks, int32_t ranks, size_t unit) noexcept {
  const MPI_Count sum = std::accumulate(blocks.counts, blocks.counts + ranks, MPI_Count{0});
  if (sum == 0 || unit == 0) return 0;
  const size_t units = static_cast<size_t>(sum * blocks.type->size()) / unit;
  return (units + static_cast<size_t>(ranks) - 1) / static_cast<size_t>(ranks) * unit;
}

}  // namespace

bool any_order_of(const CommState& state, const Operation& operation) noexcept {
  const core::Op* const op = operation.op;
  if (op == nullptr || (state.hints != nullptr && state.hints->any_order)) return true;
  const Number number = operation.input.type->number();
  if (op->user_defined() || number == Number::kNone) return false;
  return is_whole(number) || (operation.communicator->size() == 2 && op->changes_places());
}

Context::Context(core::Channel& of, UnderWay& under_way, ScheduleMaker& schedules)
    : channel(of),
      process(of.process),
      refusals(of, under_way),
      executions(of, refusals),
      flights(executions, schedules),
      tuner(of.process, selector, executions) {
  selector.configure(process.params);
  checks = process.params.checks("collective");
  places.configure(process.params.coll_levels);
}

// Worlds start at different times, with different measurements of earlier jobs.
Selector::MeasuredSources Context::known_to(const core::Communicator& communicator) const noexcept {
  return {lines_of(communicator.inherited),
          communicator.strangers.empty() &&
              (!skips_sessions_ || communicator.session.get() == nullptr)};
}

void Context::learn(const std::string& text, bool skips_sessions) {
  const core::ChannelLock lock(channel.progress);
  skips_sessions_ = skips_sessions;
  if (text.empty() || process.params.coll_tune == CollTune::kOff) return;
  LearntFile::Packed packed = LearntFile::unpack(text);
  selector.learn(packed.lines, packed.file.path());
  if (process.world_rank == 0) tuner.keep_in(std::move(packed.file));
}

Question question_of(const Operation& operation) noexcept {
  const Side& side = agreed_side(operation);
  Question question{operation.collective, operation.communicator->size(), 0};
  question.equal_blocks = !operation.irregular;
  if (question.equal_blocks && side.type != nullptr)
    question.bytes = static_cast<size_t>(side.count) * static_cast<size_t>(side.type->size());
  // All ranks know all counts of a reduce-scatter.
  if (operation.collective == Collective::kReduceScatter && operation.input.counts != nullptr)
    question.bytes = mean_block(operation.input, question.ranks,
                                static_cast<size_t>(operation.input.type->size()));
  if (operation.collective == Collective::kAllgather && operation.output.counts != nullptr &&
      !operation.communicator->inter())
    question.bytes =
        mean_block(operation.output, question.ranks, 1);  // types may differ between ranks
  question.commutative = operation.op == nullptr || operation.op->commutative();
  return question;
}

/// False for members of several worlds, on all members alike.
bool is_whole_job(const core::Communicator& communicator) {
  const core::Process& process = communicator.process();
  if (communicator.inter() || communicator.size() != process.world_size) return false;
  if (!communicator.group().identity()) return false;
  for (int rank = 0; process.worlds.any() && rank < communicator.size(); ++rank)
    if (communicator.peer(rank).nspace != 0) return false;
  return true;
}

CommState& Context::state_of(core::Communicator& communicator) {
  if (communicator.coll == nullptr) {
    auto made = std::make_unique<CommState>(communicator, flights);
    made->levels = places.of(communicator);
    made->shares_memory = made->levels == nullptr && !checks && shares_memory(communicator);
    made->hints = hints_of(communicator);
    const auto& own = communicator.session.get() == nullptr ? world_plan : plan;
    if (own != nullptr && communicator.size() == own->ranks() && is_whole_job(communicator))
      made->plan = own;
    CommState& state = *made;
    communicator.coll = std::move(made);
    refusals.catch_up(state);
  }
  return static_cast<CommState&>(*communicator.coll);
}

const Choice& Context::choose(CommState& state, const Operation& operation, Question question,
                              bool shared, bool islands) const {
  Memo& memo = state.memo;
  question.levels = levels_of(state, islands);
  question.plan = state.plan.get();
  question.shared = shared;
  question.single_copy = shared && state.single_copy && state.shares_large;
  if (operation.op == memo.op && operation.input.type == memo.type)
    question.any_order = memo.question.any_order;
  else
    question.any_order = any_order_of(state, operation);
  if (question != memo.question) {
    memo.answer = operation.communicator->inter()
                      ? Choice{between_groups(operation.collective), Choice::Why::kModel}
                      : selector.choose(question, state.hints.get(), known_to(state.communicator));
    memo.untuned = selector.unmeasured(question, memo.answer).algorithm->flat;
    memo.question = question;
    memo.op = operation.op;
    memo.type = operation.input.type;
    tuner.attend(state);
  }
  return memo.answer;
}

Choice Context::choose_apart(const CommState& state, const Operation& operation) const {
  if (operation.communicator->inter())
    return {between_groups(operation.collective), Choice::Why::kModel};
  Question question = question_of(operation);
  question.levels = state.levels;
  question.plan = state.plan.get();
  question.any_order = any_order_of(state, operation);
  return selector.choose(question, state.hints.get(), known_to(state.communicator));
}

Measured* Context::explain(CommState& state, const Question& question, const Choice& choice,
                           const std::string& more) {
  const int power = static_cast<int>(std::bit_width(question.bytes));
  Measured& sum = state.measured[{choice.algorithm, power}];
  const double predicted = selector.model().predict(*choice.algorithm, question);
  sum.predicted += predicted;
  if (++sum.count > 1) return &sum;
  const core::Communicator& comm = state.communicator;
  const bool several =
      !comm.inter() && std::count_if(state.measured.begin(), state.measured.end(), [&](auto& one) {
                         return one.first.first->collective == question.collective;
                       }) == 1;
  process.explain.say(
      "collective",
      {{"operation", name_of(question.collective)},
       {"bytes", question.bytes},
       {"ranks", static_cast<unsigned long long>(question.ranks)},
       {"algorithm", choice.algorithm->name},
       {"communicator", comm.name.text()}},
      strf("%s (%s), by %s, predicted %.1f us%s%s%s%s",
           coll::explain(question, *choice.algorithm).c_str(), comm.name.text().c_str(),
           selector.reason(choice, question.collective).c_str(), predicted,
           graph_in_words(question, choice).c_str(), several ? "; all sizes: " : "",
           several ? selector.sizes(question, state.hints.get(), known_to(comm)).c_str() : "",
           more.c_str()));
  return &sum;
}

std::string Context::graph_in_words(const Question& question, const Choice& choice) const {
  if (question.plan == nullptr || choice.why < Choice::Why::kTableModel) return {};
  const std::string words = selector.graph_in_words(question);
  return words.empty() ? words : "; " + words;
}

bool Context::shares_memory(const core::Communicator& communicator) const noexcept {
  if (communicator.inter()) return false;
  if (communicator.size() < 2 || communicator.size() > kMostRanks) return false;
  for (int rank = 0; rank < communicator.size(); ++rank)
    if (rank != communicator.rank() && !communicator.shares_memory_with(rank)) return false;
  return true;
}

}  // namespace tern::coll
