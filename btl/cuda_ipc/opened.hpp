// SPDX-License-Identifier: Apache-2.0
// Opened: the legacy handles that this process has open, for all of its channels.
// Why: drivers differ in the answer to a second handle of a block of memory that is open already,
// and to the same handle again: some count, some give the first one's address, some refuse. So an
// allocation is opened once in a context, and another allocation's address is not taken.
// Lifetime: of the process; an opening until as many calls of close() as of open().
// Threads: any. See: btl/cuda_ipc/opening.hpp, tests/gpu/mpi/reopened_block.cc.
#pragma once

#include <condition_variable>
#include <list>
#include <mutex>

#include "btl/cuda_ipc/failure.hpp"
#include "btl/device.hpp"
#include "cuda/device.hpp"

namespace tern::btl::cuda_ipc {

class Opened {
 public:
  static Opened& instance() noexcept;
  /// Where its allocation is in this process; 0 with the reason. The device's context is current.
  /// Waits up to 50 ms for the end of a close() of the same block. Throws std::bad_alloc.
  [[nodiscard]] CUdeviceptr open(const MemoryHandle& handle, cuda::Device& device,
                                 Failure* failure);
  /// The last one waits for everything on the device.
  bool close(const cuda::Device& device, uint64_t base, uint64_t buffer_id,
             CUdeviceptr here) noexcept;

 private:
  struct One {
    const cuda::Device* device;
    uint64_t process, base, bytes, buffer_id;  // of the owner
    CUdeviceptr here;
    int users;    // 0: it is being closed
    int aliases;  // openings of other allocations that gave its address
  };
  One* find(const MemoryHandle& handle, const cuda::Device& device) noexcept;
  bool closes_block_of(const MemoryHandle& handle, const cuda::Device& device) noexcept;
  void close_aliases(const One& closed) noexcept;
  bool is_anothers(CUdeviceptr here, const MemoryHandle& handle,
                   const cuda::Device& device) noexcept;

  std::mutex mutex_;  // not held during a close, which waits for the device
  std::condition_variable closed_;
  std::list<One> all_;
};

}  // namespace tern::btl::cuda_ipc
