// SPDX-License-Identifier: Apache-2.0
// Peer: device memory of this process, by address: a process cannot open its own IPC handles.
#include "base/process_id.hpp"
#include "btl/device.hpp"

namespace tern::btl::peer {
namespace {

// The driver can copy without peer access, so errors are ignored.
void give_access(cuda::Device& device, uint64_t address) noexcept {
  const cuda::Memory memory = cuda::look_up(reinterpret_cast<const void*>(address));
  if (memory.kind != cuda::MemoryKind::kDevice || memory.device == device.ordinal) return;
  const cuda::Current current(device);
  if (memory.context != nullptr) {
    (void)device.driver.cuCtxEnablePeerAccess(memory.context, 0);
  } else if (!memory.pooled && device.driver.cuMemSetAccess != nullptr) {
    CUmemAccessDesc access{};
    access.location = {CU_MEM_LOCATION_TYPE_DEVICE, device.ordinal};
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    (void)device.driver.cuMemSetAccess(memory.base, memory.bytes, &access, 1);
  }
}

class PeerTransport final : public DeviceTransport {
 public:
  std::unique_ptr<MappedPeerMemory> map(const MemoryHandle& handle, cuda::Device& device) override {
    if (handle.process != process_id()) return nullptr;
    give_access(device, handle.address);
    auto mapped = std::make_unique<MappedPeerMemory>();
    mapped->address = reinterpret_cast<std::byte*>(handle.address);
    return mapped;
  }
};

}  // namespace

extern const DeviceTransportRow kDeviceTransport{
    .name = "peer", .make = [](core::Process&) -> std::unique_ptr<DeviceTransport> {
      return std::make_unique<PeerTransport>();
    }};

}  // namespace tern::btl::peer
