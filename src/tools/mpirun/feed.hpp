// SPDX-License-Identifier: Apache-2.0
// mpirun's standard input, passed on to one rank or to all.
// Why: a rank inherits a file or a pipe itself (so that it takes exactly what it reads, and the
// next command of a script gets the rest). But ranks are not the terminal's foreground group and
// would be stopped for reading it, and what all of them read must be read once and written often.
// Flow: what the slowest rank has not taken yet is kept, up to kMost; then the others wait for it.
// Lifetime: may not outlive the loop. Threads: the loop's.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "tools/mpirun/loop.hpp"

namespace tern::mpirun {

class Feed {
 public:
  static constexpr std::size_t kMost = 64 << 20;

  // `source` is a terminal, a pipe or a socket.
  Feed(Loop& loop, int source);
  Feed(const Feed&) = delete;
  Feed& operator=(const Feed&) = delete;
  ~Feed();

  // The reading end for one more rank.
  [[nodiscard]] Fd add();
  // Begins to read, once all ranks are added; again when mpirun may have come to the foreground.
  void look();

 private:
  struct Reader {
    Fd writer;
    std::uint64_t taken = 0;  // bytes since the beginning
    bool waiting = false;
  };
  void on_input();
  void pump(Reader& reader);
  void pump_all();
  void drop(Reader& reader);
  void trim();

  Loop& loop_;
  int source_;
  bool terminal_;
  bool ended_ = false;
  std::string held_;
  std::uint64_t begin_ = 0;  // where held_ begins
  std::vector<std::unique_ptr<Reader>> readers_;
};

}  // namespace tern::mpirun
