// SPDX-License-Identifier: Apache-2.0
// Peer: device memory of the own process: messages to oneself, ranks that are threads. A handle of
// one's own cannot be opened, and need not be: the address serves, on any device of the process.
#include <unistd.h>

#include "btl/device.hpp"

namespace tern::btl::peer {
namespace {

class Peer final : public DeviceWay {
 public:
  std::unique_ptr<MappedPeerMemory> map(const MemoryHandle& handle,
                                        cuda::Device& /*device*/) override {
    if (handle.pid != ::getpid()) return nullptr;
    auto mapped = std::make_unique<MappedPeerMemory>();
    mapped->address = reinterpret_cast<std::byte*>(handle.address);
    return mapped;
  }
};

}  // namespace

extern const DeviceWayRow kDeviceWay{
    .name = "peer",
    .make = [](core::Process&) -> std::unique_ptr<DeviceWay> { return std::make_unique<Peer>(); }};

}  // namespace tern::btl::peer
