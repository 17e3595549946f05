// SPDX-License-Identifier: Apache-2.0
// TargetSide: executes other ranks' records while this rank progresses messages.
// Trust: an invalid record writes nothing and is an error at the origin's next flush. A waiting
// lock delays no other record. Threads: under the channel's lock.
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
  /// The constructor throws Error, std::bad_alloc.
  TargetSide(Targets& targets, Regions& regions);
  TargetSide(const TargetSide&) = delete;
  TargetSide& operator=(const TargetSide&) = delete;
  ~TargetSide();

  int poll() noexcept;
  [[nodiscard]] bool idle() const noexcept;
  void grant_locks() noexcept {
    if (!locks_.empty()) (void)try_locks();
  }
  // Queues this rank among remote requests, which could starve this rank. Throws std::bad_alloc.
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
  struct PendingRecord {
    Record record;
    std::vector<RecordPiece> pieces;
    std::vector<std::byte> data;
    core::Request* incoming = nullptr;
    bool in_place = false;  // into the part
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
  [[nodiscard]] bool parse(size_t bytes, PendingRecord* job) const;
  void receive_data(int origin, PendingRecord* job);
  int run(int origin) noexcept;
  void execute(int origin, PendingRecord& job);
  void execute_put(int origin, PendingRecord& job) noexcept;
  void execute_get(int origin, const PendingRecord& job);
  void execute_accumulate(int origin, const PendingRecord& job);
  void execute_swap(int origin, const PendingRecord& job);
  void execute_flush(int origin, const PendingRecord& job);
  [[nodiscard]] bool in_part(const RecordPiece& piece) const noexcept;
  [[nodiscard]] bool in_part(const PendingRecord& job) const noexcept;
  [[nodiscard]] std::byte* at(uint64_t place) const noexcept;
  void answer(int origin, int32_t tag, std::vector<std::byte> bytes);
  /// `memory` owns a block outside the part.
  void answer_block(int origin, int32_t tag, const core::Data& block,
                    std::vector<std::byte> memory);
  [[nodiscard]] core::Data part(const RecordPiece& piece) const noexcept;
  [[nodiscard]] core::Data here(std::byte* bytes, const RecordPiece& piece) const noexcept;
  void refuse(int origin, const PendingRecord& job, int error);
  int try_locks() noexcept;

  Targets& targets_;
  Regions& regions_;
  core::Communicator& communicator_;
  pml::Pml& pml_;
  core::Datatype& byte_;
  const std::unique_ptr<ElementMemory> own_;
  std::vector<std::byte> room_;
  core::Request* listening_ = nullptr;
  std::vector<std::deque<PendingRecord>> jobs_;
  int waiting_ = 0;
  std::vector<int32_t> errors_;
  std::deque<Asked> locks_;
  bool own_granted_ = false;
  std::vector<Answer> answers_;
};

}  // namespace tern::rma
