// SPDX-License-Identifier: Apache-2.0
// The door of mpirun: ranks ask here for other worlds (boot/spawn_request.hpp).
// Safety: the name is random and stands in the job's memory, and the kernel tells a caller's user.
// A caller without a whole request costs a descriptor.
// Lifetime: ends before the loop. Threads: the loop's.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/fd.hpp"
#include "tools/mpirun/loop.hpp"

namespace tern::mpirun {

// The rank that waits for a world. It hangs up after the meeting.
class Caller {
 public:
  explicit Caller(Fd socket) noexcept : socket_(std::move(socket)) {}
  [[nodiscard]] bool waits() const noexcept;
  // Sends why there is no world; false if the rank does not wait.
  bool tell(const std::string& sentence) noexcept;

 private:
  Fd socket_;
};

class Door {
 public:
  using Handler = std::function<void(std::shared_ptr<Caller> caller, const std::string& request)>;
  Door(Loop& loop, Handler on_request);
  Door(const Door&) = delete;
  Door& operator=(const Door&) = delete;
  ~Door();
  // Empty if the system refuses a socket.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

 private:
  struct Guest {
    Fd socket;
    std::string text;
  };
  void listen();
  void on_call();
  void read(int fd);

  Loop& loop_;
  const Handler on_request_;
  std::string name_;
  Fd listener_;
  std::map<int, Guest> guests_;
};

}  // namespace tern::mpirun
