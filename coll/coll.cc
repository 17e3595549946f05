// SPDX-License-Identifier: Apache-2.0
// Coll: from an operation to an execution under way.
#include "coll/coll.hpp"

#include <algorithm>
#include <bit>
#include <new>
#include <numeric>
#include <optional>

#include "base/error.hpp"
#include "base/log.hpp"
#include "coll/flat/flat.hpp"
#include "coll/flat/queue.hpp"
#include "cuda/driver.hpp"

namespace tern::coll {

namespace {

/// What is empty may be given back while the call lasts.
const void* kept_by(const Side& side) noexcept {
  return side.count == 0 && side.counts == nullptr ? nullptr : first_byte_of(side);
}

/// Bytes of a block, if all had one size, in units of so many bytes.
size_t mean_block(const Side& blocks, int32_t ranks, size_t unit) noexcept {
  const MPI_Count sum = std::accumulate(blocks.counts, blocks.counts + ranks, MPI_Count{0});
  if (sum == 0 || unit == 0) return 0;
  const size_t units = static_cast<size_t>(sum * blocks.type->size()) / unit;
  return (units + static_cast<size_t>(ranks) - 1) / static_cast<size_t>(ranks) * unit;
}

}  // namespace

Coll::Coll(core::Channel& channel)
    : channel_(channel),
      process_(channel.process),
      refusals_(channel, *this),
      executions_(channel, refusals_),
      flights_(executions_, *this),
      teams_(executions_) {
  if (process_.threaded()) admit_threads();
  selector_.configure(process_.params);
  checks_ = process_.params.checks("collective");
  places_.configure(process_.params.coll_levels);
  channel_.progress.add(&Coll::poll, this);
}

Coll::~Coll() {
  channel_.progress.remove(this);
  channel_.coll = nullptr;
}

std::unique_ptr<Coll> make(core::Channel& channel) { return std::make_unique<Coll>(channel); }

int Coll::poll(void* self) noexcept {
  Coll& coll = *static_cast<Coll*>(self);
  int events = 0;
  if (TERN_UNLIKELY(coll.refusals_.is_asked_to_look())) coll.refusals_.look();
  if (!coll.executions_.idle()) coll.executions_.advance(&events);
  if (!coll.flights_.idle()) coll.flights_.poll(&events);
  return events;
}

Question question_of(const Operation& operation) noexcept {
  const Side& side = agreed_side(operation);
  Question question{operation.collective, operation.communicator->size(), 0};
  question.equal_blocks = !operation.irregular;
  if (question.equal_blocks && side.type != nullptr)
    question.bytes = static_cast<size_t>(side.count) * static_cast<size_t>(side.type->size());
  // All ranks know all counts; what counts is their sum.
  if (operation.collective == Collective::kReduceScatter && operation.input.counts != nullptr)
    question.bytes = mean_block(operation.input, question.ranks,
                                static_cast<size_t>(operation.input.type->size()));
  if (operation.collective == Collective::kAllgather && operation.output.counts != nullptr &&
      !operation.communicator->inter())
    question.bytes = mean_block(operation.output, question.ranks, 1);  // types may differ
  question.commutative = operation.op == nullptr || operation.op->commutative();
  return question;
}

CommState& Coll::state_of(core::Communicator& communicator) {
  if (communicator.coll == nullptr) {
    auto made = std::make_unique<CommState>(communicator, flights_);
    made->levels = places_.of(communicator);
    made->shares_memory = made->levels == nullptr && !checks_ && shares_memory(communicator);
    made->hints = hints_of(communicator);
    CommState& state = *made;
    communicator.coll = std::move(made);
    refusals_.catch_up(state);
  }
  return static_cast<CommState&>(*communicator.coll);
}

void Coll::refuse(core::Communicator& communicator, const std::string& why,
                  const std::string& error) noexcept {
  hear(communicator, why);
  executions_.refuse(communicator, why, error);
  flights_.refuse(communicator, why, error);
}

void Coll::hear(core::Communicator& communicator, const std::string& why) noexcept {
  forsake_teams(communicator, why);
}

const Choice& Coll::choose(CommState& state, const Operation& operation, Question question,
                           bool shared, bool islands) const noexcept {
  question.levels = levels_of(state, islands);
  question.shared = shared;
  question.single_copy = shared && state.single_copy && state.shares_large;
  if (question != state.question) {
    state.answer = operation.communicator->inter()
                       ? Choice{between_groups(operation.collective), Choice::Why::kModel}
                       : selector_.choose(question, state.hints.get());
    state.question = question;
  }
  return state.answer;
}

// A neighbourhood's schedule belongs to its communicator; null for all else.
std::shared_ptr<CachedSchedule> Coll::neighborhood_of(CommState& state, const Algorithm& algorithm,
                                                      const Operation& operation) {
  if (TERN_LIKELY(!neighborly(operation.collective))) return {};
  const core::Communicator& comm = *operation.communicator;
  auto& kept = state.neighborhoods[operation.collective == Collective::kNeighborAlltoall ? 1 : 0];
  if (kept == nullptr)
    kept = std::make_shared<CachedSchedule>(
        build(algorithm, comm.size(), comm.rank(),
              std::make_shared<Neighbors>(neighbors_of(*comm.topology))));
  return kept;
}

Measured* Coll::explain(CommState& state, const Question& question, const Choice& choice) {
  const int power = static_cast<int>(std::bit_width(question.bytes));
  Measured& sum = state.measured[{choice.algorithm, power}];
  const double predicted = selector_.model().predict(*choice.algorithm, question);
  sum.predicted += predicted;
  if (++sum.count > 1) return &sum;
  const core::Communicator& comm = state.communicator;
  const bool several =
      !comm.inter() && std::count_if(state.measured.begin(), state.measured.end(), [&](auto& one) {
                         return one.first.first->collective == question.collective;
                       }) == 1;
  process_.explain.say(
      "collective",
      {{"operation", name_of(question.collective)},
       {"bytes", question.bytes},
       {"ranks", static_cast<unsigned long long>(question.ranks)},
       {"algorithm", choice.algorithm->name},
       {"communicator", comm.name.text()}},
      strf("%s (%s), by %s, predicted %.1f us%s%s",
           coll::explain(question, *choice.algorithm).c_str(), comm.name.text().c_str(),
           selector_.reason(choice, question.collective).c_str(), predicted,
           several ? "; all sizes: " : "",
           several ? selector_.sizes(question, state.hints.get()).c_str() : ""));
  return &sum;
}

int Coll::prepare(const Operation& operation, const Question& question, bool shared, bool islands,
                  Execution** made) noexcept {
  core::Communicator& comm = *operation.communicator;
  try {
    CommState& state = state_of(comm);
    if (TERN_UNLIKELY(state.over())) return fail(MPI_ERR_OTHER, "%s", state.trouble->why.c_str());
    const Choice& choice = choose(state, operation, question,
                                  shared && may_be_flat(state, operation, question), islands);
    *made = executions_.bound(operation, *choice.algorithm, levels_of(state, islands),
                              neighborhood_of(state, *choice.algorithm, operation));
    if (TERN_UNLIKELY(checks_)) (*made)->check();
    if (TERN_UNLIKELY(process_.explain.on()) && comm.rank() == 0)
      (*made)->measure(explain(state, state.question, choice));
    return MPI_SUCCESS;
  } catch (const std::bad_alloc&) {
    if (*made != nullptr) (*made)->release();
    return fail(MPI_ERR_NO_MEM, "no memory for %s on %d ranks; its scratch is a part of the data",
                name_of(operation.collective), comm.size());
  } catch (const Error& error) {
    return fail(error);
  }
}

int Coll::run(const Operation& operation) noexcept {
  const core::ChannelLock lock(channel_.progress);
  std::optional<cuda::CallBuffers> buffers;
  if (TERN_UNLIKELY(cuda::driver() != nullptr))
    buffers.emplace(kept_by(operation.input), kept_by(operation.output));
  int code = TERN_UNLIKELY(refusals_.troubled())
                 ? refusals_.settle(*operation.communicator, false, operation.kind(true))
                 : MPI_SUCCESS;
  const CallNumber number =
      Refusals::next_number(*operation.communicator, false, operation.kind(true));
  if (TERN_UNLIKELY(code != MPI_SUCCESS)) {
    refusals_.refuse_call(*operation.communicator, number, code);
    return code;
  }
  const Question question = question_of(operation);
  try {
    Ran ran = Ran::kNotYet;
    if (flat_bytes(question) >= kLeastOnDevice)
      ran = run_in_flight(operation, question, number, &code);
    if (ran == Ran::kNotYet) ran = run_flat(operation, question, &code);
    if (TERN_LIKELY(ran == Ran::kDone)) return code;
    return run_schedule(operation, question, ran == Ran::kNotYet, number);
  } catch (const std::bad_alloc&) {
    code = fail(MPI_ERR_NO_MEM, "no memory for %s on %d ranks", name_of(operation.collective),
                operation.communicator->size());
  } catch (const Error& error) {
    code = fail(error);
  }
  refusals_.refuse_call(*operation.communicator, number, code);
  return code;
}

int Coll::run_schedule(const Operation& operation, const Question& question, bool shared,
                       CallNumber number) noexcept {
  Execution* execution = nullptr;
  const int code = prepare(operation, question, shared, !shared, &execution);
  if (TERN_UNLIKELY(code != MPI_SUCCESS)) {
    refusals_.refuse_call(*operation.communicator, number, code);
    return code;
  }
  execution->number(number);
  return executions_.complete(execution);
}

int Coll::start(const Operation& operation, core::Request** request) noexcept {
  const core::ChannelLock lock(channel_.progress);
  FlatCall* call = nullptr;
  Execution* execution = nullptr;
  const int code = make(operation, false, &call, &execution);
  if (code != MPI_SUCCESS) return code;
  if (call != nullptr) {
    *request = call;
    call->launch();
  } else {
    *request = execution;
    executions_.go(*execution);
  }
  return MPI_SUCCESS;
}

int Coll::init(const Operation& operation, core::Request** request) noexcept {
  const core::ChannelLock lock(channel_.progress);
  FlatCall* call = nullptr;
  Execution* execution = nullptr;
  const int code = make(operation, true, &call, &execution);
  if (code != MPI_SUCCESS) return code;
  if (execution != nullptr) execution->set_persistent();
  *request = call != nullptr ? static_cast<core::Request*>(call) : execution;
  return MPI_SUCCESS;
}

const Operation* Coll::operation_of(const core::Request& request) noexcept {
  if (!request.persistent()) return nullptr;
  if (const auto* const call = dynamic_cast<const FlatCall*>(&request)) return &call->operation();
  const auto* const execution = dynamic_cast<const Execution*>(&request);
  return execution == nullptr ? nullptr : &execution->operation();
}

int Coll::make(const Operation& operation, bool persistent, FlatCall** call,
               Execution** execution) noexcept {
  core::Communicator& comm = *operation.communicator;
  const Question question = question_of(operation);
  int code = TERN_UNLIKELY(refusals_.troubled())
                 ? refusals_.settle(comm, persistent, operation.kind(false))
                 : MPI_SUCCESS;
  if (TERN_LIKELY(code == MPI_SUCCESS))
    code = prepare_flight(operation, question, persistent, call);
  if (TERN_LIKELY(code == MPI_SUCCESS) && *call == nullptr)
    code = prepare(operation, question, false, false, execution);
  if (TERN_UNLIKELY(code != MPI_SUCCESS)) {
    refusals_.refuse_call(comm, Refusals::next_number(comm, persistent, operation.kind(false)),
                          code);
    return code;
  }
  const bool numbered = persistent && *call != nullptr;
  const CallNumber own = numbered ? (*call)->number() : CallNumber{};
  code = *call != nullptr ? hand_out(*call) : hand_out(*execution);
  if (TERN_UNLIKELY(code != MPI_SUCCESS))
    refusals_.refuse_call(
        comm, numbered ? own : Refusals::next_number(comm, persistent, operation.kind(false)),
        code);
  return code;
}

template <class Made>
int Coll::hand_out(Made* made) noexcept {
  try {
    if (made->handle() == 0) process_.handles.insert(*made);
  } catch (const Error& error) {
    made->release();
    return fail(error);
  }
  made->made_at = core::current_call;
  return MPI_SUCCESS;
}

}  // namespace tern::coll
