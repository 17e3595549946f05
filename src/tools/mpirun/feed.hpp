// SPDX-License-Identifier: Apache-2.0
// Passes mpirun's standard input on to one rank or to all.
// Why: a rank inherits a file or a pipe directly. But ranks may not read the terminal, because
// their group is not in the foreground, and input for all ranks must be read once and written to
// each.
// Flow: keeps up to kMost bytes not yet taken by the slowest rank; then the other ranks wait.
// Lifetime: ends before the loop. Threads: the loop's.
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

  Feed(Loop& loop, int source);
  Feed(const Feed&) = delete;
  Feed& operator=(const Feed&) = delete;
  ~Feed();

  [[nodiscard]] Fd add();
  // Begins to read after all ranks are added. Call again when mpirun may be in the foreground.
  void look();

 private:
  struct Reader {
    Fd writer;
    std::uint64_t taken = 0;
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
  std::uint64_t begin_ = 0;
  std::vector<std::unique_ptr<Reader>> readers_;
};

}  // namespace tern::mpirun
