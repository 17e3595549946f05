// SPDX-License-Identifier: Apache-2.0
// Copies between processes, for the protocols "pull" and "both ends".
#include "pml/protocols/copies.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>

#include "base/error.hpp"
#include "core/peer.hpp"
#include "core/process.hpp"
#include "pml/limits.hpp"
#include "pml/request_pool.hpp"

namespace tern::pml {
namespace {

/// In sparse data, the memory latency of packing hides the pipeline's transfer.
bool is_sparse(const Buffer& buffer) noexcept {
  constexpr MPI_Aint kSparse = 8;
  const core::Datatype& type = *buffer.type;
  const MPI_Aint span = buffer.count > 1 ? std::abs(type.extent()) : type.true_extent();
  return span / kSparse > type.size();
}

// The pipeline's two copies overlap on two cores. With several messages, or more ranks than cores,
// one copy is less work.
bool prefers_pipeline(const ProtocolContext& context, size_t bytes) noexcept {
  if (context.limits.pull == Limits::kNever) return true;
  return bytes < context.limits.pull && context.requests.receiving() == 1 &&
         !context.process.node.oversubscribed;
}

// The kernel cannot copy device mappings and secret memory.
void explain_copy_failed(const ProtocolContext& context, const RecvRequest& request,
                         int error) noexcept {
  const core::Peer& peer = *request.peer->peer;
  context.process.explain.warn(
      "fallback", {{"peer", peer.rank}, {"what", "two copies"}, {"why", std::strerror(error)}},
      strf("a message of %zu bytes from rank %u takes two copies: the kernel denies copies between "
           "the two buffers (%s), as for device mappings. Cure: use ordinary memory",
           request.transfer.bytes, peer.rank, std::strerror(error)));
}

}  // namespace

// With more ranks than cores the pipeline is better: each frame wakes the waiting receiver.
bool PackStage::open(const ProtocolContext& context, const Buffer& buffer, size_t bytes) noexcept {
  constexpr size_t kMostStaged = 32 << 20;
  if (buffer.type->contiguous()) return true;
  if (is_sparse(buffer)) return false;
  if (context.process.node.oversubscribed || bytes < context.limits.pull || bytes > kMostStaged)
    return false;
  memory_.reset(new (std::nothrow) std::byte[bytes]);
  return memory_ != nullptr;
}

void PackStage::unpack(const Buffer& buffer, size_t end) noexcept {
  if (!in_use()) return;
  buffer.type->unpack(buffer.address, buffer.count, unpacked_, memory_.get() + unpacked_,
                      end - unpacked_);
  unpacked_ = end;
}

bool may_copy(const ProtocolContext& context, const RecvRequest& request,
              const Announced& announced) noexcept {
  return announced.rts.address != 0 && !request.buffer.on_device() &&
         !prefers_pipeline(context, request.transfer.bytes) && can_copy(*request.peer->endpoint);
}

// Lets the launcher report the cause of a peer's death first.
HalfStep copy_failed(ProtocolContext& context, const RecvRequest& request, int error,
                     Failure* failure) noexcept {
  if (error == ESRCH) {
    constexpr useconds_t kLauncherFirst = 200'000;
    if (!context.process.deaths.tolerated()) ::usleep(kLauncherFirst);
    *failure = {context.process.deaths.lost_class(),
                strf("rank %d has died while sending %zu bytes", request.outcome.source,
                     request.transfer.bytes)};
    return HalfStep::kFailed;
  }
  if (!context.told_copy_failed) explain_copy_failed(context, request, error);
  context.told_copy_failed = true;
  return HalfStep::kOther;
}

}  // namespace tern::pml
