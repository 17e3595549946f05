// SPDX-License-Identifier: Apache-2.0
// Pools: memory of peers' pools (cuMemPoolCreate with a handle type) in this process.
// Why: a pool is imported once, then a pointer at a time; and an imported pointer must be freed
// before its owner frees the memory, which the owner may do as soon as the message is done. So
// nothing is kept but the pool: a pointer is given back with its last use.
// Lifetime: a pool until its owner withdraws it. Threads: under the channel's lock.
// See: btl/cuda_ipc/cuda_ipc.hpp, tests/gpu/mpi/pool_memory_given_back.cc.
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
  /// The block of a handle whose row is a Row::kPointer.
  [[nodiscard]] std::unique_ptr<MappedPeerMemory> map(const PeerLedger& ledger,
                                                      Descriptors& descriptors, const Piece& piece,
                                                      const MemoryHandle& handle,
                                                      cuda::Device& device, Failure* failure);
  /// Those of a process that are not in its ledger any more; all, if `ledger` is null.
  void drop_withdrawn(uint64_t process, const PeerLedger* ledger) noexcept;

 private:
  struct Pool {
    uint64_t process;
    uint32_t row;
    uint64_t stamp;
    cuda::Device* device;  // that may use it
    CUmemoryPool handle = nullptr;
    int pointers = 0;
  };
  struct Pointer {
    Pool* pool;
    uint64_t stamp;  // of its row
    CUdeviceptr here;
    int uses;
  };
  class Use;
  Pool* pool_of(const PeerLedger& ledger, Descriptors& descriptors, uint32_t row,
                const MemoryHandle& handle, cuda::Device& device, Failure* failure);
  Pointer* pointer_of(Pool& pool, const Piece& piece, Failure* failure);
  void free(Pointer& pointer) noexcept;
  static void destroy(const Pool& pool) noexcept;

  std::list<Pool> pools_;
  std::list<Pointer> pointers_;
};

}  // namespace tern::btl::cuda_ipc
