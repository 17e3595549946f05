// SPDX-License-Identifier: Apache-2.0
// SmEndpoint: frames, and copies between processes.
#include "btl/sm/endpoint.hpp"

#include <algorithm>
#include <cstring>

#include "base/clock.hpp"
#include "base/copy.hpp"
#include "base/ended.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "btl/sm/cma.hpp"
#include "core/peer.hpp"
#include "mpi.h"

namespace tern::btl::sm {
namespace {

uint32_t claim_ring(const Segment& segment, uint32_t channel, uint64_t writer) {
  const uint32_t rings = segment.shape().rings;
  const uint32_t mine =
      segment.head().claimed[channel].rings.fetch_add(1, std::memory_order_acq_rel);
  if (mine >= rings)
    throw Error(MPI_ERR_INTERN, strf("all %u rings of channel %u of rank %u are taken", rings,
                                     channel, segment.head().rank));
  const uint32_t ring = channel * rings + mine;
  segment.control(ring).owner.store(writer, std::memory_order_release);
  return ring;
}

uint32_t claim_ring_of_strangers(const Segment& segment, uint32_t channel, uint64_t writer) {
  const uint32_t first = segment.shape().first_stranger_ring(channel);
  for (uint32_t i = 0; i < segment.shape().stranger_rings(); ++i) {
    std::atomic<uint64_t>& owner = segment.control(first + i).owner;
    uint64_t none = 0;
    if (owner.load(std::memory_order_relaxed) != 0 ||
        !owner.compare_exchange_strong(none, writer, std::memory_order_acq_rel))
      continue;
    segment.head().claimed[channel].by_strangers.fetch_add(1, std::memory_order_release);
    return first + i;
  }
  throw Error(MPI_ERR_OTHER,
              strf("rank %u of another world has no ring left: a process shares memory with %u "
                   "processes of other worlds at most; disconnect some",
                   segment.head().rank, kMostStrangers));
}

uint32_t claim_ring(const Shared& shared, const Destination& to, const Segment& segment) {
  const uint64_t writer = RingControl::name(to.peer.there, shared.own_rank, shared.own_channel);
  return to.peer.nspace == 0 ? claim_ring(segment, to.channel, writer)
                             : claim_ring_of_strangers(segment, to.channel, writer);
}

}  // namespace

bool Attached::gone(uint32_t rank) noexcept {
  return segment.head().gone.load(std::memory_order_relaxed) != 0 || has_died(rank);
}

// The message about a dead rank appears only without a launcher, which would end this rank as well.
// A stranger's end fails its messages.
bool Attached::has_died(uint32_t rank) noexcept {
  constexpr int64_t kBetweenLooksNs = 50'000'000;
  std::atomic<uint32_t>& gone = segment.head().gone;
  if (gone.load(std::memory_order_relaxed) == SegmentHead::kDied) return true;
  const int64_t now = now_ns();
  if (now < next_look_ns) return false;
  const bool is_first = next_look_ns == 0;
  next_look_ns = now + kBetweenLooksNs;
  if (is_first || address.is_own_process() || !has_ended(address.pid_here())) return false;
  gone = SegmentHead::kDied;
  if (is_stranger || tolerates_deaths) return true;
  log_line(
      "rank %u has died without leaving MPI (process %d); MPI_Finalize does not wait for this rank",
      rank, address.pid);
  return true;
}

SmEndpoint::SmEndpoint(Shared& shared, const Destination& leads_to, Attached& peer)
    : Endpoint(leads_to, {.same_process = peer.address.is_own_process(),
                          .queue = &queue,
                          .peer_copy = peer.address.is_own_process()
                                           ? static_cast<PeerCopy*>(&own_process_copy_)
                                           : &copy_,
                          .claims = &claims_}),
      queue(shared, peer.segment),
      shared_(shared),
      peer_(peer),
      segment_(peer.segment),
      copy_(shared, peer, leads_to.peer.rank),
      claims_(shared, peer.segment) {
  const uint32_t ring = claim_ring(shared, to, segment_);
  const uint32_t lines = segment_.shape().ring_lines;  // the peer may have another sm_ring
  inline_limit_ = std::min(shared.inline_limit, std::max<size_t>(lines / 8, 1) * kLine);
  control_ = &segment_.control(ring);
  writer_ = RingWriter(segment_.ring(ring), lines, control_);
  shared_.pool.add(in_flight_);
}

void SmQueue::bind(uint32_t index) noexcept {
  ring_ = RingReader(shared_.own.ring(index), shared_.own.shape().ring_lines,
                     &shared_.own.control(index));
  bound_ = true;
}

uint32_t SmQueue::farewell() noexcept {
  if (!bound_) return 0;
  const uint32_t said = ring_.farewell();
  Frame frame;
  return said == 0 || peek(&frame) ? 0 : said;
}

void SmQueue::unbind(bool peer_has_ended) noexcept {
  if (bound_) ring_.clear_all(peer_has_ended);
  bound_ = false;
}

bool SmEndpoint::say_bye() noexcept {
  if (lost_) return true;
  const uint32_t heard = queue.farewell();
  const uint32_t says = heard == 0 ? RingControl::kLast : RingControl::kAllRead;
  if (said_ != says) {
    said_ = says;
    control_->farewell.store(says, std::memory_order_release);
    shared_.ring_bell_of(segment_);
  }
  return heard == RingControl::kAllRead;
}

void SmEndpoint::unuse() noexcept {
  shared_.pool.remove(in_flight_);
  queue.unbind(lost_);
}

void SmEndpoint::set_lost() {
  dropped_.resize(kBlockBytes);
  lost_ = true;
}

bool SmEndpoint::finds_end() noexcept {
  return to.peer.nspace != 0 && !lost_ && peer_.has_died(to.peer.rank) &&
         queue.farewell() != RingControl::kAllRead;
}

bool SmEndpoint::send(const Header& header, const void* payload) noexcept {
  if (TERN_LIKELY(header.bytes <= kInline)) {
    Line* line = writer_.reserve(1);
    if (TERN_UNLIKELY(line == nullptr)) return lost_;  // dropped
    copy_bytes(line->bytes + sizeof(Header), payload, header.bytes);
    writer_.publish(line, header, 1);
    shared_.ring_bell_of(segment_);
    return true;
  }
  std::byte* room = begin(header.bytes);
  if (room == nullptr) return false;
  copy_bytes(room, payload, header.bytes);
  commit(header);
  return true;
}

std::byte* SmEndpoint::begin(size_t bytes) noexcept {
  const bool in_ring = bytes <= inline_limit_;
  open_lines_ = in_ring ? lines_for(bytes) : 1;
  open_line_ = TERN_LIKELY(!lost_) ? writer_.reserve(open_lines_) : nullptr;
  if (open_line_ == nullptr) return lost_ ? dropped_.data() : nullptr;
  if (in_ring) {
    open_block_ = Pool::kNone;
    return open_line_->bytes + sizeof(Header);
  }
  open_block_ = shared_.pool.take(in_flight_);
  return open_block_ == Pool::kNone ? nullptr : shared_.own.block(open_block_);
}

std::byte* SmEndpoint::begin_fragment(size_t bytes) noexcept {
  return lost_ || shared_.pool.in_flight(in_flight_) < shared_.fragments ? begin(bytes) : nullptr;
}

void SmEndpoint::commit(const Header& header) noexcept {
  if (TERN_UNLIKELY(open_line_ == nullptr)) return;
  Header sent = header;
  if (open_block_ != Pool::kNone) {
    const PoolPayload where{open_block_};
    std::memcpy(open_line_->bytes + sizeof(Header), &where, sizeof where);
    sent.kind |= kPooled;
    shared_.pool.sent(open_block_, in_flight_);
  }
  writer_.publish(open_line_, sent, open_lines_);
  shared_.ring_bell_of(segment_);
}

// All values from the peer are checked, so reads never leave the ring and the pool.
bool SmQueue::peek(Frame* frame) noexcept {
  if (TERN_UNLIKELY(!bound_ || damaged_)) return false;
  const Line* line = ring_.front(&frame->header);
  if (line == nullptr) return false;
  frame->bytes = frame->header.bytes;
  const std::byte* payload = line->bytes + sizeof(Header);
  if (TERN_LIKELY((frame->header.kind & kPooled) == 0)) {
    frame->payload = payload;
    front_lines_ = lines_for(frame->header.bytes);
    front_block_ = Pool::kNone;
    damaged_ = front_lines_ > ring_.lines_to_end();
    return TERN_LIKELY(!damaged_);
  }
  PoolPayload where;
  std::memcpy(&where, payload, sizeof where);
  damaged_ = where.block >= peer_.shape().all_blocks() || frame->header.bytes > kBlockBytes;
  if (TERN_UNLIKELY(damaged_)) return false;
  frame->header.kind = static_cast<uint8_t>(frame->header.kind & ~kPooled);
  frame->payload = peer_.block(where.block);
  front_lines_ = 1;
  front_block_ = where.block;
  front_bytes_ = frame->header.bytes;
  return true;
}

// A store to each line takes exclusive ownership, which speeds up the writer's next access.
void SmQueue::take_lines() noexcept {
  std::byte* const block = peer_.block(front_block_);
  for (size_t at = 0; at < front_bytes_; at += kLine)
    std::atomic_ref<uint64_t>(*reinterpret_cast<uint64_t*>(block + at))
        .store(0, std::memory_order_relaxed);
}

void SmQueue::pop() noexcept {
  bool tell = ring_.consume(front_lines_);
  if (front_block_ != Pool::kNone) {
    take_lines();
    peer_.flag(front_block_).busy.store(0, std::memory_order_release);
    tell = true;
  }
  if (TERN_UNLIKELY(tell)) shared_.ring_bell_of(peer_);
}

void CmaCopy::explain_refusal(int error) noexcept {
  if (shared_.refusal_said) return;
  shared_.refusal_said = true;
  shared_.explain.warn(
      "fallback", {{"peer", rank_}, {"what", "two copies"}, {"why", std::strerror(error)}},
      strf("large messages between ranks of this host take two copies instead of one: "
           "process_vm_readv of rank %u fails: %s. Cure: %s, or set TERN_SM_SINGLE_COPY=pipeline "
           "to accept two copies",
           rank_, std::strerror(error), cma_cure()));
}

bool CmaCopy::works() noexcept {
  if (TERN_UNLIKELY(!works_)) {
    const SmAddress& address = peer_.address;
    const int error = cma_probe(address.pid_here(), reinterpret_cast<const void*>(address.base),
                                peer_.segment.head().magic);
    works_ = error == 0;
    if (error != 0) explain_refusal(error);
  }
  return *works_;
}

int CmaCopy::get(const iovec* local, size_t locals, const iovec* remote, size_t remotes) noexcept {
  return cma_get(peer_.address.pid_here(), local, locals, remote, remotes);
}

int CmaCopy::put(const iovec* local, size_t locals, const iovec* remote, size_t remotes) noexcept {
  return cma_put(peer_.address.pid_here(), local, locals, remote, remotes);
}

SharedClaims* SmClaims::open(uint32_t* name) noexcept {
  *name = 0;
  if (shared_.free_claims.empty()) return nullptr;
  const uint32_t slot = shared_.free_claims.back();
  shared_.free_claims.pop_back();
  SharedClaims& claims = shared_.own.claims(slot);
  claims.taken.store(0, std::memory_order_relaxed);
  claims.finished.store(0, std::memory_order_relaxed);
  claims.failed.store(0, std::memory_order_relaxed);
  claims.ready.store(SharedClaims::kAll, std::memory_order_relaxed);
  *name = slot + 1;
  return &claims;
}

SharedClaims* SmClaims::find(uint32_t name) noexcept {
  return name == 0 || name > peer_.shape().all_claims() ? nullptr : &peer_.claims(name - 1);
}

}  // namespace tern::btl::sm
