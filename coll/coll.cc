// SPDX-License-Identifier: Apache-2.0
// Coll: dispatch of calls to executors.
#include "coll/coll.hpp"

#include <new>
#include <optional>
#include <utility>

#include "base/attempt.hpp"
#include "base/error.hpp"
#include "coll/flat/queue.hpp"
#include "cuda/driver.hpp"

namespace tern::coll {

namespace {

/// Callers may free an empty buffer during the call.
const void* kept_by(const Side& side) noexcept {
  return side.count == 0 && side.counts == nullptr ? nullptr : first_byte_of(side);
}

Failure no_memory(const Operation& operation) noexcept {
  return failure(MPI_ERR_NO_MEM, "no memory for %s on %d ranks; the scratch is a part of the data",
                 name_of(operation.collective), operation.communicator->size());
}

}  // namespace

/// `why_not` returns null if the executor may serve a blocking call, else the reason, equal on all
/// ranks. `run` returns false, on all ranks, and `make` null, if the next executor must serve.
struct Coll::Executor {
  const char* name;
  const char* (*why_not)(const Coll& coll, const BlockingCall& call) noexcept;
  bool (*run)(Coll& coll, BlockingCall& call);
  CollRequest* (*make)(Coll& coll, const Operation& operation, const Question& question,
                       bool persistent);
};

struct Coll::Executors {
  static constexpr Executor kAll[] = {
      {"flight",
       [](const Coll&, const BlockingCall& call) noexcept {
         return SharedCollectives::why_not_in_flight(call);
       },
       [](Coll& coll, BlockingCall& call) { return coll.shared_.run_in_flight(call); },
       [](Coll& coll, const Operation& operation, const Question& question, bool persistent)
           -> CollRequest* { return coll.shared_.make_flight(operation, question, persistent); }},
      {"team",
       [](const Coll& coll, const BlockingCall& call) noexcept { return coll.team_.why_not(call); },
       [](Coll& coll, BlockingCall& call) { return coll.team_.run(call); }, nullptr},
      {"devices",
       [](const Coll&, const BlockingCall& call) noexcept {
         return SharedCollectives::why_not_on_devices(call);
       },
       [](Coll& coll, BlockingCall& call) { return coll.shared_.run_on_devices(call); }, nullptr},
      {"slots",
       [](const Coll&, const BlockingCall& call) noexcept {
         return SharedCollectives::why_not_in_slots(call);
       },
       [](Coll& coll, BlockingCall& call) { return coll.shared_.run_in_slots(call); }, nullptr},
      {"schedule",
       [](const Coll&, const BlockingCall&) noexcept { return static_cast<const char*>(nullptr); },
       [](Coll& coll, BlockingCall& call) {
         coll.run_schedule(call);
         return true;
       },
       [](Coll& coll, const Operation& operation, const Question& question, bool) -> CollRequest* {
         Execution* const made = coll.prepare(operation, question, false, false);
         if (coll.context_.explains(*operation.communicator))
           coll.explain(*made, *operation.communicator);
         return made;
       }},
  };
};

Coll::Coll(core::Channel& channel)
    : context_(channel, *this, *this),
      shared_(context_),
      streams_(context_),
      team_(context_, shared_, streams_) {
  if (context_.process.threaded()) admit_threads();
  channel.progress.add(&Coll::poll, this);
}

Coll::~Coll() {
  context_.tuner.save();
  context_.channel.progress.remove(this);
  context_.channel.coll = nullptr;
}

std::unique_ptr<Coll> make(core::Channel& channel) { return std::make_unique<Coll>(channel); }

int Coll::poll(void* self) noexcept {
  Context& context = static_cast<Coll*>(self)->context_;
  int events = 0;
  if (TERN_UNLIKELY(context.refusals.is_asked_to_look())) context.refusals.look();
  if (!context.executions.idle()) context.executions.advance(&events);
  if (!context.flights.idle()) context.flights.poll(&events);
  return events;
}

void Coll::refuse(core::Communicator& communicator, const Failure& why,
                  const Failure& error) noexcept {
  hear(communicator, why.text);
  context_.executions.refuse(communicator, why, error);
  context_.flights.refuse(communicator, why, error);
}

void Coll::hear(core::Communicator& communicator, const std::string& why) noexcept {
  StreamCollectives::forsake_teams(communicator, why);
}

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

Execution* Coll::prepare(const Operation& operation, const Question& question, bool shared,
                         bool islands) {
  core::Communicator& comm = *operation.communicator;
  CommState& state = context_.state_of(comm);
  if (TERN_UNLIKELY(state.fate.dead_locked())) throw Error(state.fate.reason());
  const bool of_shared = shared && SharedCollectives::may_serve(state, operation, question);
  const Choice& choice = context_.choose(state, operation, question, of_shared, islands);
  return bind(operation, state, choice, islands);
}

void Coll::explain(Execution& execution, core::Communicator& communicator) {
  CommState& state = context_.state_of(communicator);
  execution.measure(context_.explain(state, state.memo.question, state.memo.answer));
}

Execution* Coll::bind(const Operation& operation, CommState& state, const Choice& choice,
                      bool islands) {
  auto check = TERN_UNLIKELY(context_.checks) ? std::make_unique<CallCheck>() : nullptr;
  Execution* const made =
      context_.executions.bound(operation, *choice.algorithm, Context::levels_of(state, islands),
                                choice.plan, neighborhood_of(state, *choice.algorithm, operation));
  made->check(std::move(check));
  return made;
}

int Coll::refuse_call(core::Communicator& communicator, CallNumber number,
                      const Failure& why) noexcept {
  context_.refusals.refuse_call(communicator, number, why);
  return fail(why);
}

int Coll::run(const Operation& operation) noexcept {
  Refusals& refusals = context_.refusals;
  core::Communicator& comm = *operation.communicator;
  const core::ChannelLock lock(context_.channel.progress);
  std::optional<cuda::CallBuffers> buffers;
  if (TERN_UNLIKELY(cuda::driver() != nullptr))
    buffers.emplace(kept_by(operation.input), kept_by(operation.output));
  if (TERN_UNLIKELY(refusals.troubled()))
    if (const Failure why = refusals.settle(comm, false, operation.kind(true)))
      return refuse_call(comm, Refusals::next_number(comm, false, operation.kind(true)), why);
  const CallNumber number = Refusals::next_number(comm, false, operation.kind(true));
  try {
    BlockingCall call{operation, question_of(operation), number, context_.state_of(comm)};
    shared_.choose(call);
    Countdown* const countdown = call.state.memo.countdown;
    if (TERN_UNLIKELY(countdown != nullptr) && TERN_UNLIKELY(--countdown->left == 0))
      go_through_tried(call);
    else if (TERN_UNLIKELY(context_.explains(comm)))
      go_through_explained(call);
    else
      go_through(call);
    return call.code;
  } catch (const std::bad_alloc&) {
    return refuse_call(comm, number, no_memory(operation));
  } catch (const Error& error) {
    return refuse_call(comm, number, error.failure());
  }
}

void Coll::go_through(BlockingCall& call) {
  // Fast path: small data on ranks without devices.
  if (TERN_LIKELY(call.method() != FlatMethod::kNone &&
                  flat_bytes(call.question) < kLeastOnDevice) &&
      TERN_LIKELY(shared_.take_slots(call) && !call.state.devices) && shared_.run_in_slots(call))
    return SharedCollectives::note_devices(call);
  if (call.shared == nullptr) {  // all other executors need shared memory
    run_schedule(call);
    return;
  }
  shared_.ask_for_drivers(call);
  for (const Executor& one : Executors::kAll)
    if (one.why_not(*this, call) == nullptr && one.run(*this, call))
      return SharedCollectives::note_devices(call);
}

void Coll::go_through_tried(BlockingCall& call) {
  Tuner::Trial trial(context_.tuner, call.state);
  if (call.shared != nullptr) call.shared = call.state.memo.answer.algorithm;
  call.timed = trial.counts();
  if (!call.timed && TERN_UNLIKELY(context_.explains(*call.operation.communicator)))
    go_through_explained(call);
  else
    go_through(call);
  trial.end();
}

// A schedule times its own execution.
void Coll::go_through_explained(BlockingCall& call) {
  if (call.method() == FlatMethod::kDirect) (void)shared_.take_slots(call);
  if (call.method() == FlatMethod::kNone) return go_through(call);
  const Choice choice = call.state.memo.answer;
  const Question asked = call.state.memo.question;  // the run may overwrite the memo's question
  Measured* const sum = context_.explain(call.state, asked, choice, explained(call));
  Stopwatch watch(sum);
  watch.begin();
  go_through(call);
  if (!call.by_schedule) watch.end();
}

std::string Coll::explained(const BlockingCall& call) const {
  std::string serving, refused;
  for (const Executor& one : Executors::kAll) {
    const char* const why = one.why_not(*this, call);
    if (why == nullptr)
      serving += std::string(serving.empty() ? "; executors: " : ", ") + one.name;
    else
      refused += strf("%s%s (%s)", refused.empty() ? "; refused: " : ", ", one.name, why);
  }
  return serving + refused;
}

void Coll::run_schedule(BlockingCall& call) {
  call.by_schedule = true;
  const bool on_devices = call.where == Where::kSome;
  Execution* const execution = prepare(call.operation, call.question, !on_devices, on_devices);
  if (context_.explains(*call.operation.communicator) && !call.timed)
    explain(*execution, *call.operation.communicator);
  execution->number(call.number);
  const Failure why = execution->run();
  execution->release();
  call.code = fail(why);
}

Failure Coll::run_instead(const Operation& operation, CallNumber number, uint32_t sequence,
                          Execution** made) noexcept {
  Failure why = attempt(
      [&] {
        CommState& state = context_.state_of(*operation.communicator);
        if (TERN_UNLIKELY(state.fate.dead_locked())) throw Error(state.fate.reason());
        *made = bind(operation, state, context_.choose_apart(state, operation), false);
        return Failure{};
      },
      [&] { return no_memory(operation); });
  if (TERN_UNLIKELY(why)) {
    context_.refusals.refuse_call(*operation.communicator, number, why);
    return why;
  }
  (*made)->number(number);
  (*made)->tag_by(sequence);
  (*made)->go();
  return {};
}

const Operation* Coll::operation_of(const core::Request& request) noexcept {
  const auto* const made = dynamic_cast<const CollRequest*>(&request);
  return made != nullptr && made->persistent() ? &made->operation() : nullptr;
}

CollRequest* Coll::make_by_executor(const Operation& operation, bool persistent) {
  const Question question = question_of(operation);
  for (const Executor& one : Executors::kAll)
    if (one.make != nullptr)
      if (CollRequest* const made = one.make(*this, operation, question, persistent)) return made;
  TERN_ASSERT(false && "a schedule serves every call");
}

int Coll::make(const Operation& operation, bool persistent, core::Request** request) noexcept {
  const core::ChannelLock lock(context_.channel.progress);
  core::Communicator& comm = *operation.communicator;
  const CallKind kind = operation.kind(false);
  Refusals& refusals = context_.refusals;
  CollRequest* made = nullptr;
  const Failure why = attempt(
      [&] {
        if (TERN_UNLIKELY(refusals.troubled()))
          if (Failure trouble = refusals.settle(comm, persistent, kind)) return trouble;
        made = make_by_executor(operation, persistent);
        if (made->handle() == 0) context_.process.handles.insert(*made);
        return Failure{};
      },
      [&] { return no_memory(operation); });
  if (TERN_UNLIKELY(why)) {
    if (made != nullptr) made->release();
    return refuse_call(comm, Refusals::next_number(comm, persistent, kind), why);
  }
  made->made_at = core::current_call;
  *request = made;
  if (persistent)
    made->set_persistent();
  else
    made->go();
  return MPI_SUCCESS;
}

}  // namespace tern::coll
