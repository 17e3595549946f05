// SPDX-License-Identifier: Apache-2.0
// DeviceReceiver: see the header; and how a failure of device memory reads.
#include "pml/protocols/device_receiver.hpp"

#include "base/error.hpp"
#include "core/process.hpp"

namespace tern::pml {

bool DeviceReceiver::map(const btl::MemoryHandle& handle) noexcept {
  int code = MPI_SUCCESS;
  if (request_.buffer.on_device())
    job_ = core::begin_job(context_.process, request_.buffer.first(), &code);
  else if (cuda::Device* any = context_.process.gpus.any(); any != nullptr)
    job_ = cuda::Job(*any);
  else
    return false;
  if (code != MPI_SUCCESS || job_.failed()) return false;
  mapped_ = context_.devices.map(handle, job_.device());
  return mapped_ != nullptr;
}

Step DeviceReceiver::advance() noexcept {
  if (!copy_more() || !job_.done()) return Step::kAgain;
  const std::string why = job_.failed() ? job_.failure() : verify();
  mapped_.reset();  // the sender may free its memory once it is told
  if (TERN_LIKELY(why.empty())) return Step::kDone;
  failure = {MPI_ERR_OTHER, strf("copying %zu bytes of device memory from rank %d failed: %s",
                                 request_.transfer.bytes, request_.outcome.source, why.c_str())};
  return Step::kFailed;
}

}  // namespace tern::pml
