// SPDX-License-Identifier: Apache-2.0
// RdmaBlock: host memory, and device memory with its order.
#include "pml/protocols/rdma.hpp"

#include "base/error.hpp"
#include "core/process.hpp"
#include "cuda/rdma_memory.hpp"
#include "mpi.h"
#include "pml/protocols/device_receiver.hpp"

namespace tern::pml {

bool RdmaBlock::open_host(btl::Rdma& rdma, std::byte* first, size_t bytes) noexcept {
  first_ = first;
  region_ = rdma.register_memory(first, bytes);
  return is_open();
}

// An adapter is in no stream: late writes of the application must end first.
bool RdmaBlock::open(ProtocolContext& context, btl::Rdma& rdma, const Buffer& buffer,
                     size_t bytes) noexcept {
  if (!buffer.on_device()) return open_host(rdma, buffer.first(), bytes);
  first_ = buffer.first();
  region_ = rdma.register_device({first_, bytes});
  if (is_open() && !settle(context, buffer)) close();
  return is_open();
}

bool RdmaBlock::settle(ProtocolContext& context, const Buffer& buffer) noexcept {
  Failure failure;
  cuda::Job job = core::begin_job(context.process, buffer, &failure);
  if (failure) return false;
  device_ = &job.device();
  const bool is_orderly = !cuda::needs_flush(*device_) || cuda::can_flush(*device_);
  if (is_orderly && ends_soon(job)) return !job.failed();
  job.abandon();
  return false;
}

Failure RdmaBlock::end_writes() const noexcept {
  if (device_ == nullptr || !cuda::needs_flush(*device_)) return {};
  const CUresult result = cuda::flush_adapter_writes(*device_);
  if (result == CUDA_SUCCESS) return {};
  return {MPI_ERR_OTHER, strf("the adapter's writes to device memory cannot be ordered: %s",
                              cuda::words_of("cuFlushGPUDirectRDMAWrites", result).c_str())};
}

}  // namespace tern::pml
