// SPDX-License-Identifier: Apache-2.0
// A small process that outlives mpirun by a moment: when mpirun is gone, however it went, it ends
// the process group of every rank and removes the job's directory.
// Why: kill -9 of mpirun must leave nothing, and PR_SET_PDEATHSIG misses what a wrapper script
// started.
// How: it holds the reading end of a pipe whose writing end only mpirun has; the end of file is the
// news. What there is to end stands in memory that both share.
// Lifetime: Guard's destructor dismisses the process. Threads: one.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/fd.hpp"
#include "tools/mpirun/loop.hpp"

namespace tern::mpirun {

class Guard {
 public:
  explicit Guard(int ranks);
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
  ~Guard();

  // Where a new rank writes its own pid before it starts its program; 0 takes it back.
  [[nodiscard]] volatile pid_t* pid_of(int rank) noexcept;
  void set_directory(const std::string& path);

  // Starts another one, should this one be killed.
  void keep_alive(Loop& loop);

 private:
  struct Table;
  void start();
  [[noreturn]] void stand_guard(int pipe_end) noexcept;
  void remove_directory() const noexcept;

  Mapping memory_;
  Table* table_;
  int ranks_;
  Fd pipe_;  // writing end
  Fd pidfd_;
  pid_t pid_ = -1;
  Loop* loop_ = nullptr;
};

}  // namespace tern::mpirun
