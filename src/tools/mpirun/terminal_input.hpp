// SPDX-License-Identifier: Apache-2.0
// What is typed at mpirun's terminal, for rank 0.
// Why: rank 0 inherits a stdin that is a file or a pipe (so that it takes exactly what it reads,
// and
// the next command of a script gets the rest), but ranks are not the terminal's foreground group
// and would be stopped for reading it.
// Lifetime: may not outlive the loop. Threads: the loop's.
#pragma once

#include <string>

#include "base/fd.hpp"
#include "tools/mpirun/loop.hpp"

namespace tern::mpirun {

class TerminalInput {
 public:
  // Forwards from `terminal` to a pipe whose reading end is reader().
  TerminalInput(Loop& loop, int terminal);
  ~TerminalInput();
  TerminalInput(const TerminalInput&) = delete;
  TerminalInput& operator=(const TerminalInput&) = delete;

  [[nodiscard]] int reader() const noexcept { return reader_.get(); }
  void rank_started() noexcept { reader_.reset(); }
  // mpirun may have come to the foreground.
  void look_again();

 private:
  void on_typed();
  void pass_on();
  void end();

  Loop& loop_;
  int terminal_;
  Fd reader_, writer_;
  std::string held_;
};

}  // namespace tern::mpirun
