// SPDX-License-Identifier: Apache-2.0
// Name, number, peer and deadline of one collective or message.
// Why: every error message names the call. Lifetime: of the operation. Threads: one thread begins
// the call, then any.
#ifndef TORCH_TERN_CALL_HPP
#define TORCH_TERN_CALL_HPP

#include <mpi.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "description.hpp"
#include "errors.hpp"
#include "group.hpp"
#include "timer.hpp"

namespace torch_tern {

constexpr std::chrono::microseconds kLongestNap{200};

// Returns max() for times above a year.
inline Clock::time_point after(Clock::time_point begin, Milliseconds time) {
  return time > std::chrono::hours(24 * 365) ? Clock::time_point::max() : begin + time;
}

class Call {
 public:
  // `words` name the call in messages. Throws if the group is dead.
  Call(std::shared_ptr<Group> group, const char* words, Milliseconds wanted);
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  const std::shared_ptr<Group>& group() const { return group_; }
  const char* words() const { return words_; }
  std::string name() const;
  Milliseconds timeout() const { return timeout_; }
  Clock::time_point deadline() const { return after(begun_, timeout_); }

  void set_sequence(std::uint64_t sequence);
  std::uint64_t sequence() const { return sequence_; }
  void set_peer(int peer) { peer_ = peer; }

  void note_wait() { waits_since_ = Clock::now(); }
  // Whether the end of `member` prevents the completion, and data in flight has had time to arrive.
  // A killed rank may have sent a part of its data.
  bool waits_in_vain(int member, const Group::EndOfRank& end) const;

  void end_overdue(Milliseconds time) const;
  // Ends the group at the deadline. Exits the process if the library cannot interrupt calls.
  std::unique_ptr<Timer> watch() const;
  std::exception_ptr error_of(int code) const;

 protected:
  void note_end();
  void take_back();

  const std::shared_ptr<Group> group_;
  const char* const words_;
  Description description_;

 private:
  std::string overdue(Milliseconds time) const;

  std::vector<std::shared_ptr<Extension>> ending_;
  const Milliseconds timeout_;
  const Clock::time_point begun_ = Clock::now();
  std::uint64_t sequence_ = 0;
  bool is_numbered_ = false;
  std::optional<int> peer_;
  Clock::time_point waits_since_{};
};

}  // namespace torch_tern

#endif
