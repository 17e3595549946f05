// SPDX-License-Identifier: Apache-2.0
// Peer: device memory of this process: messages of a rank to itself, ranks that are threads. A
// process cannot open its own handles and need not: the address serves on any of its devices.
#include "base/process_id.hpp"
#include "btl/device.hpp"

namespace tern::btl::peer {
namespace {

class Peer final : public DeviceTransport {
 public:
  std::unique_ptr<MappedPeerMemory> map(const MemoryHandle& handle,
                                        cuda::Device& /*device*/) override {
    if (handle.process != process_id()) return nullptr;
    auto mapped = std::make_unique<MappedPeerMemory>();
    mapped->address = reinterpret_cast<std::byte*>(handle.address);
    return mapped;
  }
};

}  // namespace

extern const DeviceTransportRow kDeviceTransport{
    .name = "peer", .make = [](core::Process&) -> std::unique_ptr<DeviceTransport> {
      return std::make_unique<Peer>();
    }};

}  // namespace tern::btl::peer
