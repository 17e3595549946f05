// SPDX-License-Identifier: Apache-2.0
// Agreements: MPIX_Comm_agree, MPIX_Comm_shrink and their nonblocking forms.
// Order: the agreements of a communicator run one after the other, in the order of the calls.
// Threads: start() and poll() have the lock of the communicator's channel.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "api/fault/detector.hpp"
#include "core/communicator.hpp"
#include "core/request.hpp"

namespace tern::api {

class Consensus;

class AgreeRequest final : public core::Request {
 public:
  /// `of_flag` for an agreement, `of_newcomm` for a shrink.
  AgreeRequest(core::Communicator& comm, int* of_flag, MPI_Comm* of_newcomm) noexcept;
  void describe(WaitReport* report) const override;
  void destroy() noexcept override;
  /// Completes the request.
  void end(const Failure& why) noexcept;

  int* const flag;
  MPI_Comm* const newcomm;

 private:
  std::string text_;
};

class Agreements {
 public:
  /// `detector` is null without fault tolerance.
  Agreements(core::Process& process, const Detector* detector) noexcept;
  ~Agreements();

  /// The caller owns a reference. Throws Error, std::bad_alloc.
  [[nodiscard]] AgreeRequest* start(core::Communicator& comm, int* flag, MPI_Comm* newcomm);
  /// Returns the number of events.
  int poll(core::Channel& channel) noexcept;
  void forget(const core::Communicator& comm) noexcept;

  /// Without fault tolerance: a communicator for the messages of agreements, which a revocation
  /// leaves alive; and the next number of a shrink.
  [[nodiscard]] core::Communicator& plain(core::Communicator& comm);
  [[nodiscard]] uint64_t next_plain(core::Communicator& comm);

 private:
  struct State;
  struct Hash {
    size_t operator()(const core::ContextId& id) const noexcept { return id.creator ^ id.counter; }
  };
  [[nodiscard]] State& state_of(core::Communicator& comm);
  void prepare(State& state, core::Communicator& comm);
  [[nodiscard]] bool may_take(const fault::BoardEntry& entry) noexcept;
  [[nodiscard]] bool step(State& state);
  [[nodiscard]] bool advance(State& state, const core::Progress& progress) noexcept;
  void finish(State& state, const Failure& lacks) noexcept;
  int serve(const core::Channel& channel) noexcept;

  core::Process& process_;
  const Detector* const detector_;
  std::mutex mutex_;  // of the containers
  std::unordered_map<core::ContextId, std::unique_ptr<State>, Hash> states_;
  std::list<std::unique_ptr<Consensus>> retired_;
  std::vector<State*> running_[core::Process::kMostChannels];
  std::vector<Consensus*> served_[core::Process::kMostChannels];
  bool sleeps_[core::Process::kMostChannels] = {};
};

}  // namespace tern::api
