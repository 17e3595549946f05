// SPDX-License-Identifier: Apache-2.0
#include "api/fault/agreements.hpp"

#include <algorithm>
#include <deque>
#include <new>
#include <utility>

#include "api/comm/comm.hpp"
#include "api/fault/consensus.hpp"
#include "base/log.hpp"
#include "core/group.hpp"
#include "mpix.h"

namespace tern::api {
namespace {

using core::Communicator;
using core::Derivation;
using core::Group;
using core::Ref;

uint64_t board_id(const core::ContextId& id) noexcept {
  const uint64_t mixed = id.creator ^ (uint64_t{id.counter} * 0x9e3779b97f4a7c15);
  return mixed == 0 ? 1 : mixed;
}

Ref<Group> living(const Group& group, const std::vector<uint32_t>& failed) {
  core::GroupBuilder builder;
  for (int rank = 0; rank < group.size(); ++rank)
    if (const uint32_t peer = group.peer_index(rank);
        std::find(failed.begin(), failed.end(), peer) == failed.end())
      builder.add(peer);
  return builder.finish();
}

std::string words_for(const std::vector<int>& failed, const Quorum& quorum,
                      const Communicator& comm) {
  std::string words;
  for (const int place : failed) {
    const uint32_t peer = quorum.peers[static_cast<size_t>(place)];
    int rank = comm.group().rank_of(peer);
    const char* where = "";
    if (rank == MPI_UNDEFINED) {
      rank = comm.remote_group()->rank_of(peer);
      where = " of the other group";
    }
    words += strf("%s%d%s", words.empty() ? "" : ", ", rank, where);
  }
  return words;
}

/// The members of the quorum, for messages. Strangers may part although the carrier stays.
Ref<Communicator> carrier_for(Communicator& comm, const Quorum& quorum) {
  core::GroupBuilder builder;
  for (const uint32_t peer : quorum.peers) builder.add(peer);
  auto made = core::derive_communicator(comm, builder.finish(),
                                        core::derive_context(comm.id(), Derivation::kAgree, 0, 0));
  comm.process().worlds.let_go(std::exchange(made->strangers, {}));
  join(*made);
  return made;
}

}  // namespace

struct Agreements::State {
  std::unique_ptr<Consensus> consensus;
  std::vector<int> failed;            // result of the last agreement
  std::deque<AgreeRequest*> waiting;  // the first is under way
  Ref<Communicator> plain;
  uint64_t plain_shrinks = 0;
};

AgreeRequest::AgreeRequest(Communicator& comm, int* of_flag, MPI_Comm* of_newcomm) noexcept
    : flag(of_flag), newcomm(of_newcomm) {
  communicator = &comm;
  channel = &comm.channel();
}

void AgreeRequest::describe(WaitReport* report) const {
  report->words += strf("the living members of %s to agree",
                        communicator->name.or_words("a communicator").c_str());
}

void AgreeRequest::destroy() noexcept {
  if (handle() != 0) channel->process.handles.erase(*this);
  delete this;
}

void AgreeRequest::end(const Failure& why) noexcept {
  if (why) {
    outcome.error = why.code;
    text_ = why.text;
    error_text = &text_;
    keep_communicator();
  }
  complete();
  Communicator& comm = *communicator;
  release();
  comm.operation_ended();
}

Agreements::Agreements(core::Process& process, const Detector* detector) noexcept
    : process_(process), detector_(detector) {}
Agreements::~Agreements() = default;

Agreements::State& Agreements::state_of(Communicator& comm) {
  const std::lock_guard<std::mutex> guard(mutex_);
  std::unique_ptr<State>& state = states_[comm.id()];
  if (state == nullptr) state = std::make_unique<State>();
  return *state;
}

void Agreements::prepare(State& state, Communicator& comm) {
  if (state.consensus != nullptr) return;
  Quorum quorum = quorum_of(comm);
  const bool has_hosts = quorum.hosts.size() > 1;
  if (has_hosts && quorum.peers.size() > fault::HostMemory::kMostMembers)
    throw Error(MPI_ERR_UNSUPPORTED_OPERATION,
                strf("%s has %zu members on several hosts, but agree and shrink work with at most "
                     "%zu",
                     comm.name.or_words("the communicator").c_str(), quorum.peers.size(),
                     fault::HostMemory::kMostMembers));
  const uint64_t id = board_id(comm.id());
  Ref<Communicator> carrier;
  if (has_hosts) carrier = carrier_for(comm, quorum);
  const std::lock_guard<std::mutex> guard(mutex_);
  auto& served = served_[comm.channel().number];
  served.reserve(served.size() + 1);
  fault::BoardEntry* const own = detector_->memory().claim(
      detector_->own(), id, [this](const fault::BoardEntry& entry) { return may_take(entry); });
  if (own == nullptr)
    throw Error(
        MPI_ERR_NO_MEM,
        strf("%u communicators have agreements; free unused communicators (those over several "
             "hosts or worlds keep their places until MPI_Finalize)",
             fault::HostMemory::kEntries));
  state.consensus =
      std::make_unique<Consensus>(*detector_, id, std::move(quorum), *own, std::move(carrier));
  if (has_hosts) served.push_back(state.consensus.get());
}

bool Agreements::may_take(const fault::BoardEntry& entry) noexcept {
  for (auto one = retired_.begin(); one != retired_.end(); ++one) {
    if (!(*one)->owns(entry)) continue;
    if (!(*one)->all_have_left()) return false;
    retired_.erase(one);
    return true;
  }
  return false;
}

AgreeRequest* Agreements::start(Communicator& comm, int* flag, MPI_Comm* newcomm) {
  State& state = state_of(comm);
  prepare(state, comm);
  auto& running = running_[comm.channel().number];
  running.reserve(running.size() + 1);
  auto request = std::make_unique<AgreeRequest>(comm, flag, newcomm);
  state.waiting.push_back(request.get());
  request->retain();
  ++comm.pending;
  if (state.waiting.size() == 1) running.push_back(&state);
  return request.release();
}

// A shrink repeats agreements until the failed members stay. All members have the same results, so
// all do the same number.
bool Agreements::step(State& state) {
  const AgreeRequest& first = *state.waiting.front();
  Consensus& consensus = *state.consensus;
  for (;;) {
    if (!consensus.active())
      consensus.begin(first.newcomm != nullptr ? ~0U : static_cast<uint32_t>(*first.flag),
                      first.communicator->acked());
    if (!consensus.step()) return false;
    const bool stays = consensus.result().failed == state.failed;
    state.failed = consensus.result().failed;
    if (first.newcomm == nullptr || stays) return true;
  }
}

void Agreements::finish(State& state, const Failure& lacks) noexcept {
  AgreeRequest& request = *state.waiting.front();
  Communicator& comm = *request.communicator;
  const Consensus& consensus = *state.consensus;
  Failure why = lacks;
  // A process of another host may have died unseen by this rank's transports.
  for (const int place : state.failed)
    process_.deaths.watch->lost(consensus.quorum().peers[static_cast<size_t>(place)]);
  try {
    if (why) {
    } else if (request.newcomm != nullptr) {
      std::vector<uint32_t> failed;
      for (const int place : state.failed)
        failed.push_back(consensus.quorum().peers[static_cast<size_t>(place)]);
      Ref<Group> remote;
      if (comm.inter()) remote = living(*comm.remote_group(), failed);
      publish(core::derive_communicator(
                  comm, living(comm.group(), failed),
                  core::derive_context(comm.id(), Derivation::kShrink, consensus.number(), 0),
                  std::move(remote)),
              request.newcomm, &comm.channel());
    } else {
      *request.flag = static_cast<int>(consensus.result().flag);
      if (consensus.result().error())
        why = failure(MPIX_ERR_PROC_FAILED,
                      "ranks %s of %s have failed, and not all living members have acknowledged "
                      "that (MPIX_Comm_ack_failed)",
                      words_for(state.failed, consensus.quorum(), comm).c_str(),
                      comm.name.or_words("the communicator").c_str());
    }
  } catch (const Error& error) {
    why = error.failure();
  } catch (const std::bad_alloc&) {
    why = {MPI_ERR_NO_MEM, "no memory for the result of an agreement"};
  }
  state.waiting.pop_front();
  request.end(why);
}

// Returns whether no agreement is left; the communicator may then be gone.
bool Agreements::advance(State& state, const core::Progress& progress) noexcept {
  Failure lacks;
  try {
    if (!step(state)) {
      if (!progress.is_before_sleep()) return false;
      process_.waits.awaited.set(detector_->memory().bell());
      if (!step(state)) return false;
    }
  } catch (const std::bad_alloc&) {
    lacks = {MPI_ERR_NO_MEM, "no memory for an agreement"};
  }
  const bool last = state.waiting.size() == 1;
  finish(state, lacks);
  return last;
}

int Agreements::serve(const core::Channel& channel) noexcept {
  int served = 0;
  try {
    for (size_t i = 0; i < served_[channel.number].size(); ++i)
      served += served_[channel.number][i]->serve();
  } catch (const std::bad_alloc&) {
    log_line("no memory to serve an agreement");
  }
  return served;
}

int Agreements::poll(core::Channel& channel) noexcept {
  auto& running = running_[channel.number];
  bool& sleeps = sleeps_[channel.number];
  const bool before_sleep = channel.progress.is_before_sleep() && !running.empty();
  if (TERN_UNLIKELY(before_sleep != sleeps)) {
    detector_->memory().sleeps(before_sleep);
    if (!before_sleep) process_.waits.awaited.set({});
    sleeps = before_sleep;
  }
  int events = served_[channel.number].empty() ? 0 : serve(channel);
  for (size_t i = 0; i < running.size();) {
    State* const state = running[i];
    const size_t waiting = state->waiting.size();
    if (advance(*state, channel.progress)) {
      running[i] = running.back();
      running.pop_back();
      ++events;
    } else {
      events += static_cast<int>(waiting - state->waiting.size());
      ++i;
    }
  }
  return events;
}

void Agreements::forget(const Communicator& comm) noexcept {
  Ref<Communicator> plain;
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    const auto found = states_.find(comm.id());
    if (found == states_.end()) return;
    std::unique_ptr<State> state = std::move(found->second);
    states_.erase(found);
    plain = std::move(state->plain);
    try {
      if (state->consensus != nullptr) retired_.push_back(std::move(state->consensus));
    } catch (const std::bad_alloc&) {
      log_line("no memory to keep a freed communicator's place on the board");
      (void)state->consensus.release();  // others may read the place
    }
  }
  if (plain) plain.leak()->free();
}

Communicator& Agreements::plain(Communicator& comm) {
  State& state = state_of(comm);
  if (!state.plain) state.plain = carrier_for(comm, quorum_of(comm));
  return *state.plain;
}

uint64_t Agreements::next_plain(Communicator& comm) { return ++state_of(comm).plain_shrinks; }

}  // namespace tern::api
