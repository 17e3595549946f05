// SPDX-License-Identifier: Apache-2.0
// Imports and windows of a peer's memory, and their driver calls.
// Why: a block of several mappings must be contiguous in this process, too. A window mirrors a part
// of the peer's addresses, larger than needed, so a growing segment only needs further mappings.
// The caller of a function with a `device` parameter has made the context of the device current.
#pragma once

#include "btl/cuda_ipc/descriptors.hpp"
#include "btl/cuda_ipc/failure.hpp"
#include "btl/cuda_ipc/ledger.hpp"

namespace tern::btl::cuda_ipc {

struct Window {
  cuda::Device* device;
  Owner owner;
  uint64_t base, bytes;
  CUdeviceptr here;
  int imports = 0;
  bool closed = false;

  [[nodiscard]] bool has(uint64_t address, uint64_t length) const noexcept {
    return address >= base && length <= bytes && address - base <= bytes - length;
  }
};

struct Import {
  cuda::Device* device;
  Window* window;  // null: opened by legacy handle
  uint64_t buffer_id, bytes;
  CUdeviceptr here;
  uint32_t row = 0;  // in the peer's ledger; 0: withdrawal is not reported
  uint64_t stamp = 0;
  int uses = 0;
  uint64_t last = 0;
  uint64_t base = 0;  // legacy: address in the peer
};

[[nodiscard]] bool open_legacy(const MemoryHandle& handle, cuda::Device& device, Import* import,
                               Failure* failure);
[[nodiscard]] bool reserve(const MemoryHandle& handle, cuda::Device& device, Window* window,
                           Failure* failure);
/// The mapped piece requires allow() before use. *fabric becomes false if a fabric import fails.
/// With a null `ledger`, the piece has a fabric handle.
[[nodiscard]] bool map_piece(const PeerLedger* ledger, Descriptors& descriptors,
                             const ChainPiece& piece, Window& window, bool* fabric, Import* import,
                             Failure* failure);
[[nodiscard]] bool allow(cuda::Device& device, CUdeviceptr at, size_t bytes, Failure* failure);
/// unmap() waits for all work on the device, and returns false if the place in the window stays
/// taken.
[[nodiscard]] bool unmap(const Import& import) noexcept;
void unreserve(const Window& window) noexcept;

}  // namespace tern::btl::cuda_ipc
