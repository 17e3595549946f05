// SPDX-License-Identifier: Apache-2.0
// A small process that outlives mpirun. At any end of mpirun the guard kills every rank's process
// group and removes the job's directory.
// Why: kill -9 of mpirun must leave nothing behind, and PR_SET_PDEATHSIG does not reach children of
// wrapper scripts.
// How: only mpirun has the writing end of a pipe; the guard waits for end of file. Shared memory
// lists the ranks.
// Lifetime: Guard's destructor dismisses the process. Threads: one.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/fd.hpp"
#include "tools/mpirun/loop.hpp"

namespace tern::mpirun {

class Guard {
 public:
  Guard();
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
  ~Guard();

  // An empty place for a new rank's pid, written before exec. 0 empties the place. Throws Error.
  [[nodiscard]] volatile pid_t* free_place();
  void set_directory(const std::string& path);

  void keep_alive(Loop& loop);

 private:
  struct Table;
  void start();
  [[noreturn]] void stand_guard(int pipe_end) noexcept;
  void remove_directory() const noexcept;

  Mapping memory_;
  Table* table_;
  int next_ = 0;  // the place after the last one given
  Fd pipe_;
  Fd pidfd_;
  pid_t pid_ = -1;
  Loop* loop_ = nullptr;
};

}  // namespace tern::mpirun
