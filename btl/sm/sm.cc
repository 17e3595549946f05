// SPDX-License-Identifier: Apache-2.0
// Sm: the segment, first contacts, and the round over all rings.
#include "btl/sm/sm.hpp"

#include <sys/stat.h>

#include "base/error.hpp"
#include "base/log.hpp"
#include "boot/boot.hpp"
#include "btl/sm/cma.hpp"
#include "core/peer.hpp"
#include "core/process.hpp"
#include "mpi.h"

namespace tern::btl::sm {
namespace {

constexpr int kFramesPerRound = 64;

Shape shape_for(const core::Process& process) {
  const auto lines =
      static_cast<uint32_t>(static_cast<size_t>(process.params.sm_ring_bytes) / kLine);
  const auto blocks =
      static_cast<uint32_t>(static_cast<size_t>(process.params.sm_pool_bytes) / kBlockBytes);
  return {static_cast<uint32_t>(process.node_size), lines, blocks};
}

std::vector<uint32_t> all_claims() {
  std::vector<uint32_t> slots;
  for (uint32_t slot = kClaims; slot > 0; --slot) slots.push_back(slot - 1);
  return slots;
}

}  // namespace

Sm::Sm(core::Process& process, Sink& sink)
    : process_(process),
      sink_(sink),
      segment_(Segment::create(shape_for(process), static_cast<uint32_t>(process.world_rank))),
      shared_{segment_,
              Pool(segment_),
              all_claims(),
              static_cast<uint32_t>(process.world_rank),
              static_cast<size_t>(process.params.sm_ring_bytes) / 8 - sizeof(Header),
              static_cast<size_t>(process.params.sm_fragment),
              static_cast<size_t>(process.params.sm_fragments),
              process.explain,
              false,
              process.oversubscribed} {
  if ((process.params.sm_ring_bytes & (process.params.sm_ring_bytes - 1)) != 0)
    throw Error(MPI_ERR_ARG, strf("TERN_SM_RING is %lld, but it must be a power of two",
                                  static_cast<long long>(process.params.sm_ring_bytes)));
  cma_allow(process.boot == nullptr ? 0 : process.boot->job().server_pid);
}

Sm::~Sm() = default;

void Sm::fill_card(Card& card) {
  struct stat status {};
  if (::fstat(segment_.fd().get(), &status) != 0)
    throw Error(MPI_ERR_INTERN, "cannot ask the shared memory file for its inode");
  card.pid = ::getpid();
  card.segment_fd = segment_.fd().get();
  card.segment_inode = status.st_ino;
  card.segment_bytes = segment_.shape().bytes();
  card.segment_address = reinterpret_cast<uint64_t>(segment_.base());
}

Endpoint* Sm::connect(core::Peer& peer) {
  if (process_.boot == nullptr || !process_.boot->is_local(static_cast<int>(peer.rank)))
    return nullptr;
  return &endpoint_of(peer);
}

SmEndpoint& Sm::endpoint_of(core::Peer& peer) {
  for (auto& endpoint : endpoints_)
    if (&endpoint->peer() == &peer) return *endpoint;
  const Card card = process_.boot->card_as<Card>(static_cast<int>(peer.rank));
  if (card.wire_version != kWireVersion)
    throw Error(MPI_ERR_OTHER,
                strf("rank %u speaks version %u of Tern's wire, this rank %u: all ranks need the "
                     "same installation",
                     peer.rank, card.wire_version, kWireVersion));
  endpoints_.push_back(std::make_unique<SmEndpoint>(shared_, peer, card));
  return *endpoints_.back();
}

// A ring claimed in the own segment: somebody is about to send for the first time.
void Sm::meet_new_senders() noexcept {
  const uint32_t claimed = segment_.head().rings_claimed.load(std::memory_order_acquire);
  while (met_ < claimed) {
    const uint32_t owner = segment_.control(met_).owner.load(std::memory_order_acquire);
    if (owner == 0) return;  // still being claimed
    try {
      SmEndpoint& endpoint = endpoint_of(process_.peer(owner - 1));
      endpoint.bind_reader(met_++);
      senders_.push_back(&endpoint);
    } catch (const Error& error) {
      log_line("%s", error.what());
      process_.boot->abort(1, error.what());
      return;
    }
  }
}

int Sm::drain(SmEndpoint& endpoint) noexcept {
  Frame frame;
  int frames = 0;
  while (frames < kFramesPerRound && endpoint.peek(&frame)) {
    sink_.arrived(endpoint.peer(), frame);
    endpoint.pop();
    ++frames;
  }
  return frames;
}

int Sm::progress() noexcept {
  if (TERN_UNLIKELY(segment_.head().rings_claimed.load(std::memory_order_relaxed) != met_))
    meet_new_senders();
  int frames = 0;
  for (SmEndpoint* endpoint : senders_) frames += drain(*endpoint);
  return frames;
}

}  // namespace tern::btl::sm
