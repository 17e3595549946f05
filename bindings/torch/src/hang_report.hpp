// SPDX-License-Identifier: Apache-2.0
// Describes the state of each rank after a timeout.
// Why: torchrun detects no hangs, and the exception must name ranks that hang outside MPI or are
// dead. The process reads the last calls from the peers' memory; peers send nothing. Lifetime: of a
// world, held by the groups. Threads: any.
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

struct ProcessState {
  std::uint64_t start = 0;
  bool is_stopped = false;
};
ProcessState state_of(std::int64_t pid);

// The process's last call, read by peers. The strings are never freed.
struct LastCall {
  std::atomic<const char*> words, group;
  std::atomic<std::int64_t> sequence;  // -1: none
  std::atomic<std::int64_t> begun;     // in ticks of the steady clock, common to a host
  std::atomic<int> under_way;
};
extern LastCall last_call;

const char* lasting(const std::string& text);

// Locates a rank's LastCall. Ranks exchange the records when a world begins.
struct ProcessRecord {
  char place[96];
  std::int64_t pid;
  std::uint64_t start;
  std::uint64_t word;
  bool compares;
  const LastCall* last;
};

class HangReport {
 public:
  // begin() is collective over the world's group, within the timeout. Watches the peers if no
  // launcher does.
  static std::shared_ptr<HangReport> begin(const std::shared_ptr<Group>& world, bool watches_peers);
  ~HangReport();
  // Returns the hang report of the newest world.
  static std::shared_ptr<HangReport> current();

  std::string describe(const std::vector<int>& ranks) const;

 private:
  void watch_peers(const std::shared_ptr<HangReport>& self, const ProcessRecord& own) const;

  std::vector<ProcessRecord> processes_;
};

}  // namespace torch_tern

#endif
