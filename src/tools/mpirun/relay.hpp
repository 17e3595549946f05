// SPDX-License-Identifier: Apache-2.0
// Passes bytes between two sockets, both ways, until both have ended.
// Flow: a direction whose receiver is slow holds one buffer and stops reading.
// Lifetime: may not outlive the loop. Threads: the loop's.
#pragma once

#include <string>

#include "base/fd.hpp"
#include "tools/mpirun/loop.hpp"

namespace tern::mpirun {

class Relay {
 public:
  Relay(Loop& loop, Fd left, Fd right);
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;
  ~Relay();

  [[nodiscard]] bool finished() const noexcept;

 private:
  struct Way {
    std::string held;
    std::size_t sent = 0;
    bool ended = false;  // no more bytes will come
  };
  struct Side {
    Fd fd;
    Way way;  // what was read here, on its way to the other side
  };
  void watch();
  void on_ready();
  void move(Side& from, Side& to);
  void finish();

  Loop& loop_;
  Side left_, right_;
};

}  // namespace tern::mpirun
