// SPDX-License-Identifier: Apache-2.0
// Slots: claims, waits, doorbells.
#include "coll/flat/slots.hpp"

#include <sched.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/error.hpp"
#include "base/relax.hpp"
#include "coll/engine/operation.hpp"
#include "coll/engine/refusal.hpp"
#include "core/peer.hpp"
#include "core/process.hpp"
#include "mpi.h"

namespace tern::coll {
namespace {

// A waiter spins before the polling wait, some 20 microseconds on an exclusive core.
constexpr int kSpins = 400, kSpinsAmongThreads = 50;
constexpr int kYields = 16;

constexpr uint32_t kNodeShift = 20, kNumber = (1U << kNodeShift) - 1;
constexpr int kMostNodes = 1 << 9;  // 0: unknown node

}  // namespace

Slots::Slots(Slab& slab, const Lane& lane, int number, bool in_step)
    : slab_(slab),
      lane_(lane),
      number_(number),
      in_step_(in_step),
      own_(slab.own_),
      known_(slab.peers_.size(), UINT64_MAX) {
  head().finished[number_].store(0,
                                 std::memory_order_release);  // stored after the new claim
  for (uint64_t epoch = 0; epoch < lane_.depth; ++epoch)
    at(own_, epoch)->epoch.store(0, std::memory_order_relaxed);
}

void Slots::poll() noexcept { slab_.channel_.progress.poll(); }

std::atomic<uint64_t>& Slots::finished_by(int rank) const noexcept {
  return slab_.head_of(rank).finished[number_];
}

void Slots::await_room() {
  const uint64_t needed = epoch_ - lane_.depth;
  uint64_t least = epoch_;
  for (int rank = 0; rank < ranks(); ++rank) {
    if (rank == slab_.rank_) continue;
    const uint64_t& known = known_[static_cast<size_t>(rank)];
    if (known < needed) await_finished(rank, needed);
    least = std::min(least, known);
  }
  floor_ = least;
}

int Slots::late_for_room(uint64_t epoch) noexcept {
  if (TERN_LIKELY(epoch <= floor_ + lane_.depth)) return kNoRank;
  const uint64_t needed = epoch - lane_.depth;
  uint64_t least = epoch;
  for (int rank = 0; rank < ranks(); ++rank) {
    uint64_t& known = known_[static_cast<size_t>(rank)];
    if (known < needed) known = finished_by(rank).load(std::memory_order_acquire);
    if (known < needed) return rank;
    least = std::min(least, known);
  }
  floor_ = least;
  return kNoRank;
}

bool Slots::ask(int rank) noexcept {
  if (!slab_.ask(rank)) return false;
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return true;
}

void Slots::await_end(int rank) {
  if (known_[static_cast<size_t>(rank)] < epoch_) await_finished(rank, epoch_);
}

void Slots::await_finished(int rank, uint64_t epoch) {
  const std::atomic<uint64_t>& finished = finished_by(rank);
  slab_.wait(rank, what_, [&] { return finished.load(std::memory_order_acquire) >= epoch; });
  known_[static_cast<size_t>(rank)] = finished.load(std::memory_order_acquire);
}

void Slots::await_post(int rank, Slot& slot) {
  slab_.wait(rank, what_, [&] { return slot.epoch.load(std::memory_order_acquire) >= epoch_; });
}

std::byte* Slots::scratch(size_t bytes) {
  if (slab_.scratch_.size() < bytes) slab_.scratch_.resize(bytes);
  return slab_.scratch_.data();
}

int Slots::get(int rank, void* to, uint64_t from, size_t bytes) noexcept {
  return slab_.slabs_.get(slab_.communicator_->peer(rank), to, from, bytes);
}

bool Slots::is_readable(const void* address, size_t bytes) noexcept {
  return slab_.slabs_.is_readable(address, bytes);
}

Slab::Slab(core::Communicator& communicator, Size size, const Lane* flight)
    : communicator_(&communicator),
      channel_(communicator.channel()),
      slabs_(*channel_.slabs),
      size_(size),
      fenced_(slabs_.fenced()),
      crowded_(communicator.process().node.oversubscribed),
      rank_(communicator.rank()),
      slab_(slabs_.claim(size)),
      peers_(static_cast<size_t>(communicator.size())) {
  if (slab_ == core::Slabs::kNone) return;
  own_ = slabs_.own(size, slab_);
  SlabHead& head = *reinterpret_cast<SlabHead*>(own_);
  head.use.fetch_add(1, std::memory_order_release);
  head.awaited.store(0, std::memory_order_relaxed);
  for (auto& word : head.waiters) word.store(0, std::memory_order_relaxed);
  lanes_.reserve(SlabHead::kMostLanes);
  if (flight != nullptr) {
    lanes_.emplace_back(*this, *flight, 0, false);
  } else if (size == Size::kSmall) {
    lanes_.emplace_back(*this, kLineLane, 0, true);
    lanes_.emplace_back(*this, kSmallLane, 1, true);
  } else {
    lanes_.emplace_back(*this, size == Size::kLarge ? kLargeLane : kDeepLane, 0, true);
  }
}

Slab::~Slab() {
  if (slab_ != core::Slabs::kNone) slabs_.release(size_, slab_);
}

uint32_t Slab::introduction() const noexcept {
  if (slab_ == core::Slabs::kNone) return slab_;
  const int node = communicator_->process().node.numa + 1;
  return node > 0 && node < kMostNodes ? slab_ | static_cast<uint32_t>(node) << kNodeShift : slab_;
}

void Slab::meet(const std::vector<uint32_t>& all) {
  std::vector<int> nodes;
  for (const uint32_t one : all) nodes.push_back(static_cast<int>(one >> kNodeShift) - 1);
  domains_ = Domains(nodes);
  for (size_t place = 0; place < peers_.size(); ++place) peers_[place].use = all[place] & kNumber;
  const auto ranks = static_cast<int>(peers_.size());
  ranks <= kFewRanks ? reach(0, ranks) : reach(rank_, rank_ + 1);
}

// A waiter may have asked before its doorbell was known.
void Slab::reach(int first, int end) {
  for (int rank = first; rank < end; ++rank) {
    PeerSlab& one = peers_[static_cast<size_t>(rank)];
    if (one.base != nullptr) continue;
    if (rank == rank_) {
      one.base = own_;
    } else {
      core::Peer& peer = communicator_->peer(rank);
      std::byte* const base = slabs_.of(peer, size_, static_cast<uint32_t>(one.use));
      one = {base, &slabs_.bell(peer), 0, &peer};
    }
    one.use = head_of(rank).use.load(std::memory_order_acquire);
    for (Slots& lane : lanes_) lane.known_[static_cast<size_t>(rank)] = 0;
  }
  if (end - first == static_cast<int>(peers_.size())) reaches_all_ = true;
  for (Slots& lane : lanes_) lane.ring_waiters();
}

void Slab::leave() noexcept {
  if (slab_ == core::Slabs::kNone) return;
  for (Slots& lane : lanes_)
    lane.head().finished[lane.number_].store(UINT64_MAX, std::memory_order_release);
}

bool Slab::can_get() const {
  if (communicator_->size() > kFewRanks) return false;
  for (int rank = 0; rank < communicator_->size(); ++rank)
    if (rank != rank_ && !slabs_.can_get(communicator_->peer(rank))) return false;
  return true;
}

bool Slab::over() const noexcept {
  const auto read_all = [this](const PeerSlab& peer) {
    if (peer.base == nullptr) return true;
    const SlabHead& head = *reinterpret_cast<const SlabHead*>(peer.base);
    const auto ended = [&](const Slots& lane) {
      return head.finished[lane.number_].load(std::memory_order_acquire) >= lane.epoch_;
    };
    return std::all_of(lanes_.begin(), lanes_.end(), ended) ||
           head.use.load(std::memory_order_acquire) != peer.use ||
           (peer.peer != nullptr && slabs_.has_died(*peer.peer));
  };
  return std::all_of(peers_.begin(), peers_.end(), read_all);
}

// mpirun ends all ranks of a world with a lost rank.
bool Slab::has_lost(int rank) noexcept {
  core::Peer& peer = communicator_->peer(rank);
  return peer.nspace != 0 && slabs_.has_died(peer);
}

Failure Slab::lost(int rank) const {
  const core::Deaths& deaths = communicator_->process().deaths;
  if (deaths.watch != nullptr) deaths.watch->lost(communicator_->peer_index(rank));
  return failure(deaths.lost_class(), "rank %d of %s has ended without MPI_Finalize", rank,
                 communicator_->name.or_words("the communicator").c_str());
}

void Slab::part(const core::Peer& peer) noexcept {
  for (PeerSlab& one : peers_)
    if (one.peer == &peer) one = {};
}

template <class Ready>
void Slab::wait(int rank, const char* what, const Ready& ready) {
  if (ready()) return;
  const bool threads = communicator_->process().threaded();
  if (!crowded_)
    for (int spin = 0; spin < (threads ? kSpinsAmongThreads : kSpins); ++spin) {
      relax();
      if (ready()) return;
    }
  else if (!threads)
    for (int yield = 0; yield < kYields; ++yield) {
      ::sched_yield();
      if (ready()) return;
    }
  const auto& state = static_cast<const CommRefusals&>(*communicator_->coll);
  channel_.progress.wait(
      [&] {
        if (ready()) return true;
        (void)ask(rank);
        std::atomic_thread_fence(std::memory_order_seq_cst);
        return ready() || state.fate.dead_locked() || has_lost(rank);
      },
      [&](WaitReport* report) {
        report->words +=
            strf("%s: rank %d has not joined", part_in(what, *communicator_).c_str(), rank);
        core::report_wait_for(communicator_->peer(rank), report);
      });
  if (TERN_LIKELY(ready())) return;
  if (state.fate.dead_locked()) throw Error(state.fate.reason());
  throw Error(lost(rank));
}

void Slab::ring() noexcept {
  SlabHead& head = *reinterpret_cast<SlabHead*>(own_);
  if (has_few()) {
    head.awaited.store(0, std::memory_order_relaxed);
    for (const PeerSlab& peer : peers_)
      if (peer.bell != nullptr) peer.bell->ring(true);
    return;
  }
  head.awaited.exchange(0, std::memory_order_acq_rel);
  for (size_t rank = 0; rank < peers_.size(); rank += 64)
    for (uint64_t waiters = head.waiters[rank / 64].exchange(0, std::memory_order_acq_rel);
         waiters != 0; waiters &= waiters - 1) {
      const auto waiter = rank + static_cast<size_t>(std::countr_zero(waiters));
      Doorbell* const bell = peers_[waiter].bell;
      if (bell != nullptr)
        bell->ring(true);
      else
        head.ask(static_cast<int>(waiter));  // reach() rings the waiter
    }
}

}  // namespace tern::coll
