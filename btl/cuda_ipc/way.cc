// SPDX-License-Identifier: Apache-2.0
// This folder's row in the table of device transports.
#include <optional>

#include "btl/cuda_ipc/cuda_ipc.hpp"
#include "btl/cuda_ipc/exports.hpp"
#include "btl/cuda_ipc/offers.hpp"
#include "core/process.hpp"

namespace tern::btl::cuda_ipc {
namespace {

/// With TERN_TEST=cuda_ipc=0, this rank names memory for other ranks, but maps none.
class Way final : public DeviceTransport {
 public:
  explicit Way(const Params& params) {
    const DescriptorWays ways = descriptor_ways(params.cuda_ipc_descriptors);
    if (params.cuda_ipc != 0) ipc_.emplace(static_cast<size_t>(params.cuda_ipc_cache), ways);
    Exports::instance().join(ways.socket);
  }
  ~Way() override { Exports::instance().leave(); }
  bool offer(cuda::Device& device, const cuda::Memory& memory, size_t bytes, MemoryHandle* handle,
             std::string* why_not) override {
    return cuda_ipc::offer(device, memory, bytes, handle, why_not);
  }
  std::unique_ptr<MappedPeerMemory> map(const MemoryHandle& handle, cuda::Device& device) override {
    return ipc_ ? ipc_->map(handle, device) : nullptr;
  }
  void look_after() noexcept override {
    Exports::instance().look_after();
    if (ipc_) ipc_->look_after();
  }
  bool found_wrong_data() const noexcept override { return ipc_ && ipc_->found_wrong_data(); }
  std::string why_not() const override {
    return ipc_ ? ipc_->why_not() : "cuda_ipc in TERN_TEST is 0";
  }

 private:
  std::optional<CudaIpc> ipc_;
};

}  // namespace

extern const DeviceTransportRow kDeviceTransport{
    .name = "cuda_ipc", .make = [](core::Process& process) -> std::unique_ptr<DeviceTransport> {
      return std::make_unique<Way>(process.params);
    }};

}  // namespace tern::btl::cuda_ipc
