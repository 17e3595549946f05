// SPDX-License-Identifier: Apache-2.0
// SmSlabs: free lists and peers' slabs.
#include "btl/sm/slabs.hpp"

#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "btl/sm/cma.hpp"
#include "core/peer.hpp"
#include "core/process.hpp"
#include "mpi.h"

namespace tern::btl::sm {

bool SmSlabs::reaches(const core::Peer& peer) const noexcept {
  return segments_.reaches_segment(peer);
}

uint32_t SmSlabs::claim(Size size) {
  Free& free = free_[static_cast<size_t>(size)];
  if (!free.returned.empty()) {
    const uint32_t slab = free.returned.back();
    free.returned.pop_back();
    return slab;
  }
  const uint32_t count = kSlabs[static_cast<size_t>(size)];
  if (free.untouched == count) return kNone;
  free.returned.reserve(free.untouched + 1);
  return channel_ * count + free.untouched++;
}

void SmSlabs::release(Size size, uint32_t slab) noexcept {
  free_[static_cast<size_t>(size)].returned.push_back(slab);
}

std::byte* SmSlabs::own(Size size, uint32_t slab) noexcept {
  return segments_.segment().slab(size, slab);
}

std::byte* SmSlabs::of(core::Peer& peer, Size size, uint32_t slab) {
  const Segment& segment = segments_.attached(peer).segment;
  const uint32_t count = segment.shape().all_slabs(size);
  if (slab >= count)
    throw Error(MPI_ERR_INTERN,
                strf("rank %u names slab %u of its shared memory, which has %u for data of this "
                     "size: do the ranks pass data of different sizes?",
                     peer.rank, slab, count));
  return segment.slab(size, slab);
}

bool SmSlabs::has_died(core::Peer& peer) noexcept {
  return segments_.attached(peer).has_died(peer.rank);
}

Doorbell& SmSlabs::bell(core::Peer& peer) {
  return segments_.attached(peer).segment.head().doorbell;
}

bool SmSlabs::can_get(core::Peer& peer) {
  const Attached& there = segments_.attached(peer);
  if (process_.params.sm_single_copy == SingleCopy::kPipeline) return false;
  if (there.address.is_own_process()) return true;
  const auto* word = reinterpret_cast<const void*>(there.address.base);
  return cma_probe(there.address.pid_here(), word, there.segment.head().magic) == 0;
}

int SmSlabs::get(core::Peer& peer, void* to, uint64_t from, size_t bytes) noexcept {
  const SmAddress& address = segments_.attached(peer).address;
  const pid_t pid = address.pid_here();
  if (pid == self_) {
    std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
    return 0;
  }
  const iovec local{to, bytes}, remote{reinterpret_cast<void*>(from), bytes};
  return cma_get(pid, &local, 1, &remote, 1);
}

// is_readable() checks the first and the last byte, because a buffer hardly ever spans two
// mappings. The result is not cached, because the address may be remapped.
bool SmSlabs::is_readable(const void* address, size_t bytes) noexcept {
  const auto first = reinterpret_cast<uintptr_t>(address), last = first + bytes - 1;
  std::array<std::byte, 2> ends;
  const iovec local{ends.data(), ends.size()};
  const std::array<iovec, 2> remote{
      {{reinterpret_cast<void*>(first), 1}, {reinterpret_cast<void*>(last), 1}}};
  const int error = cma_get(self_, &local, 1, remote.data(), remote.size());
  if (error == 0) return true;
  if (!std::exchange(refusal_said_, true))
    process_.explain.warn(
        "fallback", {{"what", "two copies"}, {"why", std::strerror(error)}},
        strf("%zu bytes of a collective take two copies: the kernel denies other processes access "
             "to the buffer (%s), as for device mappings. Cure: use ordinary memory",
             bytes, std::strerror(error)));
  return false;
}

}  // namespace tern::btl::sm
