// SPDX-License-Identifier: Apache-2.0
// Peer: device memory of the own process: messages to oneself, ranks that are threads. A handle of
// one's own cannot be opened, and need not be: the address serves, on any device of the process.
#pragma once

#include <unistd.h>

#include "btl/device.hpp"

namespace tern::btl::peer {

class Peer final : public DeviceWay {
 public:
  std::unique_ptr<Reached> reach(const MemoryCard& card, cuda::Device& /*device*/) override {
    if (card.pid != ::getpid()) return nullptr;
    auto reached = std::make_unique<Reached>();
    reached->address = reinterpret_cast<std::byte*>(card.address);
    return reached;
  }
};

}  // namespace tern::btl::peer
