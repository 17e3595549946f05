// SPDX-License-Identifier: Apache-2.0
// Name, number, peer and deadline of one collective or message.
// Why: each sentence about a failure names the call, and the end of a group needs only the name.
// Lifetime: of the operation. Threads: one begins the call; then any.
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

// Between two looks at what a device has done.
constexpr std::chrono::microseconds kLongestNap{200};

// Never, if the time is years.
inline Clock::time_point after(Clock::time_point begin, Milliseconds time) {
  return time > std::chrono::hours(24 * 365) ? Clock::time_point::max() : begin + time;
}

class Call {
 public:
  // `words` name the call in sentences. Throws where the group is dead.
  Call(std::shared_ptr<Group> group, const char* words, Milliseconds wanted);
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  const std::shared_ptr<Group>& group() const { return group_; }
  const char* words() const { return words_; }
  // "allreduce number 3 of group "0"", or "recv of group "0"".
  std::string name() const;
  Milliseconds timeout() const { return timeout_; }
  Clock::time_point deadline() const { return after(begun_, timeout_); }

  void set_sequence(std::uint64_t sequence);
  std::uint64_t sequence() const { return sequence_; }
  // Of a message: the other rank, or MPI_ANY_SOURCE.
  void set_peer(int peer) { peer_ = peer; }

  // A thread begins to wait. An alarm of the group may lead to the call afterwards.
  void note_wait() { waits_since_ = Clock::now(); }
  // Whether a thread has waited long enough for all data that this rank of the group has sent. A
  // killed rank may have sent a part.
  bool waits_in_vain(int member, const Group::EndOfRank& end) const;

  // Ends the group: the call has not ended in this time.
  void end_overdue(Milliseconds time) const;
  // The same at the deadline of a call that waits in MPI from now on. If the library cannot end
  // calls, the process ends.
  std::unique_ptr<Timer> watch() const;
  // The error of a request; the reason of the group's end, if the group is dead.
  std::exception_ptr error_of(int code) const;

 protected:
  // All is over.
  void note_end();
  // The call was refused before any MPI call.
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
  std::optional<int> peer_;  // none: a collective
  Clock::time_point waits_since_{};
};

}  // namespace torch_tern

#endif
