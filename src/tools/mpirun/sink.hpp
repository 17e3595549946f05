// SPDX-License-Identifier: Apache-2.0
// One of mpirun's outputs, written without blocking the loop.
// Why: a slow, stopped or closed reader must not keep mpirun from ending its ranks.
// How: mpirun writes a pipe or terminal only when ready, and no more than a ready pipe takes.
// O_NONBLOCK would also affect the shell, which shares the descriptor.
// Lifetime: ends before the loop. Threads: the loop's.
#pragma once

#include <string>
#include <string_view>

#include "tools/mpirun/loop.hpp"

namespace tern::mpirun {

class Sink {
 public:
  Sink(Loop& loop, int fd);

  // Queues `bytes` from a source. Ends another source's unfinished line first.
  void write(const void* source, std::string_view bytes);

  // The source has ended. Another one may have the same address later.
  void forget(const void* source) noexcept {
    if (unfinished_ == source) unfinished_ = this;
  }

  [[nodiscard]] bool empty() const noexcept { return queue_.size() == sent_; }
  [[nodiscard]] bool full() const noexcept { return queue_.size() - sent_ > kFull; }
  // errno of the failed write; 0: none. A failed sink drops all output.
  [[nodiscard]] int error() const noexcept { return error_; }

  // Called when a full sink has room again, when it becomes empty, and on failure.
  Loop::Handler on_change;

 private:
  static constexpr std::size_t kFull = 1 << 20;
  void pump();
  [[nodiscard]] bool write_some(std::size_t most);
  void compact();

  Loop& loop_;
  int fd_;
  bool direct_;
  bool watching_ = false;
  int error_ = 0;
  std::string queue_;
  std::size_t sent_ = 0;
  const void* unfinished_ = nullptr;  // source of the open line at the end of the queue
};

}  // namespace tern::mpirun
