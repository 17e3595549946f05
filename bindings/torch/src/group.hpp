// SPDX-License-Identifier: Apache-2.0
// What the operations of one process group share: its communicator, its deadline, and whether it is
// dead. Lifetime: of the backend and of every operation that it began. Threads: any.
#ifndef TORCH_TERN_GROUP_HPP
#define TORCH_TERN_GROUP_HPP

#include <mpi.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "fate.hpp"
#include "hang_report.hpp"
#include "session.hpp"
#include "stream_comm.hpp"
#include "timeouts.hpp"
#include "weak_list.hpp"

namespace torch_tern {

class Call;
class Operation;

using Clock = std::chrono::steady_clock;

class Group {
 public:
  Group(std::shared_ptr<Session> session, const std::vector<int>& ranks, const std::string& name,
        Milliseconds timeout);
  ~Group();
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  MPI_Comm comm() const { return comm_; }
  // Where collectives on a device are put into a stream; null until the first of them.
  const StreamComm* stream_comm() const { return stream_comm_.get(); }
  // Collective. One device of each rank serves a group.
  void open_stream_comm(const c10::Device& device);
  const std::string& name() const { return name_; }
  // The ranks of the world that are its members, in order.
  const std::vector<int>& ranks() const { return ranks_; }
  int size() const { return static_cast<int>(ranks_.size()); }
  const std::shared_ptr<Session>& session() const { return session_; }

  // Throws where the group is dead, or the process is a fork.
  void refuse_dead() const;
  // Dead or alive, the reason, and abort hooks.
  Fate& fate() { return fate_; }
  const Fate& fate() const { return fate_; }

  // Frees the communicator, unless operations are under way; says whether it is free.
  bool close();

  // Ends the group: hooks are called, calls and waits in all threads end with an error. Once only.
  void end(const std::string& why);

  // The same for a call that is overdue; says what the other members do.
  void end_overdue(const std::string& words);
  // The same for a call that failed.
  void end_broken(const std::string& words);
  void set_hang_report(std::shared_ptr<HangReport> report) { hang_report_ = std::move(report); }
  const std::shared_ptr<HangReport>& hang_report() const { return hang_report_; }

  // A rank of the world has been killed, or has left it after so many collectives of this group.
  struct EndOfRank {
    int rank;
    bool has_died;
    std::uint64_t calls;
  };
  // Ends the group where a thread has waited for a moment for that rank, in vain.
  void note_end_of(const EndOfRank& end);
  // Whether this rank of the group was killed, as far as is known.
  bool has_died(int member) const;

  // A call begins, or all of an operation's have ended: counted, and left where peers find it.
  void note_begin(const char* words, Clock::time_point when) {
    ++under_way;
    ++last_call.under_way;
    last_call.words.store(words, std::memory_order_relaxed);
    last_call.group.store(lasting_name_, std::memory_order_relaxed);
    last_call.sequence.store(-1, std::memory_order_relaxed);
    last_call.begun.store(when.time_since_epoch().count(), std::memory_order_relaxed);
  }
  void note_end() {
    --under_way;
    --last_call.under_way;
  }

  // A thread waits for the call: while `alarm` lives, the group's end calls this.
  class Alarm {
   public:
    Alarm(Group& group, const Call& call, std::function<void()> ring);
    ~Alarm();
    Alarm(const Alarm&) = delete;
    Alarm& operator=(const Alarm&) = delete;

   private:
    Group& group_;
    const Call& call_;
    std::function<void()> ring_;
    friend class Group;
  };

  // The call with this number was refused: the next one has it, as on ranks that did not try.
  void take_back(std::uint64_t number) {
    std::uint64_t next = number + 1;
    sequence.compare_exchange_strong(next, number);
  }

  Timeouts timeouts;
  WeakList<Operation> remembered;  // their Works may live when Python ends, without a wait
  std::atomic<std::uint64_t> sequence{0};
  std::atomic<int> pipes{0};   // that were made of it
  std::atomic<int> queued{0};  // of those, not begun: they, or one before them, wait for a device
  std::atomic<int> under_way{0};  // operations that are not concluded

 private:
  void end_with_report(const std::string& words, bool by_timeout);
  // The calls and waits of all threads end.
  void wake_waits();

  std::shared_ptr<Session> session_;
  std::vector<int> ranks_;
  std::string name_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  std::unique_ptr<StreamComm> stream_comm_;
  std::shared_ptr<HangReport> hang_report_;
  const char* const lasting_name_;
  Fate fate_;
  mutable std::mutex mutex_;  // of what follows, and of stream_comm_ at a group's end
  std::set<Alarm*> alarms_;
  std::set<int> dead_;  // of its ranks
};

// All groups that live: what the end of Python must close.
std::vector<std::shared_ptr<Group>> living_groups();
std::shared_ptr<Group> make_group(std::shared_ptr<Session> session, const std::vector<int>& ranks,
                                  const std::string& name, Milliseconds timeout);

}  // namespace torch_tern

#endif
