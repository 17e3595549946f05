// SPDX-License-Identifier: Apache-2.0
// HostExchange: moves the marked units of a round between the stages of the hosts, by messages.
// Why: the ranks of a host meet in the host's stage first; then each pair of host and aggregator
// exchanges large messages, also if each rank has thousands of small blocks.
// For each domain of another host, one rank of each host asks the aggregator. Write: a message has
// marks (a bit for each unit) and the marked units. Read: a message has marks, and the aggregator
// answers with the marked units. The last message about a domain in a round says so. Marks are
// cleared on the way.
// Faults: after the end of a rank, or an error of a message, failed() has the error, and no meeting
// follows.
// Lifetime: the file, from the first exchange on. Threads: under the channel's lock.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "core/request.hpp"
#include "io/meeting.hpp"
#include "io/stage.hpp"

namespace tern::io {

class HostExchange {
 public:
  /// Throws std::bad_alloc.
  HostExchange(Meeting& meeting, Stage& stage);
  HostExchange(const HostExchange&) = delete;
  HostExchange& operator=(const HostExchange&) = delete;
  ~HostExchange();

  /// Begins a round; all ranks have marked the round. `moves` is equal on all ranks; without it
  /// the call clears marks.
  void begin(const Rounds& rounds, int64_t round, bool writes, bool moves) noexcept;
  /// Continues as far as possible. Returns true at the end.
  [[nodiscard]] bool advance() noexcept;
  [[nodiscard]] const Failure& failed() const noexcept { return failed_; }
  void describe(WaitReport* report) const;

 private:
  struct Head;
  /// A message: head, marks, a word for the end of the file, data.
  struct Slot {
    std::unique_ptr<std::byte[]> memory;
    core::Request *sent = nullptr, *received = nullptr;
    int domain = -1;  // asked about; -1: none
    bool answers = false;
    [[nodiscard]] Head& head() const noexcept;
    [[nodiscard]] std::byte* bits() const noexcept;
    /// The word in front of the data.
    [[nodiscard]] int64_t& end() const noexcept;
    [[nodiscard]] std::byte* data() const noexcept;
  };
  using Slots = std::array<Slot, 2>;

  [[nodiscard]] bool asks_more() const noexcept { return next_asked_ < asked_.size(); }
  [[nodiscard]] bool serves_more() const noexcept { return to_end_ > 0 || missing_ != 0; }
  /// Each returns false if the slot waits.
  [[nodiscard]] bool advance_asking(Slot* slot) noexcept;
  [[nodiscard]] bool advance_serving(Slot* slot) noexcept;
  void ask(Slot* slot) noexcept;
  /// Fills the slot with the next marks of the domain that follow the position, and with data.
  void pack_next(Slot* slot, int domain) noexcept;
  void pack(Slot* slot, int64_t begin, int64_t units) noexcept;
  void take_answer(Slot* slot) noexcept;
  void receive(Slot* slot) noexcept;
  void serve(Slot* slot) noexcept;
  /// Calls visit(data of the stage, data of the message, bytes) for each run of units.
  template <class Visit>
  void for_each_block(const Slot& slot, Visit&& visit) noexcept;
  [[nodiscard]] bool ended(core::Request** request) noexcept;
  void send(Slot* slot, int rank, int tag, std::byte* from, size_t bytes) noexcept;
  void drop(Slot* slot, core::Request** request) noexcept;
  /// Ends the exchange and the meetings of all ranks.
  void fail(Failure why) noexcept;

  Meeting& meeting_;
  Stage& stage_;
  std::vector<int> asked_;  // domains of other hosts that this rank asks about
  Slots asking_, serving_;
  std::vector<std::byte> marks_;  // of a message, a byte each
  Rounds rounds_;
  int64_t round_ = 0;
  bool writes_ = false;
  size_t next_asked_ = 0;
  int64_t piece_ = 0, position_ = 0;  // of the next ask, in asked_[next_asked_]
  uint64_t messages_ = 0;             // about this domain
  size_t to_end_ = 0;                 // hosts whose last message is missing
  int64_t missing_ = 0;               // other messages of hosts with a last message
  Failure failed_;
};

}  // namespace tern::io
