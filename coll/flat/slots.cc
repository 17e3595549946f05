// SPDX-License-Identifier: Apache-2.0
// Slots: claiming, waiting, ringing.
#include "coll/flat/slots.hpp"

#include <sched.h>

#include <algorithm>
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

// Looks before the general wait, which also polls. A core of its own: some 20 microseconds.
constexpr int kSpins = 400, kSpinsAmongThreads = 50;
constexpr int kYields = 16;

}  // namespace

Slots::Slots(Slab& slab, const Lane& lane, int number, bool in_step)
    : slab_(slab),
      lane_(lane),
      number_(number),
      in_step_(in_step),
      own_(slab.own_),
      known_(slab.peers_.size()) {
  head().finished[number_].store(0, std::memory_order_release);  // after another use began
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
  std::atomic<uint32_t>& awaited = slab_.head_of(rank).awaited;
  if (awaited.load(std::memory_order_relaxed) != 0) return false;
  awaited.store(1, std::memory_order_relaxed);
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
      crowded_(communicator.process().oversubscribed),
      rank_(communicator.rank()),
      slab_(slabs_.claim(size)),
      peers_(static_cast<size_t>(communicator.size())) {
  if (slab_ == core::Slabs::kNone) return;
  own_ = slabs_.own(size, slab_);
  SlabHead& head = *reinterpret_cast<SlabHead*>(own_);
  head.use.fetch_add(1, std::memory_order_release);
  head.awaited.store(0, std::memory_order_relaxed);
  lanes_.reserve(SlabHead::kMostLanes);
  if (flight != nullptr) {
    lanes_.emplace_back(*this, *flight, 0, false);
  } else if (size == Size::kSmall) {
    lanes_.emplace_back(*this, kLineLane, 0, true);
    lanes_.emplace_back(*this, kSmallLane, 1, true);
  } else {
    lanes_.emplace_back(*this, kLargeLane, 0, true);
  }
}

Slab::~Slab() {
  if (slab_ != core::Slabs::kNone) slabs_.release(size_, slab_);
}

void Slab::meet(const std::vector<uint32_t>& slabs) {
  for (size_t place = 0; place < peers_.size(); ++place) {
    const auto rank = static_cast<int>(place);
    core::Peer& peer = communicator_->peer(rank);
    if (rank == rank_) {
      peers_[place].base = own_;
    } else {
      peers_[place] = {slabs_.of(peer, size_, slabs[place]), &slabs_.bell(peer), 0, &peer};
    }
    peers_[place].use = head_of(rank).use.load(std::memory_order_acquire);
  }
}

void Slab::leave() noexcept {
  if (slab_ == core::Slabs::kNone) return;
  for (Slots& lane : lanes_)
    lane.head().finished[lane.number_].store(UINT64_MAX, std::memory_order_release);
}

bool Slab::can_get() const {
  for (int rank = 0; rank < communicator_->size(); ++rank)
    if (rank != rank_ && !slabs_.can_get(communicator_->peer(rank))) return false;
  return true;
}

bool Slab::over() const noexcept {
  const auto read_all = [this](const Peer& peer) {
    if (peer.base == nullptr) return true;  // never met
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
  std::atomic<uint32_t>& awaited = head_of(rank).awaited;
  const auto& state = static_cast<const CommRefusals&>(*communicator_->coll);
  channel_.progress.wait(
      [&] {
        if (ready()) return true;
        awaited.store(1, std::memory_order_relaxed);
        std::atomic_thread_fence(std::memory_order_seq_cst);
        return ready() || state.over();
      },
      [&](WaitReport* report) {
        report->words +=
            strf("%s: rank %d has not come", part_in(what, *communicator_).c_str(), rank);
        report->wait_for(static_cast<int>(communicator_->peer(rank).rank));
      });
  if (TERN_UNLIKELY(!ready())) throw Error(MPI_ERR_OTHER, state.trouble->why);
}

void Slab::ring() noexcept {
  reinterpret_cast<SlabHead*>(own_)->awaited.store(0, std::memory_order_relaxed);
  for (const Peer& peer : peers_)
    if (peer.bell != nullptr) peer.bell->ring(true);
}

}  // namespace tern::coll
