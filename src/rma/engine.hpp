// SPDX-License-Identifier: Apache-2.0
// Engine: one poller per channel for windows with messages, RDMA or boxes. Threads: under the
// channel's lock.
#pragma once

#include <vector>

#include "core/channel.hpp"

namespace tern::rma {

class Engine {
 public:
  struct Member {
    void* self;
    core::Progress::Poll poll;
    void (*let_go)(void* self) noexcept = nullptr;  // gives back memory of the transports
  };
  static void join(core::Channel& channel, const Member& member);
  static void leave(core::Channel& channel, const void* self) noexcept;
  /// Before the transports end, for windows that the program has not freed.
  static void let_go(core::Channel& channel) noexcept;

 private:
  static int poll(void* self) noexcept;
  std::vector<Member> all_;
};

}  // namespace tern::rma
