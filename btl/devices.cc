// SPDX-License-Identifier: Apache-2.0
// The table of ways to device memory: a new one is a row here.
#include "base/error.hpp"
#include "btl/cuda_ipc/cuda_ipc.hpp"
#include "btl/cuda_ipc/exports.hpp"
#include "btl/cuda_ipc/offers.hpp"
#include "btl/device.hpp"
#include "btl/peer/peer.hpp"
#include "core/process.hpp"

namespace tern::btl {

Devices::Devices(core::Process& process) : process_(process) {
  const auto ways = cuda_ipc::descriptor_ways(process.params.cuda_ipc_descriptors);
  ways_.push_back(std::make_unique<peer::Peer>());
  if (process.params.cuda_ipc != 0)
    ways_.push_back(std::make_unique<cuda_ipc::CudaIpc>(
        static_cast<size_t>(process.params.cuda_ipc_cache), ways));
  cuda_ipc::Exports::instance().join(ways.socket);
}

Devices::~Devices() { cuda_ipc::Exports::instance().leave(); }

bool Devices::offer(cuda::Device& device, const cuda::Memory& memory, const void* address,
                    size_t bytes, MemoryHandle* handle) noexcept {
  std::string why;
  try {
    if (cuda_ipc::offer(device, memory, address, bytes, handle, &why)) return true;
  } catch (const std::exception& error) {
    why = error.what();
  }
  if (!told_offer_)
    process_.explain.warn(
        "fallback", {{"what", "staged device memory"}},
        strf("the %zu bytes of device memory at %p cannot be shared with other ranks, "
             "and are copied once more or go through the host: %s",
             bytes, address, why.c_str()));
  told_offer_ = true;
  return false;
}

std::unique_ptr<MappedPeerMemory> Devices::map(const MemoryHandle& handle,
                                               cuda::Device& device) noexcept {
  std::string why = process_.params.cuda_ipc != 0 ? "" : "TERN_CUDA_IPC is 0";
  try {
    for (auto& way : ways_) {
      if (auto mapped = way->map(handle, device); mapped != nullptr) return mapped;
      if (why.empty()) why = way->why_not();
    }
  } catch (const std::exception& error) {
    why = error.what();
  }
  if (why.empty()) return nullptr;
  if (!told_reach_)
    process_.explain.warn(
        "fallback", {{"what", "staged device memory"}},
        strf("device memory of process %d cannot be mapped on device %d and goes through the host, "
             "which is slower: %s",
             handle.pid, device.ordinal, why.c_str()));
  told_reach_ = true;
  return nullptr;
}

}  // namespace tern::btl
