// SPDX-License-Identifier: Apache-2.0
// Describes the state of each rank when a call is overdue.
// Why: torchrun has no mpirun to detect hangs. The exception must also name a rank that hangs
// outside MPI or is dead. The overdue process therefore reads its peers' last calls from their
// memory and checks which processes ended. The peers send nothing.
// Lifetime: of a world; the groups hold it. Threads: any.
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

// The state of a process as the kernel reports it.
struct ProcessState {
  std::uint64_t start = 0;  // start time; 0: no such process, or a zombie
  bool is_stopped = false;  // by a signal, or a debugger
};
ProcessState state_of(std::int64_t pid);

// The last call that this process began. Peers read the record, so its strings are never freed.
struct LastCall {
  std::atomic<const char*> words, group;
  std::atomic<std::int64_t> sequence;  // -1: none
  std::atomic<std::int64_t> begun;     // in ticks of the steady clock, common to a host
  std::atomic<int> under_way;          // operations that are not concluded
};
extern LastCall last_call;

// Returns a copy of the text that is never freed.
const char* lasting(const std::string& text);

// Identifies a process and locates its LastCall. The ranks exchange these records when a world
// begins.
struct ProcessRecord {
  char place[96];  // the host's boot and the PID namespace
  std::int64_t pid;
  std::uint64_t start;  // start time, because PIDs are reused
  std::uint64_t word;   // random number of the process in this world
  bool compares;        // requests the comparison of calls
  const LastCall* last;
};

class HangReport {
 public:
  // Collective over the world's group, within the group's timeout. Starts to watch the peers if no
  // launcher does.
  static std::shared_ptr<HangReport> begin(const std::shared_ptr<Group>& world, bool watches_peers);
  ~HangReport();
  // Returns the report of the newest world.
  static std::shared_ptr<HangReport> current();

  // Returns the state of each of these ranks, as text to append to an error message.
  std::string describe(const std::vector<int>& ranks) const;

 private:
  void watch_peers(const std::shared_ptr<HangReport>& self, const ProcessRecord& own) const;

  std::vector<ProcessRecord> processes_;
};

}  // namespace torch_tern

#endif
