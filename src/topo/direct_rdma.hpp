// SPDX-License-Identifier: Apache-2.0
// DirectRdma: whether RDMA adapters can access device memory (GPUDirect RDMA), by dma-buf or a peer
// memory module. `root` precedes /sys and /proc.
#pragma once

#include <cstdint>
#include <string>

namespace tern::topo {

struct DirectRdma {
  enum class Way : uint8_t { kNone, kDmaBuf, kPeerMemory };
  Way way = Way::kNone;
  std::string why;  // with the cure, for kNone
};

/// `exports_dma_buf` is the GPU's CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED.
[[nodiscard]] DirectRdma direct_rdma(bool exports_dma_buf, const std::string& root = "");

/// "nvidia_peermem", or another loaded module of this kind; empty: none.
[[nodiscard]] std::string peer_memory_module(const std::string& root = "");

}  // namespace tern::topo
