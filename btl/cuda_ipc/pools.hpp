// SPDX-License-Identifier: Apache-2.0
// Pools: memory of peers' pools (cuMemPoolCreate with a handle type).
// Why: an imported pointer must be freed before the owner frees the memory, perhaps right after the
// message. So Tern caches pools, and frees pointers after their last use.
#pragma once

#include <list>
#include <memory>
#include <string>
#include <vector>

#include "btl/cuda_ipc/opening.hpp"

namespace tern::btl::cuda_ipc {

class Pools {
 public:
  Pools() = default;
  Pools(const Pools&) = delete;
  Pools& operator=(const Pools&) = delete;
  ~Pools();
  [[nodiscard]] bool empty() const noexcept { return pools_.empty(); }
  [[nodiscard]] std::unique_ptr<MappedPeerMemory> map(const PeerLedger& ledger,
                                                      Descriptors& descriptors,
                                                      const ChainPiece& piece,
                                                      const MemoryHandle& handle,
                                                      cuda::Device& device, Failure* failure);
  /// With a null `ledger`, drop_withdrawn() drops all unused pools of the peer `process`.
  void drop_withdrawn(uint64_t process, const PeerLedger* ledger) noexcept;

 private:
  struct PeerPool {
    uint64_t process;
    uint32_t row;
    uint64_t stamp;
    cuda::Device* device;
    CUmemoryPool handle = nullptr;
    int pointers = 0;
  };
  struct Pointer {
    PeerPool* pool;
    uint64_t stamp;
    CUdeviceptr here;
    int uses;
  };
  class Use;
  PeerPool* pool_of(const PeerLedger& ledger, Descriptors& descriptors, uint32_t row,
                    const MemoryHandle& handle, cuda::Device& device, Failure* failure);
  Pointer* pointer_of(PeerPool& pool, const ChainPiece& piece, Failure* failure);
  void free(Pointer& pointer) noexcept;
  static void destroy(const PeerPool& pool) noexcept;

  std::list<PeerPool> pools_;
  std::list<Pointer> pointers_;
};

}  // namespace tern::btl::cuda_ipc
