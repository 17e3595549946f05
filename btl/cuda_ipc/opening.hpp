// SPDX-License-Identifier: Apache-2.0
// What a process maps of a peer's memory, and the driver calls for it.
// Why: a block of several mappings must be one range of addresses here, too. A window mirrors a
// part of the peer's addresses, more than was asked for, so that a segment that grows is mapped
// further, not anew; addresses cost nothing.
// Lifetime: an Import until unmap(); a Window while imports lie in it. The device's context is
// current in all calls that take one.
#pragma once

#include "btl/cuda_ipc/descriptors.hpp"
#include "btl/cuda_ipc/failure.hpp"
#include "btl/cuda_ipc/ledger.hpp"

namespace tern::btl::cuda_ipc {

struct Window {
  cuda::Device* device;
  Owner owner;
  uint64_t base, bytes;  // there
  CUdeviceptr here;
  int imports = 0;
  bool closed = false;  // what lies in it is there until it goes: nothing else comes in

  [[nodiscard]] bool has(uint64_t address, uint64_t length) const noexcept {
    return address >= base && length <= bytes && address - base <= bytes - length;
  }
};

/// An allocation of a peer's, or a mapping, in the address space of this process.
struct Import {
  cuda::Device* device;
  Window* window;  // null: opened by its legacy handle
  uint64_t buffer_id, bytes;
  CUdeviceptr here;
  uint32_t row = 0;  // in the peer's ledger; 0: its owner cannot say that it is no more
  uint64_t stamp = 0;
  int uses = 0;
  uint64_t last = 0;  // the turn of its last use
  uint64_t base = 0;  // by a legacy handle: the address there
};

[[nodiscard]] bool open_legacy(const MemoryHandle& handle, cuda::Device& device, Import* import,
                               Failure* failure);
/// Addresses that mirror those around a handle's.
[[nodiscard]] bool reserve(const MemoryHandle& handle, cuda::Device& device, Window* window,
                           Failure* failure);
/// A piece at its place in a window; not to be used before allow(). *fabric: whether fabric
/// handles are tried; false afterwards where one could not be imported. Without a ledger the piece
/// has one.
[[nodiscard]] bool map_piece(const PeerLedger* ledger, Descriptors& descriptors, const Piece& piece,
                             Window& window, bool* fabric, Import* import, Failure* failure);
/// The device may use what is mapped at these addresses of this process.
[[nodiscard]] bool allow(cuda::Device& device, CUdeviceptr at, size_t bytes, Failure* failure);
/// Waits for everything on the device. False: its place in the window stays taken. Any thread.
[[nodiscard]] bool unmap(const Import& import) noexcept;
void unreserve(const Window& window) noexcept;

}  // namespace tern::btl::cuda_ipc
