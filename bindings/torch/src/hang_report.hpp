// SPDX-License-Identifier: Apache-2.0
// Says who waits for whom when a call is overdue.
// Why: under torchrun no mpirun judges; and a rank that hangs outside MPI, or is dead, must be
// named in the exception of those that wait for it. So nothing is asked: who is overdue reads what
// the other processes of its host have called last from their memory, and sees which have ended.
// Lifetime: of a world; its groups hold it. Threads: any.
#ifndef TORCH_TERN_HANG_REPORT_HPP
#define TORCH_TERN_HANG_REPORT_HPP

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace torch_tern {

class Group;

// What the system says of a process.
struct ProcessState {
  std::uint64_t start = 0;  // the time of its begin; 0: no such process, or a zombie
  bool is_stopped = false;  // by a signal, or a debugger
};
ProcessState state_of(std::int64_t pid);

// The call that this process began last. Peers read it; names are never freed.
struct LastCall {
  std::atomic<const char*> words, group;
  std::atomic<std::int64_t> sequence;  // -1: none
  std::atomic<std::int64_t> begun;     // of the steady clock, which a host has once
  std::atomic<int> under_way;          // operations that have not ended
};
extern LastCall last_call;

// The same text for ever.
const char* lasting(const std::string& text);

// Where a rank's LastCall is; what ranks exchange when a world begins.
struct ProcessRecord {
  char place[96];  // the machine, and a view of its processes
  std::int64_t pid;
  std::uint64_t start;  // when it began: another process may have its number later
  std::uint64_t word;   // of the process in this world, at random
  bool compares;        // it wants the ranks to compare their calls
  const LastCall* last;
};

class HangReport {
 public:
  // Collective over the world's group, and within its time-out. Where no launcher does, peers are
  // watched from then on.
  static std::shared_ptr<HangReport> begin(const std::shared_ptr<Group>& world, bool watches_peers);
  ~HangReport();
  // Of the world that began last.
  static std::shared_ptr<HangReport> current();

  // What each of these ranks of the world does, as a sentence that follows another.
  std::string describe(const std::vector<int>& ranks) const;

 private:
  void watch_peers(const std::shared_ptr<HangReport>& self, const ProcessRecord& own) const;

  std::vector<ProcessRecord> processes_;
};

}  // namespace torch_tern

#endif
