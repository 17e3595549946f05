// SPDX-License-Identifier: Apache-2.0
// DirectRdma: whether RDMA adapters can access device memory (GPUDirect RDMA), by dma-buf or a peer
// memory module.
// Why: the answer depends on the GPU driver, the kernel and a module; users need the missing piece.
// `root` precedes /sys and /proc.
// Threads: any. Calls are not cached.
// See: tests/unit/topo/machines_test.cc, tern_info(1).
#pragma once

#include <cstdint>
#include <string>

namespace tern::topo {

struct DirectRdma {
  enum class Way : uint8_t { kNone, kDmaBuf, kPeerMemory };
  Way way = Way::kNone;
  std::string why;  // facts behind the verdict; for kNone also the cure
};

/// `exports_dma_buf`: the GPU's CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED.
[[nodiscard]] DirectRdma direct_rdma(bool exports_dma_buf, const std::string& root = "");

}  // namespace tern::topo
