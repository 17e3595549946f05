// SPDX-License-Identifier: Apache-2.0
// Sm: the segment, first contacts, progress over all rings.
#include "btl/sm/sm.hpp"

#include <algorithm>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/remote_fence.hpp"
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
  // Each channel has rings for several of a peer's channels, because a peer may have more channels
  // than this rank.
  const uint32_t channels = process.channel_count();
  const auto rings = static_cast<uint32_t>(process.node.ranks) * (kMostChannels / channels);
  return {channels, rings, lines, blocks};
}

std::vector<uint32_t> claims_of(uint32_t channel) {
  std::vector<uint32_t> slots;
  for (uint32_t slot = kClaims; slot > 0; --slot) slots.push_back(channel * kClaims + slot - 1);
  return slots;
}

std::shared_ptr<Segment> make_segment(const core::Process& process) {
  if ((process.params.sm_ring_bytes & (process.params.sm_ring_bytes - 1)) != 0)
    throw Error(MPI_ERR_ARG, strf("sm_ring in TERN_TEST is %lld, but must be a power of two",
                                  static_cast<long long>(process.params.sm_ring_bytes)));
  return std::make_shared<Segment>(
      Segment::create(shape_for(process), static_cast<uint32_t>(process.world_rank)));
}

bool senders_fence(const core::Process& process) noexcept {
  return process.node.oversubscribed || process.params.progress == ProgressBy::kThread ||
         process.params.longest_sleep == Doorbell::kUntilRung || !heeds_remote_fences();
}

}  // namespace

Sm::Sm(core::Process& process, Sink& sink, AddressBook& book)
    : Sm(process, sink, book, 0, make_segment(process)) {
  cma_allow(process.boot == nullptr ? 0 : process.boot->job().server_pid);
}

Sm::Sm(core::Process& process, Sink& sink, AddressBook& book, uint32_t channel,
       std::shared_ptr<Segment> segment)
    : process_(process),
      sink_(sink),
      book_(book),
      segment_(std::move(segment)),
      shared_{*segment_,
              Pool(*segment_, channel),
              claims_of(channel),
              static_cast<uint32_t>(process.world_rank),
              channel,
              static_cast<size_t>(process.params.sm_ring_bytes) / 8,
              static_cast<size_t>(process.params.sm_fragment),
              static_cast<size_t>(process.params.sm_fragments),
              process.explain,
              false,
              senders_fence(process)},
      slabs_(process, *this, channel, shared_.fenced) {}

Sm::~Sm() = default;

std::unique_ptr<Btl> Sm::for_channel(Sink& sink, uint32_t channel) {
  return std::unique_ptr<Btl>(new Sm(process_, sink, book_, channel, segment_));
}

std::string Sm::address() {
  if (shared_.own_channel != 0) return {};
  const SmAddress own = segment_->address();
  return {reinterpret_cast<const char*>(&own), sizeof own};
}

bool Sm::reaches(const core::Peer& peer) const noexcept {
  if (peer.nspace != 0) return peer.shares_memory;
  return process_.boot != nullptr && process_.boot->is_local(static_cast<int>(peer.rank));
}

Endpoint* Sm::connect(core::Peer& peer, uint32_t hint) {
  if (!reaches(peer)) return nullptr;
  for (auto& endpoint : endpoints_)
    if (&endpoint->to.peer == &peer && endpoint->to.serves(hint)) return endpoint.get();
  const uint32_t channels = attached(peer).channels;
  return &endpoint_to({peer, hint & (channels - 1), channels});
}

Attached& Sm::attached(const core::Peer& peer) {
  const auto known = attached_.find(peer.index);
  if (known != attached_.end()) return known->second;
  const SmAddress address = address_of(peer);
  const bool is_stranger = peer.nspace != 0;
  Attached made{address, book_.of(peer).channels, attach(address, peer)};
  made.is_stranger = is_stranger;
  made.tolerates_deaths = process_.deaths.tolerated();
  if (is_stranger) shared_.fenced = senders_fence(process_);
  return attached_.emplace(peer.index, std::move(made)).first->second;
}

Segment Sm::attach(const SmAddress& address, const core::Peer& peer) const try {
  const auto part = peer.nspace != 0 ? Segment::Part::kWhole : Segment::Part::kWorld;
  return Segment::attach(address, peer.rank, part);
} catch (const Error& error) {
  if (error.mpi_class() != MPI_ERR_PROC_ABORTED) throw;
  core::FaultWatch* const watch = process_.deaths.watch;
  if (watch != nullptr) (void)watch->has_died(peer.index);
  throw Error(process_.deaths.lost_class(MPI_ERR_OTHER), error.what());
}

SmAddress Sm::address_of(const core::Peer& peer) const {
  const auto address = book_.address_as<SmAddress>(peer, name(), 0);
  if (address.is_own_process() && !process_.boot->job().threads)
    throw Error(MPI_ERR_OTHER, strf("the connection info of rank %u names the process of this rank "
                                    "(%d): two processes have entered the job as the same rank",
                                    peer.rank, address.pid));
  return address;
}

SmEndpoint& Sm::endpoint_to(const Destination& destination) {
  for (auto& endpoint : endpoints_)
    if (&endpoint->to.peer == &destination.peer && endpoint->to.channel == destination.channel)
      return *endpoint;
  endpoints_.push_back(
      std::make_unique<SmEndpoint>(shared_, destination, attached(destination.peer)));
  if (destination.peer.nspace != 0) ++strangers_;
  return *endpoints_.back();
}

void Sm::meet_new_senders() noexcept {
  const uint32_t rings = segment_->shape().rings;
  const uint32_t claimed_rings = std::min(claimed().rings.load(std::memory_order_acquire), rings);
  while (met_ < claimed_rings) {
    const uint32_t ring = shared_.own_channel * rings + met_;
    const uint64_t writer = segment_->control(ring).owner.load(std::memory_order_acquire);
    if (writer == 0 || now_ns() < try_again_at_) return;
    try {
      meet(own_world(writer), writer, ring);
    } catch (const Error& error) {
      if (may_pass(error)) return;
      if (!is_death(error)) return give_up(error.what());
    }
    ++met_;
    if (refused_since_ != 0) process_.channel(shared_.own_channel).progress.stay_awake(-1);
    refused_since_ = 0;
  }
}

/// With fault tolerance: the sender died before the first contact.
bool Sm::is_death(const Error& error) const noexcept {
  return process_.deaths.tolerated() && error.mpi_class() == process_.deaths.lost_class();
}

// Descriptors may become free, so attaching is retried for 5 s while the sender waits.
bool Sm::may_pass(const Error& error) noexcept {
  constexpr int64_t kLongest = 5'000'000'000, kBetweenTries = 10'000'000;
  const int64_t now = now_ns();
  if (refused_since_ == 0) {
    refused_since_ = now;
    process_.channel(shared_.own_channel).progress.stay_awake(1);
  }
  try_again_at_ = now + kBetweenTries;
  return error.mpi_class() == MPI_ERR_NO_MEM && now - refused_since_ < kLongest;
}

core::Peer& Sm::own_world(uint64_t writer) const {
  const uint32_t rank = RingControl::rank_of(writer);
  if (RingControl::world_of(writer) != 0 || !process_.boot->is_local(static_cast<int>(rank)))
    throw Error(MPI_ERR_INTERN,
                strf("a ring of the shared memory is damaged: rank %u is not on this host", rank));
  return process_.peer(rank);
}

// A ring may name a process that has parted from this one.
void Sm::meet_strangers() noexcept {
  const uint32_t claims = claimed().by_strangers.load(std::memory_order_acquire);
  const uint32_t first = segment_->shape().first_stranger_ring(shared_.own_channel);
  for (uint32_t i = 0; i < segment_->shape().stranger_rings(); ++i) {
    const uint64_t writer = segment_->control(first + i).owner.load(std::memory_order_acquire);
    if (writer == 0) continue;
    const auto index =
        process_.worlds.find(RingControl::world_of(writer), RingControl::rank_of(writer));
    if (!index || !process_.peer(*index).shares_memory || is_bound(*index, writer)) continue;
    try {
      meet(process_.peer(*index), writer, first + i);
    } catch (const Error& error) {
      if (may_pass(error)) return;
      if (error.mpi_class() == MPI_ERR_INTERN) return give_up(error.what());
      // The stranger has died before the first contact on this channel.
    }
  }
  met_strangers_ = claims;
}

bool Sm::is_bound(uint32_t index, uint64_t writer) const noexcept {
  return std::any_of(senders_.begin(), senders_.end(), [&](const SmEndpoint* one) {
    return one->to.peer.index == index && one->to.channel == RingControl::channel_of(writer);
  });
}

void Sm::meet(core::Peer& peer, uint64_t writer, uint32_t ring) {
  const uint32_t rank = peer.rank, channel = RingControl::channel_of(writer);
  const uint32_t channels = attached(peer).channels;
  if (channel >= channels)
    throw Error(MPI_ERR_INTERN, strf("a ring of the shared memory is damaged: channel %u of rank "
                                     "%u, but the rank has %u channels",
                                     channel, rank, channels));
  SmEndpoint& endpoint = endpoint_to({peer, channel, channels});
  if (endpoint.queue.bound())
    throw Error(MPI_ERR_INTERN, strf("the shared memory is damaged: two rings name rank %u", rank));
  endpoint.queue.bind(ring);
  senders_.push_back(&endpoint);
}

void Sm::give_up(const std::string& why) noexcept {
  if (given_up_) return;
  given_up_ = true;
  log_line("%s", why.c_str());
  process_.boot->abort(1, why.c_str());
}

int Sm::drain(SmEndpoint& endpoint) noexcept {
  Frame frame;
  int frames = 0;
  while (frames < kFramesPerRound && endpoint.queue.peek(&frame)) {
    sink_.arrived(endpoint, frame);
    endpoint.queue.pop();
    ++frames;
  }
  if (TERN_UNLIKELY(endpoint.queue.damaged()))
    give_up(
        strf("the shared memory between rank %u and this rank is damaged: a frame of kind %u "
             "claims %u bytes. Does a rank write outside its arrays?",
             endpoint.to.peer.rank, frame.header.kind, frame.header.bytes));
  return frames;
}

bool Sm::is_met() const noexcept {
  return std::all_of(endpoints_.begin(), endpoints_.end(), [](const auto& endpoint) {
    return endpoint->queue.bound() || endpoint->gone();
  });
}

int Sm::progress() noexcept {
  if (TERN_UNLIKELY(claimed().rings.load(std::memory_order_relaxed) != met_)) meet_new_senders();
  if (TERN_UNLIKELY(claimed().by_strangers.load(std::memory_order_relaxed) != met_strangers_))
    meet_strangers();
  int frames = 0;
  for (SmEndpoint* endpoint : senders_) frames += drain(*endpoint);
  if (TERN_UNLIKELY(strangers_ != 0)) look_after_strangers();
  return frames;
}

void Sm::look_after_strangers() noexcept {
  constexpr uint32_t kRoundsBetweenLooks = 1023;
  if ((++rounds_ & kRoundsBetweenLooks) != 0 &&
      !process_.channel(shared_.own_channel).progress.is_before_sleep())
    return;
  for (size_t i = 0; i < endpoints_.size(); ++i) {  // failed() may make others
    SmEndpoint& endpoint = *endpoints_[i];
    if (!endpoint.finds_end()) continue;
    while (drain(endpoint) != 0) {
    }
    endpoint.set_lost();
    sink_.failed(endpoint, strf("process %d has ended without MPI_Finalize", endpoint.pid()));
  }
}

bool Sm::say_bye(const core::Peer& peer) noexcept {
  if (claimed().by_strangers.load(std::memory_order_acquire) != met_strangers_) meet_strangers();
  bool both = true;
  for (const auto& endpoint : endpoints_)
    if (&endpoint->to.peer == &peer) both &= endpoint->say_bye();
  return both;
}

void Sm::part(const core::Peer& peer) noexcept {
  const auto is_of_peer = [&](const auto& endpoint) { return &endpoint->to.peer == &peer; };
  std::erase_if(senders_, is_of_peer);
  for (const auto& endpoint : endpoints_)
    if (is_of_peer(endpoint)) endpoint->unuse();
  strangers_ -= static_cast<uint32_t>(std::erase_if(endpoints_, is_of_peer));
  attached_.erase(peer.index);
  shared_.fenced = senders_fence(process_);
}

extern const Transport kTransport{
    .name = "sm",
    .reaches = "ranks of the same host",
    .make = [](core::Process& process, Sink& sink, AddressBook& book) -> std::unique_ptr<Btl> {
      if (process.node.ranks < 2 && !process.meets_worlds) return nullptr;
      return std::make_unique<Sm>(process, sink, book);
    },
    .try_here = try_here};

}  // namespace tern::btl::sm
