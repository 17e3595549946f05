// SPDX-License-Identifier: Apache-2.0
// Opened: the process's open legacy IPC handles, for all channels.
// Why: for a second open of a handle or a 2 MiB block, drivers return a counted address, the first
// allocation's address, or an error. So each allocation is opened once per context, and another
// allocation's address is refused.
// Lifetime: the process; an entry until its last close(). Threads: any.
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
  /// open() returns the address in this process, or 0 with the reason, and waits up to 50 ms for a
  /// close() of the same 2 MiB. Requires the context. Throws std::bad_alloc.
  [[nodiscard]] CUdeviceptr open(const MemoryHandle& handle, cuda::Device& device,
                                 Failure* failure);
  bool close(const cuda::Device& device, uint64_t base, uint64_t buffer_id,
             CUdeviceptr here) noexcept;

 private:
  struct One {
    const cuda::Device* device;
    uint64_t process, base, bytes, buffer_id;
    CUdeviceptr here;
    int users;    // 0: the driver is closing the handle
    int aliases;  // openings of other allocations at the same address
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
