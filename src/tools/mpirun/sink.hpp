// SPDX-License-Identifier: Apache-2.0
// One of mpirun's own outputs, written without ever blocking the loop.
// Why: a reader that is slow, stopped or gone must not keep mpirun from ending its ranks.
// How: a pipe or terminal is written when it is ready and by no more than what a ready pipe takes
// (the descriptor is shared with the shell: O_NONBLOCK on it would be the shell's too).
// Lifetime: may not outlive the loop. Threads: the loop's.
#pragma once

#include <string>
#include <string_view>

#include "tools/mpirun/loop.hpp"

namespace tern::mpirun {

class Sink {
 public:
  Sink(Loop& loop, int fd);

  // `bytes` from one source; where another source left a line unfinished, that line is ended first.
  void write(const void* source, std::string_view bytes);

  [[nodiscard]] bool empty() const noexcept { return queue_.size() == sent_; }
  [[nodiscard]] bool full() const noexcept { return queue_.size() - sent_ > kFull; }
  // The errno of the write that failed; 0: all is well. A broken sink drops what it is given.
  [[nodiscard]] int error() const noexcept { return error_; }

  // Called when a full sink has room again, when it is empty, and when it broke.
  Loop::Handler on_change;

 private:
  static constexpr std::size_t kFull = 1 << 20;
  void pump();
  [[nodiscard]] bool write_some(std::size_t most);
  void compact();

  Loop& loop_;
  int fd_;
  bool direct_;  // a regular file: always ready
  bool watching_ = false;
  int error_ = 0;
  std::string queue_;
  std::size_t sent_ = 0;
  const void* unfinished_ = nullptr;  // whose line is open at the end of the queue
};

}  // namespace tern::mpirun
