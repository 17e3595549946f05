// SPDX-License-Identifier: Apache-2.0
// A way to device memory that reaches nothing.
#include "btl/device.hpp"

namespace tern::btl::dummy {
namespace {

class Dummy final : public DeviceWay {
 public:
  std::unique_ptr<MappedPeerMemory> map(const MemoryHandle&, cuda::Device&) override {
    return nullptr;
  }
};

}  // namespace

extern const DeviceWayRow kDeviceWay{
    .name = "dummy",
    .make = [](core::Process&) -> std::unique_ptr<DeviceWay> { return std::make_unique<Dummy>(); }};

}  // namespace tern::btl::dummy
