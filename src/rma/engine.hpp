// SPDX-License-Identifier: Apache-2.0
// Engine: one poller for all windows of a channel that move messages or serve boxes.
// Lifetime: from the first such window to the last. Threads: the channel is locked.
#pragma once

#include <vector>

#include "core/channel.hpp"

namespace tern::rma {

class Engine {
 public:
  struct Member {
    void* self;
    core::Progress::Poll poll;
  };
  static void join(core::Channel& channel, const Member& member);
  static void leave(core::Channel& channel, const void* self) noexcept;

 private:
  static int poll(void* self) noexcept;
  std::vector<Member> all_;
};

}  // namespace tern::rma
