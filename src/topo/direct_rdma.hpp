// SPDX-License-Identifier: Apache-2.0
// Whether RDMA adapters of this machine could read and write device memory (GPUDirect RDMA), and by
// dma-buf or a module for peer memory.
// Why: the answer depends on the GPU driver, the kernel and a module; users ask for the missing
// piece. `root` stands before /sys and /proc.
// Threads: any. Each call reads anew.
// See: tests/unit/topo/machines_test.cc, tern_info(1).
#pragma once

#include <cstdint>
#include <string>

namespace tern::topo {

struct DirectRdma {
  enum class Way : uint8_t { kNone, kDmaBuf, kPeerMemory };
  Way way = Way::kNone;
  std::string why;  // the facts behind the verdict; for kNone also the cure
};

/// `exports_dma_buf`: the GPU's CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED.
[[nodiscard]] DirectRdma direct_rdma(bool exports_dma_buf, const std::string& root = "");

}  // namespace tern::topo
