// SPDX-License-Identifier: Apache-2.0
// Engine: one poller for all windows of a channel that have messages.
// Lifetime: from the first such window to the last. Threads: the channel is locked.
#pragma once

#include <vector>

#include "core/channel.hpp"

namespace tern::rma {

class Messages;

class Engine {
 public:
  static void join(core::Channel& channel, Messages& messages);
  static void leave(core::Channel& channel, Messages& messages) noexcept;

 private:
  static int poll(void* self) noexcept;
  std::vector<Messages*> all_;
};

}  // namespace tern::rma
