// SPDX-License-Identifier: Apache-2.0
// StreamCollectives: selection and launch of a way into the stream.
#include "coll/stream_collectives.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <new>
#include <string_view>
#include <utility>

#include "base/attempt.hpp"
#include "coll/gpu/exchange_run.hpp"
#include "coll/gpu/kernel_run.hpp"
#include "coll/gpu/multicast_run.hpp"
#include "coll/gpu/pieces.hpp"
#include "coll/gpu/push_run.hpp"
#include "coll/gpu/stream_run.hpp"
#include "coll/gpu/verdicts.hpp"
#include "coll/gpu/way.hpp"
#include "cuda/kernels.hpp"

namespace tern::coll {
namespace {

/// The schedule's bits equal those of the host's slots if the order is by rank, or two operands
/// commute.
bool has_bits_of_slots(const Placed& placed, const Operation& operation) noexcept {
  return placed.has(kRankOrder) || (placed.schedule.ranks == 2 && operation.op->changes_places());
}
const char* wire_of(const Way& way) noexcept {
  return way.taken() == Wire::kAuto ? "copies" : name_of(way.taken());
}
int kind_of(const Way& way) noexcept {
  return ((static_cast<int>(way.choice.passed_wire) * kWires + static_cast<int>(way.asked.wire)) *
              kWires +
          static_cast<int>(way.taken())) *
             2 +
         (way.denied != nullptr ? 1 : 0);
}

}  // namespace

Failure StreamCollectives::prepare(core::Communicator& communicator, cuda::Device* device,
                                   std::vector<int>* islands) noexcept {
  const core::ChannelLock lock(context_.channel.progress);
  return attempt(
      [&] {
        CommState& state = context_.state_of(communicator);
        if (state.team != nullptr) return Failure{};
        state.no_team.clear();
        state.team =
            teams_.lease(communicator, GpuTeams::Use::kEnqueued, device, &state.no_team, islands);
        if (state.team != nullptr && communicator.named_by) {
          std::vector<int> names;
          for (int rank = 0; rank < communicator.size(); ++rank)
            names.push_back(communicator.named(rank));
          state.team->waits.name_ranks(std::move(names));
        }
        return Failure{};
      },
      [&] {
        return failure(MPI_ERR_NO_MEM, "no memory for a team of GPUs of %d ranks",
                       communicator.size());
      });
}

bool StreamCollectives::first_duplicate(const core::Communicator& communicator) noexcept {
  const core::ChannelLock lock(communicator.channel().progress);
  auto* const state = static_cast<CommState*>(communicator.coll.get());
  return state != nullptr && !std::exchange(state->has_duplicate, true);
}

Failure StreamCollectives::prepare_duplicate(const core::Communicator& communicator,
                                             core::Communicator& made) noexcept {
  const core::ChannelLock lock(context_.channel.progress);
  const auto* const state = static_cast<const CommState*>(communicator.coll.get());
  if (state == nullptr || state->team == nullptr) return {};
  const std::shared_ptr<GpuTeam>& twin = state->team->twin();
  if (twin == nullptr || (twin->kernels.parts() == 0 && twin->kernels.share_gpu())) return {};
  try {
    context_.state_of(made).team = twin;
    twin->lease(true);
    return {};
  } catch (const std::bad_alloc&) {
    return failure(MPI_ERR_NO_MEM, "no memory for a duplicate of a communicator with a stream");
  }
}

Question StreamCollectives::question_in_stream(const GpuTeam& team, const AskedWire& asked,
                                               const Operation& operation, bool any_order,
                                               const char** no_multimem) const {
  const Params& params = context_.process.params;
  Question question = question_of(operation);
  question.streams = true;
  question.kernels = prefers_kernels(team, params, question.bytes);
  *no_multimem = why_not_multicast(team, asked, operation, question.bytes, any_order,
                                   context_.selector.names_wires());
  question.model_wires = model_wires(team, params, asked, operation, question, *no_multimem);
  if (TERN_LIKELY(!context_.selector.names_wires())) return question;
  for (int i = 1; i < kWires; ++i) {
    const auto wire = static_cast<Wire>(i);
    if (why_no_wire(team, params, asked, wire, *no_multimem) == nullptr) question.wires.add(wire);
  }
  return question;
}

const Placed* StreamCollectives::placed_for(CommState& state, GpuTeam& team,
                                            const Operation& operation, const Question& question,
                                            const Choice& choice, std::string* why_not) {
  if (const char* why = Pieces::why_not(operation); why != nullptr) {
    *why_not = why;
    return nullptr;
  }
  if (reduces(operation.collective) && !team.kernels.on_all_ranks()) {
    *why_not = "a rank has no kernels";
    return nullptr;
  }
  const int root = rooted(operation.collective) ? operation.root : 0;
  const Placed* const placed = team.schedules.placed(*choice.algorithm, root, why_not, choice.plan);
  if (placed == nullptr) return nullptr;
  if (!placed->single_blocks) {
    *why_not = strf("a step of %s takes several blocks at once", choice.algorithm->name);
    return nullptr;
  }
  if (TERN_UNLIKELY(context_.process.explain.on()) && state.communicator.rank() == 0) {
    const core::ChannelLock lock(context_.channel.progress);
    (void)context_.explain(state, question, choice);
  }
  return placed;
}

int StreamCollectives::fail_over(CommState& state) const noexcept {
  const core::ChannelLock lock(context_.channel.progress);
  return state.communicator.fate.dead() ? state.communicator.fate.fail() : state.fate.fail();
}

std::string StreamCollectives::in_words(const Way& way) const {
  const std::string asker =
      way.asked.by == AskedWire::kTable  ? context_.selector.in_table(way.choice.line)
      : way.asked.by == AskedWire::kHint ? "the communicator's hint tern_gpu_wire"
                                         : "TERN_GPU_WIRE";
  const std::string words = way.in_words(asker);
  if (way.why_passed == nullptr) return words;
  return strf("%s; %s asks for %s, but: %s", words.c_str(),
              context_.selector.in_table(way.choice.passed_line).c_str(),
              name_of(way.choice.passed_wire),
              reason_in_words(way.why_passed, way.asked, asker).c_str());
}

template <class Run>
void StreamCollectives::explain_way(CommState& state, GpuTeam& team, const Placed& placed,
                                    const Way& way, const Run& run) {
  if (TERN_LIKELY(!context_.process.explain.on()) || state.communicator.rank() != 0) return;
  const Schedule& schedule = placed.schedule;
  const auto chunk = static_cast<unsigned long long>(run.chunk());
  const auto passes = static_cast<unsigned long long>(run.passes());
  if (!team.schedules.is_news({&placed, kind_of(way), std::bit_width(chunk * passes)})) return;
  std::string words = in_words(way);
  if (push_index(way.taken()) >= 0 && facts_of(way.taken()).lines && !team.nvlink_source().empty())
    words += "; source of the links: " + team.nvlink_source();
  if (const cuda::Kernels* kernels = team.memory.device().kernels();
      kernels != nullptr && !kernels->image_in_words().empty())
    words += "; " + kernels->image_in_words();
  const std::string mark = mark_of(name_of(way.engine), wire_of(way));
  const core::ChannelLock lock(context_.channel.progress);
  context_.process.explain.say(
      "engine",
      {{"operation", coll::name_of(schedule.collective)},
       {"algorithm", schedule.algorithm},
       {"engine", name_of(way.engine)},
       {"wire", wire_of(way)},
       {"blocks", static_cast<unsigned long long>(run.blocks())},
       {"chunk", chunk},
       {"passes", passes},
       {"mark", mark},
       {"communicator", state.communicator.name.text()}},
      strf(
          "%s %s (%s) goes into the stream by the %s engine (%s, %d blocks of threads, %llu passes "
          "of %llu bytes): %s%s%s",
          coll::name_of(schedule.collective), schedule.algorithm,
          state.communicator.name.text().c_str(), name_of(way.engine), wire_of(way), run.blocks(),
          passes, chunk, words.c_str(), mark.empty() ? "" : "; ", mark.c_str()));
}

Failure StreamCollectives::run_in_stream(CommState& state, GpuTeam& team, const Placed& placed,
                                         const Operation& operation, const Way& way,
                                         cuda::Job& job) {
  // Only calls in the program's streams have a timeout, because the host can end ordinary calls.
  const uint64_t timeout = job.borrowed() ? context_.process.params.gpu_timeout * 1000 : 0;
  const auto go = [&](auto&& run) {
    explain_way(state, team, placed, way, run);
    return run.run();
  };
  if (way.engine == Way::kPush) return go(PushRun(team, placed, operation, job, timeout, way.wire));
  if (way.engine == Way::kMulticast) return go(MulticastRun(team, placed, operation, job, timeout));
  if (way.engine == Way::kKernel)
    return go(KernelRun(team, placed, *way.program, operation, job, timeout));
  return go(StreamRun(team, placed, operation, job));
}

Failure StreamCollectives::why_useless(GpuTeam& team) {
  if (team.abandoned.dead())
    return failure(MPI_ERR_OTHER,
                   "%s. No collective can be enqueued on this communicator any more; "
                   "create a new one with MPIX_Stream_comm_create",
                   team.abandoned.why());
  if (std::string why = team.waits.why_given_up(); !why.empty())
    team.broken.end({MPI_ERR_OTHER, std::move(why)});
  return team.broken.reason();
}

// If a rule's wire is impossible, other rules may fit.
StreamCollectives::Chosen StreamCollectives::choose_way(CommState& state, GpuTeam& team,
                                                        const Operation& operation, cuda::Job& job,
                                                        const Choice* plan, std::string* why_not) {
  const AskedWire asked = asked_wire(context_.process.params, state.hints.get());
  const char* no_multimem = nullptr;
  Question question = question_in_stream(team, asked, operation, job.borrowed(), &no_multimem);
  question.plan = state.plan.get();
  if (TERN_UNLIKELY(question.plan != nullptr)) question.any_order = any_order_of(state, operation);
  Chosen chosen;
  auto& [placed, way] = chosen;
  for (Choice denied{nullptr, Choice::Why::kModel};;) {
    Choice choice = plan != nullptr ? *plan : context_.selector.choose(question, state.hints.get());
    placed = placed_for(state, team, operation, question, choice, why_not);
    if (placed == nullptr) return {};
    if (!job.borrowed() && reduces(operation.collective) &&
        !has_bits_of_slots(*placed, operation) &&
        !(needs_plan(*choice.algorithm) && any_order_of(state, operation))) {
      *why_not = "the order of operands would differ from the host's";
      return {};
    }
    const bool by_table = asked.by != AskedWire::kHint && choice.wire != Wire::kAuto;
    const char* why_passed = way.denied;
    way = way_of(team, context_.process.params, *placed, operation, question,
                 by_table ? AskedWire{choice.wire, AskedWire::kTable} : asked, no_multimem);
    if (denied.line != 0) {
      choice.passed_line = denied.line;
      choice.passed_wire = denied.wire;
    } else if (TERN_UNLIKELY(choice.passed_line != 0)) {
      why_passed =
          why_no_wire(team, context_.process.params, asked, choice.passed_wire, no_multimem);
    }
    way.choice = choice;
    way.why_passed = why_passed;
    if (TERN_LIKELY(!by_table || way.denied == nullptr || !way.failure.empty())) return chosen;
    denied = choice;
    question.wires.remove(choice.wire);
  }
}

Failure StreamCollectives::put_into(CommState& state, GpuTeam& team, const Operation& operation,
                                    cuda::Job& job, bool* taken, std::string* why_not,
                                    const Choice* plan) {
  const std::lock_guard<std::mutex> guard(team.mutex());
  if (Failure why = why_useless(team)) return why;
  if (goes_by_pairs(operation))
    return exchange_in_stream(state, team, operation, job, taken, why_not);
  const auto [placed, way] = choose_way(state, team, operation, job, plan, why_not);
  state.wire_taken.store(nullptr, std::memory_order_relaxed);
  if (placed == nullptr) return {};
  if (way.engine == Way::kNone && way.failure.empty()) {
    *why_not = in_words(way);
    return {};
  }
  *taken = true;
  state.wire_taken.store(wire_of(way), std::memory_order_relaxed);
  if (!way.failure.empty()) {
    team.broken.end(failure(MPI_ERR_OTHER, "a kernel program cannot be placed on the device: %s",
                            way.failure.c_str()));
    return team.broken.reason();
  }
  return unless_failed(team, run_in_stream(state, team, *placed, operation, way, job));
}

// Later operations of the stream depend on this call, so its failure ends the team.
Failure StreamCollectives::unless_failed(GpuTeam& team, Failure why) {
  if (TERN_UNLIKELY(why))
    team.broken.end(
        failure(MPI_ERR_OTHER, "an earlier enqueued call failed: %s", why.text.c_str()));
  return why;
}

Failure StreamCollectives::exchange_in_stream(CommState& state, GpuTeam& team,
                                              const Operation& operation, cuda::Job& job,
                                              bool* taken, std::string* why_not) {
  const char* why = job.borrowed() ? ExchangeRun::why_not(team, context_.process.params, operation)
                                   : Pieces::why_not(operation);
  if (why != nullptr) {
    *why_not = why;
    return {};
  }
  *taken = true;
  ExchangeRun run(team, operation, job, context_.process.params.gpu_timeout * 1000,
                  team.calls.next_exchange());
  Way way;
  way.engine = Way::kExchange;
  way.why = "only the two ranks of a pair know the block sizes";
  state.wire_taken.store(wire_of(way), std::memory_order_relaxed);
  if (run.passes() > 0)
    explain_way(state, team, team.schedules.exchange(operation.collective), way, run);
  return unless_failed(team, run.run());
}

std::shared_ptr<GpuTeam> StreamCollectives::team_of(
    const core::Communicator& communicator) noexcept {
  const auto* const state = static_cast<const CommState*>(communicator.coll.get());
  return state == nullptr ? nullptr : state->team;
}

void StreamCollectives::forsake_teams(const core::Communicator& communicator,
                                      const std::string& why) noexcept {
  const auto* const state = static_cast<const CommState*>(communicator.coll.get());
  if (state == nullptr) return;
  const auto abandon = [&](GpuTeam& team) {
    team.abandoned.end(failure(MPI_ERR_OTHER, "%s", why.c_str()));
  };
  if (state->team != nullptr) abandon(*state->team);
  for (const auto& one : state->related_teams) abandon(*one);
}

const char* StreamCollectives::wire_taken(const core::Communicator& communicator) noexcept {
  const core::ChannelLock lock(communicator.channel().progress);
  const auto* const state = static_cast<const CommState*>(communicator.coll.get());
  return state == nullptr ? nullptr : state->wire_taken.load(std::memory_order_relaxed);
}

std::string StreamCollectives::why_no_team(const core::Communicator& communicator) {
  const auto* const state = static_cast<const CommState*>(communicator.coll.get());
  return state == nullptr || state->no_team.empty()
             ? "only MPIX_Stream_comm_create prepares devices for each other"
             : state->no_team;
}

bool StreamCollectives::is_over(const core::Communicator& communicator) noexcept {
  const core::ChannelLock lock(communicator.channel().progress);
  const auto* const state = static_cast<const CommState*>(communicator.coll.get());
  return communicator.fate.dead() || (state != nullptr && state->fate.dead());
}

int StreamCollectives::fail_if_over(const core::Communicator& communicator) const noexcept {
  if (communicator.coll == nullptr || !is_over(communicator)) return MPI_SUCCESS;
  return fail_over(static_cast<CommState&>(*communicator.coll));
}

void StreamCollectives::relate(core::Communicator& communicator, const core::Communicator& other) {
  const core::ChannelLock lock(communicator.channel().progress);
  if (auto team = team_of(other))
    static_cast<CommState&>(*communicator.coll).related_teams.push_back(std::move(team));
}

int StreamCollectives::enqueue(const Operation& operation, cuda::Stream& stream, bool* taken,
                               std::string* why_not) noexcept {
  *taken = false;
  return attempt(
      [&] {
        if (operation.communicator->coll == nullptr) {
          *why_not = why_no_team(*operation.communicator);
          return MPI_SUCCESS;
        }
        CommState& state = static_cast<CommState&>(*operation.communicator->coll);
        if (state.team != nullptr && is_over(*operation.communicator)) return fail_over(state);
        if (state.team == nullptr) {
          *why_not = state.no_team;
          return MPI_SUCCESS;
        }
        cuda::Job job(state.team->memory.device(), stream);
        return fail(put_into(state, *state.team, operation, job, taken, why_not));
      },
      [&] {
        return fail(MPI_ERR_NO_MEM, "no memory to enqueue %s in a stream",
                    name_of(operation.collective));
      });
}

}  // namespace tern::coll
