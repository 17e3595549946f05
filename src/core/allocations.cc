// SPDX-License-Identifier: Apache-2.0
#include "core/allocations.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include "cuda/device.hpp"
#include "cuda/loaded.hpp"

namespace tern::core {
namespace {

constexpr size_t kMostLookedAt = 256;

bool has(const cuda::Memory& memory, uintptr_t at) noexcept {
  return at - memory.base < memory.bytes;
}

bool lies_in(const Data& data, const cuda::Memory& memory) noexcept {
  const auto first = reinterpret_cast<uintptr_t>(data.first());
  const MPI_Aint span = data.count > 0 ? data.type->extent() * (data.count - 1) : 0;
  const auto low = first + static_cast<uintptr_t>(std::min(span, MPI_Aint{0}));
  const auto behind = first + static_cast<uintptr_t>(std::max(span, MPI_Aint{0})) +
                      static_cast<uintptr_t>(data.type->true_extent());
  return has(memory, low) && behind - memory.base <= memory.bytes;
}

/// visit_piece() visits each new allocation or host range, until `visit` returns false.
template <class Visit>
bool visit_piece(const iovec& piece, cuda::Memory& last, const Visit& visit) noexcept {
  const auto begin = reinterpret_cast<uintptr_t>(piece.iov_base);
  for (uintptr_t at = begin; at - begin < piece.iov_len; at = last.base + last.bytes) {
    if (has(last, at)) continue;
    const auto* const address = reinterpret_cast<const void*>(at);
    last = cuda::on_device(cuda::kind_of(address)) ? cuda::look_up(address) : cuda::Memory{};
    if (!visit(address, last)) return false;
    if (last.bytes == 0) return true;
  }
  return true;
}

template <class Visit>
void visit_allocations(const Data& data, cuda::Memory last, size_t most_pieces,
                       const Visit& visit) noexcept {
  std::array<iovec, kMostLookedAt> pieces;
  const size_t total = data.bytes();
  size_t seen = 0;
  for (size_t offset = 0, covered = 0; offset < total && seen < most_pieces; offset += covered) {
    const size_t found = data.type->pieces(data.address, data.count, offset, total - offset,
                                           pieces.data(), pieces.size(), &covered);
    seen += found;
    for (size_t i = 0; i < found; ++i)
      if (!visit_piece(pieces[i], last, visit)) return;
  }
}

}  // namespace

// If the driver refuses to synchronise the first allocation, Job::settle() has ordered the job
// behind all writes of the context.
void settle(cuda::Job& job, const Data& data, const cuda::Memory& first) noexcept {
  job.settle(first);
  if (job.borrowed() || job.failed() || lies_in(data, first) ||
      !job.device().late_writes.are_none_on(first))
    return;
  visit_allocations(data, first, SIZE_MAX, [&job](const void*, const cuda::Memory& memory) {
    job.settle(memory);
    return !job.failed();
  });
}

void settle(cuda::Job& job, const Data& data) noexcept {
  settle(job, data, cuda::look_up(data.first()));
}

Apart places_apart(const Data& data) noexcept {
  if (cuda::no_driver_since.still()) return {};
  const void *host = nullptr, *device = nullptr;
  int ordinal = 0;
  Apart apart;
  visit_allocations(data, {}, kMostLookedAt, [&](const void* at, const cuda::Memory& memory) {
    if (memory.kind == cuda::MemoryKind::kManaged) return true;
    if (memory.kind == cuda::MemoryKind::kHost) {
      host = at;
    } else if (device == nullptr) {
      device = at;
      ordinal = memory.device;
    } else if (memory.device != ordinal) {
      apart = {device, at};
    }
    if (host != nullptr && device != nullptr) apart = {host, device};
    return apart.one == nullptr;
  });
  return apart;
}

}  // namespace tern::core
