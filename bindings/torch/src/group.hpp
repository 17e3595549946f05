// SPDX-License-Identifier: Apache-2.0
// The state shared by the operations of a process group: communicator, timeouts, fate.
// Lifetime: held by the backend and all operations. Threads: any.
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
  const StreamComm* stream_comm() const { return stream_comm_.get(); }
  // open_stream_comm() is collective. A group serves one device per rank.
  void open_stream_comm(const c10::Device& device);
  const std::string& name() const { return name_; }
  const std::vector<int>& ranks() const { return ranks_; }
  int size() const { return static_cast<int>(ranks_.size()); }
  const std::shared_ptr<Session>& session() const { return session_; }

  // Throws if the group is dead or the process is a fork.
  void refuse_dead() const;
  Fate& fate() { return fate_; }
  const Fate& fate() const { return fate_; }

  // Frees the communicator, or returns false if operations are pending.
  bool close();

  // Runs the abort hooks and fails all pending calls and waits, once.
  void end(const std::string& why);

  // Ends the group; the reason describes the calls of all members.
  void end_overdue(const std::string& words);
  void end_broken(const std::string& words);
  void set_hang_report(std::shared_ptr<HangReport> report) { hang_report_ = std::move(report); }
  const std::shared_ptr<HangReport>& hang_report() const { return hang_report_; }

  // A rank of the world died, or left after `calls` collectives of this group.
  struct EndOfRank {
    int rank;
    bool has_died;
    std::uint64_t calls;
  };
  void note_end_of(const EndOfRank& end);
  bool has_died(int member) const;

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

  // An Alarm calls `ring` at the group's end. Each waiting thread has an Alarm.
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

  // Reuses the number of a refused call, to match ranks that have not made the call.
  void take_back(std::uint64_t number) {
    std::uint64_t next = number + 1;
    sequence.compare_exchange_strong(next, number);
  }

  Timeouts timeouts;
  WeakList<Operation> remembered;
  std::atomic<std::uint64_t> sequence{0};
  std::atomic<int> pipes{0};
  std::atomic<int> queued{0};
  std::atomic<int> under_way{0};

 private:
  void end_with_report(const std::string& words, bool by_timeout);
  void wake_waits();

  std::shared_ptr<Session> session_;
  std::vector<int> ranks_;
  std::string name_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  std::unique_ptr<StreamComm> stream_comm_;
  std::shared_ptr<HangReport> hang_report_;
  const char* const lasting_name_;
  Fate fate_;
  mutable std::mutex mutex_;  // guards the members below, and stream_comm_ at the group's end
  std::set<Alarm*> alarms_;
  std::set<int> dead_;
};

std::vector<std::shared_ptr<Group>> living_groups();
std::shared_ptr<Group> make_group(std::shared_ptr<Session> session, const std::vector<int>& ranks,
                                  const std::string& name, Milliseconds timeout);

}  // namespace torch_tern

#endif
