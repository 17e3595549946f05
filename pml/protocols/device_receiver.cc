// SPDX-License-Identifier: Apache-2.0
// DeviceReceiver: mapping, copying, failures.
#include "pml/protocols/device_receiver.hpp"

#include <algorithm>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "core/process.hpp"

namespace tern::pml {

// A user's copy that returned early ends in microseconds, unless other work precedes.
bool ends_soon(cuda::Job& job) noexcept {
  constexpr int64_t kSoon = 2'000'000;  // ns
  if (TERN_LIKELY(job.done())) return true;
  for (const int64_t until = now_ns() + kSoon; now_ns() < until;)
    if (job.done()) return true;
  return false;
}

bool DeviceReceiver::map(const btl::MemoryHandle& handle) noexcept {
  Failure why;
  if (request_.buffer.on_device())
    job_ = core::begin_job(context_.process, request_.buffer, &why);
  else if (cuda::Device* any = context_.process.gpus.any(); any != nullptr)
    job_ = cuda::Job(*any);
  else
    return false;
  if (why || job_.failed()) return false;
  is_afar_ = !(handle.device == job_.device().uuid);
  mapped_ = context_.devices.map(handle, job_.device());
  if (mapped_ == nullptr) job_.abandon();
  return mapped_ != nullptr;
}

// Small blocks cross the link together, and are unpacked locally.
void DeviceReceiver::take(size_t offset, const std::byte* from, size_t bytes) noexcept {
  constexpr size_t kMost = 8 << 20;
  const auto& buffer = request_.buffer;
  if (is_afar_ && buffer.on_device() && !buffer.type->contiguous() && !local_.valid() &&
      job_.device().kernels() != nullptr &&
      job_.device().blocks.lends(cuda::Store::kDevice, std::min(request_.transfer.bytes, kMost)))
    local_ = cuda::Block(job_, std::min(request_.transfer.bytes, kMost));
  if (!local_.valid()) return core::unpack(job_, buffer, offset, from, bytes);
  for (size_t done = 0; done < bytes; done += local_.bytes()) {
    const size_t some = std::min(bytes - done, local_.bytes());
    job_.copy(local_.data(), from + done, some);
    core::unpack(job_, buffer, offset + done, local_.data(), some);
  }
}

HalfStep DeviceReceiver::advance() noexcept {
  if (!copy_more() || !job_.done()) return HalfStep::kAgain;
  const std::string why = job_.failed() ? job_.failure() : verify();
  mapped_.reset();  // before Done, since the sender may then free the memory
  if (TERN_LIKELY(why.empty())) return HalfStep::kDone;
  failure = {MPI_ERR_OTHER, strf("copying %zu bytes of device memory from rank %d failed: %s",
                                 request_.transfer.bytes, request_.outcome.source, why.c_str())};
  return HalfStep::kFailed;
}

}  // namespace tern::pml
