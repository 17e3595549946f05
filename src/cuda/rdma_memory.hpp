// SPDX-License-Identifier: Apache-2.0
// Device memory for network adapters (GPUDirect RDMA): descriptors, and the order of an adapter's
// writes. Threads: any.
#pragma once

#include "base/fd.hpp"
#include "cuda/device.hpp"

namespace tern::cuda {

/// A dma-buf descriptor of whole pages around an allocation.
struct DmaBuf {
  Fd descriptor;      // invalid: the driver exports none
  size_t offset = 0;  // of the allocation in the pages
};
[[nodiscard]] DmaBuf export_dma_buf(const Memory& memory) noexcept;

/// Whether the GPU's reads may overtake an adapter's writes that are complete on the host.
[[nodiscard]] bool needs_flush(const Device& device) noexcept;
/// Whether flush_adapter_writes() can order the writes, where needs_flush().
[[nodiscard]] bool can_flush(const Device& device) noexcept;
/// Makes an adapter's writes visible to the GPU before later work.
[[nodiscard]] CUresult flush_adapter_writes(const Device& device) noexcept;

}  // namespace tern::cuda
