// SPDX-License-Identifier: Apache-2.0
#include "api/fault/agreements.hpp"

#include <algorithm>
#include <new>
#include <optional>
#include <utility>

#include "api/comm/comm.hpp"
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

std::string words_for(const std::vector<int>& members, const Quorum& quorum) {
  std::string words;
  for (const int member : members)
    words += strf("%s%u", words.empty() ? "" : ", ", quorum.peers[static_cast<size_t>(member)]);
  return words;
}

}  // namespace

Quorum quorum_of(const Communicator& comm) {
  const core::Worlds& worlds = comm.process().worlds;
  Quorum quorum;
  for (const Group* group : {&comm.group(), comm.remote_group()})
    for (int rank = 0; group != nullptr && rank < group->size(); ++rank)
      quorum.peers.push_back(group->peer_index(rank));
  const uint32_t self = comm.group().peer_index(comm.rank());
  if (comm.inter())
    std::sort(quorum.peers.begin(), quorum.peers.end(), [&](uint32_t one, uint32_t other) {
      return worlds.name_of(one) < worlds.name_of(other);
    });
  quorum.self = static_cast<int>(std::find(quorum.peers.begin(), quorum.peers.end(), self) -
                                 quorum.peers.begin());
  return quorum;
}

struct Agreements::State {
  core::ContextId id;
  Quorum quorum;
  uint64_t number = 0;  // of the last agreement begun
  std::vector<int> failed;
  std::vector<int> members;  // of the host
  std::vector<fault::BoardEntry*> entries;
  std::vector<uint32_t> processes;
  std::optional<fault::SharedBoard> board;
  std::deque<AgreeRequest*> waiting;  // the first is under way
  std::optional<fault::Agreement> agreement;
  std::optional<fault::Shrink> shrink;
  Ref<Communicator> plain;
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

Agreements::~Agreements() = default;

Agreements::State& Agreements::state_of(Communicator& comm) {
  const std::lock_guard<std::mutex> guard(mutex_);
  std::unique_ptr<State>& state = states_[comm.id()];
  if (state == nullptr) {
    state = std::make_unique<State>();
    state->id = comm.id();
    state->quorum = quorum_of(comm);
  }
  return *state;
}

// The dead members' entries are found late: they may have died before their first agreement.
void Agreements::prepare(State& state, const Communicator& comm) {
  if (state.board) return;
  for (const uint32_t peer : state.quorum.peers) {
    const int member = detector_->member_of(peer);
    if (member < 0)
      throw Error(
          MPI_ERR_UNSUPPORTED_OPERATION,
          strf("%s has processes of another host or world; with TERN_FT=1, agree and shrink "
               "work among the processes of one host that started together",
               comm.name.or_words("the communicator").c_str()));
    state.members.push_back(member);
    state.processes.push_back(peer);
  }
  state.entries.resize(state.members.size());
  const std::lock_guard<std::mutex> guard(mutex_);
  fault::BoardEntry* const own =
      detector_->memory().claim(detector_->own(), board_id(state.id),
                                [this](const fault::BoardEntry& entry) { return may_take(entry); });
  if (own == nullptr)
    throw Error(MPI_ERR_NO_MEM, strf("%u communicators have agreements; free unused communicators",
                                     fault::HostMemory::kEntries));
  state.entries[static_cast<size_t>(state.quorum.self)] = own;
  state.board.emplace(state.quorum.self, state.entries, state.processes,
                      detector_->memory().deaths(), fault::DeathQuery{});
}

bool Agreements::may_take(const fault::BoardEntry& entry) noexcept {
  for (auto one = retired_.begin(); one != retired_.end(); ++one) {
    const State& state = **one;
    if (state.entries[static_cast<size_t>(state.quorum.self)] != &entry) continue;
    if (!all_have_left(state)) return false;
    retired_.erase(one);
    return true;
  }
  return false;
}

// A member that has reused the entry has left, too.
bool Agreements::all_have_left(const State& state) const noexcept {
  const uint64_t id = board_id(state.id);
  for (size_t i = 0; i < state.entries.size(); ++i) {
    const fault::BoardEntry* const entry = state.entries[i];
    if (entry != nullptr && entry->id.load(std::memory_order_acquire) == id &&
        entry->left.load(std::memory_order_acquire) < state.number &&
        !process_.deaths.has(state.quorum.peers[i]))
      return false;
  }
  return true;
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

// Returns true at the end of the first waiting agreement.
bool Agreements::step(State& state) noexcept {
  const AgreeRequest& first = *state.waiting.front();
  const uint32_t acked = first.communicator->acked();
  if (!state.agreement && !state.shrink) {
    if (first.newcomm != nullptr)
      state.shrink.emplace(state.number + 1, state.quorum.self,
                           static_cast<int>(state.members.size()), acked, state.failed);
    else
      state.agreement.emplace(state.number + 1, state.quorum.self,
                              static_cast<int>(state.members.size()),
                              fault::Proposal{static_cast<uint32_t>(*first.flag), acked});
  }
  const fault::HostMemory& memory = detector_->memory();
  for (size_t i = 0; i < state.entries.size(); ++i)
    if (state.entries[i] == nullptr)
      state.entries[i] = memory.find(static_cast<uint32_t>(state.members[i]), board_id(state.id));
  for (;;) {
    const fault::Agreement& now = state.shrink ? state.shrink->agreement() : *state.agreement;
    const bool writes = now.phase() == fault::Agreement::Phase::kStoreNumber;
    const fault::Progress progress =
        state.shrink ? state.shrink->step(*state.board) : state.agreement->step(*state.board);
    if (writes) memory.ring();
    if (progress == fault::Progress::kWaits) return false;
    if (progress == fault::Progress::kDone) return true;
  }
}

void Agreements::finish(State& state) noexcept {
  AgreeRequest& request = *state.waiting.front();
  Communicator& comm = *request.communicator;
  Failure why;
  try {
    if (state.shrink) {
      state.number = state.shrink->agreement().number();
      state.failed = state.shrink->failed();
      std::vector<uint32_t> failed;
      for (const int member : state.failed)
        failed.push_back(state.quorum.peers[static_cast<size_t>(member)]);
      Ref<Group> remote;
      if (comm.inter()) remote = living(*comm.remote_group(), failed);
      publish(core::derive_communicator(
                  comm, living(comm.group(), failed),
                  core::derive_context(comm.id(), Derivation::kShrink, state.number, 0),
                  std::move(remote)),
              request.newcomm);
    } else {
      state.number = state.agreement->number();
      const fault::Word word = fault::word_of(state.agreement->outcome(), *state.board);
      state.failed = word.failed;
      *request.flag = static_cast<int>(word.flag);
      if (word.error())
        why = failure(MPIX_ERR_PROC_FAILED,
                      "ranks %s of MPI_COMM_WORLD, members of %s, have failed, and not all living "
                      "members have acknowledged that (MPIX_Comm_ack_failed)",
                      words_for(word.failed, state.quorum).c_str(),
                      comm.name.or_words("the communicator").c_str());
    }
  } catch (const Error& error) {
    why = error.failure();
  } catch (const std::bad_alloc&) {
    why = {MPI_ERR_NO_MEM, "no memory for the result of an agreement"};
  }
  state.agreement.reset();
  state.shrink.reset();
  state.entries[static_cast<size_t>(state.quorum.self)]->left.store(state.number,
                                                                    std::memory_order_release);
  state.waiting.pop_front();
  request.end(why);
}

// A communicator may end in finish(), so the state is looked at first.
bool Agreements::advance(State& state, const core::Progress& progress) noexcept {
  if (!step(state)) {
    sleep(progress);
    if (!progress.is_before_sleep() || !step(state)) return false;
  }
  const bool last = state.waiting.size() == 1;
  finish(state);
  return last;
}

void Agreements::sleep(const core::Progress& progress) noexcept {
  if (!progress.is_before_sleep()) return;
  process_.waits.awaited.set(detector_->memory().bell());
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
  int ended = 0;
  for (size_t i = 0; i < running.size();) {
    State* const state = running[i];
    const size_t waiting = state->waiting.size();
    const bool over = advance(*state, channel.progress);
    if (over) {
      running[i] = running.back();
      running.pop_back();
      ++ended;
    } else {
      ended += static_cast<int>(waiting - state->waiting.size());
      ++i;
    }
  }
  return ended;
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
      if (state->board) retired_.push_back(std::move(state));
    } catch (const std::bad_alloc&) {
      log_line("no memory to keep a freed communicator's place on the board; the place is lost");
    }
  }
  if (plain) plain.leak()->free();
}

Communicator& Agreements::plain(Communicator& comm) {
  State& state = state_of(comm);
  if (!state.plain) {
    core::GroupBuilder builder;
    for (const uint32_t peer : state.quorum.peers) builder.add(peer);
    state.plain = core::derive_communicator(
        comm, builder.finish(), core::derive_context(comm.id(), Derivation::kAgree, 0, 0));
    join(*state.plain);
  }
  return *state.plain;
}

uint64_t Agreements::next_plain(Communicator& comm) { return ++state_of(comm).number; }

}  // namespace tern::api
