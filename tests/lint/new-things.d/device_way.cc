// SPDX-License-Identifier: Apache-2.0
// A device transport without reachable peers.
#include "btl/device.hpp"

namespace tern::btl::dummy {
namespace {

class Dummy final : public DeviceTransport {
 public:
  std::unique_ptr<MappedPeerMemory> map(const MemoryHandle&, cuda::Device&) override {
    return nullptr;
  }
};

}  // namespace

extern const DeviceTransportRow kDeviceTransport{
    .name = "dummy", .make = [](core::Process&) -> std::unique_ptr<DeviceTransport> {
      return std::make_unique<Dummy>();
    }};

}  // namespace tern::btl::dummy
