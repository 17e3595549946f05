// SPDX-License-Identifier: Apache-2.0
// TargetSide: executes what other ranks ask of the own part of a window, when this rank moves
// messages.
// Order: records of one origin one after the other; a lock that is not free yet holds up nothing
// else of its origin's, which waits for it.
// Trust: what a record says is checked; what is wrong is an error that the origin hears of at its
// next flush, and writes nothing.
// Lifetime: Messages. Threads: the channel is locked.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "pml/pml.hpp"
#include "rma/record.hpp"
#include "rma/regions.hpp"
#include "rma/targets.hpp"

namespace tern::rma {

class TargetSide {
 public:
  /// Throws Error, std::bad_alloc.
  TargetSide(Targets& targets, Regions& regions);
  TargetSide(const TargetSide&) = delete;
  TargetSide& operator=(const TargetSide&) = delete;
  ~TargetSide();

  int poll() noexcept;
  [[nodiscard]] bool idle() const noexcept;
  void grant_locks() noexcept {
    if (!locks_.empty()) (void)try_locks();
  }
  // The own rank takes its turn among those that ask by messages: else it would wait for as long as
  // they follow each other. Throws std::bad_alloc.
  void ask_own_lock(bool exclusive) {
    own_granted_ = false;
    locks_.push_back({targets_.rank(), 0, exclusive});
  }
  [[nodiscard]] bool own_lock_granted() noexcept {
    grant_locks();
    return own_granted_;
  }
  void forget_own_lock() noexcept;

 private:
  /// A record that is to be executed.
  struct Job {
    Record record;
    std::vector<Piece> pieces;
    std::vector<std::byte> data;
    core::Request* incoming = nullptr;  // its data, which is on its way
    bool in_place = false;              // straight into the part
  };
  struct Asked {
    int origin;
    int32_t tag;
    bool exclusive;
  };
  struct Answer {
    core::Request* request;
    std::vector<std::byte> memory;
  };

  void listen();
  void take(int origin, size_t bytes);
  [[nodiscard]] bool parse(size_t bytes, Job* job) const;
  void receive_data(int origin, Job* job);
  int run(int origin) noexcept;
  void execute(int origin, Job& job);
  void execute_put(int origin, Job& job) noexcept;
  void execute_get(int origin, const Job& job);
  void execute_accumulate(int origin, const Job& job);
  void execute_swap(int origin, const Job& job);
  void execute_flush(int origin, const Job& job);
  [[nodiscard]] bool in_part(const Piece& piece) const noexcept;
  [[nodiscard]] bool in_part(const Job& job) const noexcept;
  [[nodiscard]] std::byte* at(uint64_t place) const noexcept;
  void answer(int origin, int32_t tag, std::vector<std::byte> bytes);
  /// `memory`: what the block lies in, if it is not the part.
  void answer_block(int origin, int32_t tag, const core::Data& block,
                    std::vector<std::byte> memory);
  [[nodiscard]] core::Data part(const Piece& piece) const noexcept;
  [[nodiscard]] core::Data here(std::byte* bytes, const Piece& piece) const noexcept;
  void refuse(int origin, const Job& job, int error);
  int try_locks() noexcept;

  Targets& targets_;
  Regions& regions_;
  core::Communicator& communicator_;
  pml::Pml& pml_;
  core::Datatype& byte_;
  const std::unique_ptr<ElementMemory> own_;  // the part's elements
  std::vector<std::byte> room_;
  core::Request* listening_ = nullptr;
  std::vector<std::deque<Job>> jobs_;  // by origin
  int waiting_ = 0;                    // origins with jobs
  std::vector<int32_t> errors_;        // by origin: the first since its last flush
  std::deque<Asked> locks_;
  bool own_granted_ = false;
  std::vector<Answer> answers_;
};

}  // namespace tern::rma
