// SPDX-License-Identifier: Apache-2.0
// Slab: what the ranks of a communicator on one host write for each other, a slab each. Slots: one
// lane of it. Blocking calls have a small slab with two lanes (lines, eight slots deep, and small,
// two deep), a large slab with one (four deep) and, after some small rooted calls, a deep slab with
// one for those. Calls in flight have slabs of their own, with a lane each: small and medium,
// sixteen deep, and large.
// Protocol. Collectives on a lane are numbered alike on all ranks. In epoch k a rank writes its
// part into slot k mod depth, then the number; who needs the part waits for the number. A slot is
// written again when all ranks have ended the epoch that it was for: a rank that has posted an
// epoch has ended those before, and the others are asked. A slab serves another communicator when
// all have ended all epochs. One phase, no leader, and nothing is sent. What waits throws Error
// where a rank takes no part, which ends the communicator's collectives (coll/engine/refusal.hpp).
// Waiting: spins, or yields at once with more ranks than cores, then goes on as every waiting rank
// does (core::Progress); before it sleeps it leaves word with those it waits for, who ring.
// Lifetime: the communicator, and after it until no rank reads its slab any more (over()). Threads:
// under the channel's lock. See: coll/flat/README.md, tests/unit/coll/flat_test.cc.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "coll/flat/domains.hpp"
#include "core/communicator.hpp"
#include "core/slabs.hpp"

namespace tern::coll {

/// Begins each slab.
struct alignas(64) SlabHead {
  static constexpr size_t kMostLanes = 2;
  static constexpr int kMostRanks = 256;
  std::atomic<uint64_t> use;  // counts how often it was claimed; another: everything before is over
  std::atomic<uint64_t>
      finished[kMostLanes];       // the last epoch of each lane that this rank has ended
  std::atomic<uint32_t> awaited;  // a rank may sleep until this one has done more
  std::atomic<uint64_t> waiters[kMostRanks / 64];  // a bit for each of these ranks

  /// Called by a rank before its sleep; a fence and a last look follow. False: asked already. Few
  /// ranks are rung all at once, and need no bits: an ask of theirs is a plain store.
  bool ask() noexcept {
    if (awaited.load(std::memory_order_relaxed) != 0) return false;
    awaited.store(1, std::memory_order_relaxed);
    return true;
  }
  bool ask(int rank) noexcept {
    std::atomic<uint64_t>& word = waiters[rank / 64];
    const uint64_t bit = uint64_t{1} << (rank % 64);
    if ((word.load(std::memory_order_relaxed) & bit) != 0) return false;
    word.fetch_or(bit, std::memory_order_relaxed);
    awaited.exchange(1, std::memory_order_acq_rel);  // by many: each sees the bits of those before
    return true;
  }
};
static_assert(sizeof(SlabHead) == 64);

struct Slot {
  std::atomic<uint64_t> epoch;
  uint64_t bytes;  // that follow
  [[nodiscard]] std::byte* data() noexcept { return reinterpret_cast<std::byte*>(this) + kHead; }
  static constexpr size_t kHead = 16;
};

/// Where a lane lies in its slab. Shorter parts have more slots: a root may be that far ahead.
struct Lane {
  size_t offset, stride;  // bytes; stride from slot to slot
  uint64_t depth;         // slots: a power of two
  [[nodiscard]] constexpr size_t room() const noexcept { return stride - Slot::kHead; }
  [[nodiscard]] constexpr size_t end() const noexcept { return offset + depth * stride; }
};
inline constexpr Lane kLineLane{sizeof(SlabHead), 128, 8};
inline constexpr Lane kSmallLane{kLineLane.end(), 448, 2};
inline constexpr Lane kLargeLane{sizeof(SlabHead), 32768 + 64, 4};
inline constexpr Lane kDeepLane{sizeof(SlabHead), 960, 64};
static_assert(kSmallLane.end() == core::Slabs::kSmallBytes);
static_assert(kDeepLane.end() == core::Slabs::kDeepBytes);
static_assert(kLargeLane.end() == core::Slabs::kLargeBytes);

// Of calls in flight: ranks write ahead of what they have read.
inline constexpr Lane kSmallFlightLane{sizeof(SlabHead), 96 + Slot::kHead, 16};
inline constexpr Lane kMediumFlightLane{sizeof(SlabHead), 8192 + Slot::kHead, 16};
inline constexpr Lane kLargeFlightLane{kLargeLane};
static_assert(kSmallFlightLane.end() <= core::Slabs::kSmallBytes);
static_assert(kMediumFlightLane.end() <= core::Slabs::kLargeBytes);
static_assert(kLargeFlightLane.depth >= 4);  // of Sliced: inputs, those of the next piece, results

class Slab;

class Slots {
 public:
  /// `in_step`: a rank that posts an epoch has ended those before.
  Slots(Slab& slab, const Lane& lane, int number, bool in_step);

  /// Bytes that a slot holds.
  [[nodiscard]] size_t room() const noexcept { return lane_.room(); }
  [[nodiscard]] inline int ranks() const noexcept;
  [[nodiscard]] inline int rank() const noexcept;
  [[nodiscard]] inline const Domains& domains() const noexcept;

  /// `what` the epoch belongs to, for those who ask what this rank waits for.
  void begin(const char* what) noexcept {
    what_ = what;
    if (TERN_UNLIKELY((++epoch_ & kEpochsBetweenPolls) == 0)) poll();
  }
  /// The own slot, once no rank reads what was in it.
  std::byte* claim() {
    if (TERN_UNLIKELY(floor_ + lane_.depth < epoch_)) await_room();
    return mine().data();
  }
  /// The own slot holds so many bytes now.
  void post(size_t bytes) noexcept {
    mine().bytes = bytes | marks_;
    mine().epoch.store(epoch_, std::memory_order_release);
    ring_waiters();
  }
  /// While it lives, and where `on`, what this rank posts is no data: a rank that awaits it must
  /// fail.
  class Poisoned {
   public:
    Poisoned(Slots& slots, bool on) noexcept : slots_(slots) {
      slots_.marks_ |= on ? kPoisoned : 0;
    }
    Poisoned(const Poisoned&) = delete;
    Poisoned& operator=(const Poisoned&) = delete;
    ~Poisoned() { slots_.marks_ &= ~kPoisoned; }

   private:
    Slots& slots_;
  };
  // In the bytes of a slot:
  static constexpr uint64_t kPoisoned = uint64_t{1} << 63;
  static constexpr uint64_t kElsewhere = uint64_t{1} << 62;   // a rank's data lies on a device
  static constexpr uint64_t kFromDevice = uint64_t{1} << 61;  // it did, and came here from there
  /// What this rank posts is marked so until found_device().
  void mark_device() noexcept { marks_ |= kFromDevice; }
  /// Whether something read was marked so, or posted. Forgets it.
  [[nodiscard]] bool found_device() noexcept {
    const bool found = found_device_ || (marks_ & kFromDevice) != 0;
    found_device_ = false;
    marks_ &= ~kFromDevice;
    return found;
  }
  void find_device() noexcept { found_device_ = true; }
  /// The data of the own slot in an epoch to come, whose slot no rank reads any more: the next one,
  /// where all have posted this one.
  [[nodiscard]] std::byte* ahead(uint64_t epochs) const noexcept {
    return at(own_, epoch_ + epochs)->data();
  }
  /// Maps the slabs of these ranks where not done yet. In a call, a rank reaches all readers of its
  /// slots and all writers for it, before any write: two ranks reach each other. Throws Error.
  inline void reach(int first, int end);
  [[nodiscard]] inline bool reaches_all() const noexcept;
  /// The data of the own slot in this epoch, and in the epoch before.
  [[nodiscard]] std::byte* mine_data() const noexcept { return mine().data(); }
  [[nodiscard]] std::byte* behind() const noexcept { return at(own_, epoch_ - 1)->data(); }
  /// The slot of a rank, once it is posted. Of the own one: what it holds.
  inline Slot& await(int rank);
  /// Memory of so many bytes, kept from call to call. Throws std::bad_alloc.
  std::byte* scratch(size_t bytes);
  /// Copies from an address of a rank that has posted it: 0 or an errno.
  [[nodiscard]] int get(int rank, void* to, uint64_t from, size_t bytes) noexcept;
  /// Whether the others may get() this memory.
  [[nodiscard]] bool is_readable(const void* address, size_t bytes) noexcept;
  /// Every rank's slot was awaited in this epoch.
  void awaited_all() noexcept {
    if (in_step_) floor_ = epoch_ - 1;
  }
  /// The slots of so many epochs ago, by this rank or by ranks awaited since.
  void awaited_all(uint64_t ago) noexcept {
    if (in_step_) floor_ = std::max(floor_, epoch_ - 1 - ago);
  }
  void end() noexcept {
    head().finished[number_].store(epoch_, std::memory_order_release);
    ring_waiters();
  }
  /// Waits until a rank has ended this epoch; for what is read from elsewhere than the slot.
  void await_end(int rank);

  // For calls in flight (queue.hpp), which are at several epochs at once.
  /// Now claim(), post(), await() and end() are about this epoch.
  void go_to(uint64_t epoch) noexcept { epoch_ = epoch; }
  static constexpr int kNoRank = -1;
  /// A rank that has not ended the epoch whose slot this one takes.
  [[nodiscard]] int late_for_room(uint64_t epoch) noexcept;
  /// Whether a rank has posted an epoch.
  [[nodiscard]] bool posted(int rank, uint64_t epoch) const noexcept;
  /// Brings what ranks [first, end) have posted in an epoch to come nearer.
  void prefetch(int first, int end, uint64_t epoch) const noexcept;
  /// Asks the rank to ring once it has done more. False if this one has asked already; else look
  /// again at what is waited for before sleeping.
  bool ask(int rank) noexcept;

 private:
  friend class Slab;
  /// Epochs that never wait would keep everything else from getting on.
  static constexpr uint64_t kEpochsBetweenPolls = 15;
  void poll() noexcept;
  [[nodiscard]] Slot* at(std::byte* slab, uint64_t epoch) const noexcept {
    return reinterpret_cast<Slot*>(slab + lane_.offset +
                                   (epoch & (lane_.depth - 1)) * lane_.stride);
  }
  [[nodiscard]] Slot& mine() const noexcept { return *at(own_, epoch_); }
  [[nodiscard]] SlabHead& head() const noexcept { return *reinterpret_cast<SlabHead*>(own_); }
  [[nodiscard]] std::atomic<uint64_t>& finished_by(int rank) const noexcept;
  void await_room();
  void await_post(int rank, Slot& slot);
  void await_finished(int rank, uint64_t epoch);
  inline void ring_waiters() noexcept;

  Slab& slab_;
  const Lane lane_;
  const int number_;
  const bool in_step_;
  std::byte* const own_;
  uint64_t epoch_ = 0, floor_ = 0;  // all ranks have ended epoch floor_
  uint64_t marks_ = 0;              // of what this rank posts
  bool found_device_ = false;
  const char* what_ = "";
  std::vector<uint64_t>
      known_;  // by rank: an epoch that it has ended; UINT64_MAX where not reached
};

class Slab {
 public:
  using Size = core::Slabs::Size;

  /// Claimed and made ready; number() is kNone where there was none. The peers' come with meet().
  /// `flight`: the lane of calls in flight; null: those of blocking ones.
  Slab(core::Communicator& communicator, Size size, const Lane* flight);
  Slab(const Slab&) = delete;
  Slab& operator=(const Slab&) = delete;
  ~Slab();

  [[nodiscard]] uint32_t number() const noexcept { return slab_; }
  /// The slab's number and the rank's NUMA node, for meet() of the others. The three highest bits
  /// are free. kNone without a slab.
  [[nodiscard]] uint32_t introduction() const noexcept;
  /// Whether this rank can copy from all others' memory.
  [[nodiscard]] bool can_get() const;
  /// The introductions of all ranks, by rank; all have a slab. Reaches all ranks where they are
  /// few. Throws Error, std::bad_alloc.
  void meet(const std::vector<uint32_t>& all);
  /// Slots::reach.
  TERN_COLD void reach(int first, int end);
  /// Beyond this many a rank maps a peer's slab at the first call with a use for it.
  static constexpr int kFewRanks = 64;
  /// The lane for parts of so many bytes.
  [[nodiscard]] Slots& lane_for(size_t bytes) noexcept {
    return bytes <= lanes_.front().room() ? lanes_.front() : lanes_.back();
  }
  [[nodiscard]] Slots& lane() noexcept { return lanes_.front(); }
  /// More ranks than cores: waiting ranks leave the core at once.
  [[nodiscard]] bool crowded() const noexcept { return crowded_; }
  /// This rank reads nothing of the peers' any more, not even where an epoch was broken off.
  void leave() noexcept;
  /// The memory of the slabs is about to go.
  void forget() noexcept {
    slab_ = core::Slabs::kNone;
    if (deep != nullptr) deep->forget();
  }
  /// The communicator is gone: true where no peer reads any more.
  [[nodiscard]] bool over() const noexcept;

  /// For small rooted calls of the communicator; null: not yet, or none, or kept by another slab.
  std::unique_ptr<Slab> deep;
  uint32_t rooted_calls = 0;  // without it
  /// Of a deep slab: the most bytes of a part. Where each rank has a core, a root need not wait for
  /// a switch, and longer parts in few slots stay in the first cache.
  uint32_t rooted_room = 0;

 private:
  friend class Slots;
  struct Peer {
    std::byte* base = nullptr;
    Doorbell* bell = nullptr;
    uint64_t use = 0;  // of its slab, when reached; before, the slab's number
    core::Peer* peer = nullptr;
  };
  [[nodiscard]] bool has_few() const noexcept { return peers_.size() <= kFewRanks; }
  /// Asks `rank` to ring this rank. False: asked already.
  bool ask(int rank) noexcept {
    SlabHead& head = head_of(rank);
    return has_few() ? head.ask() : head.ask(rank_);
  }
  [[nodiscard]] SlabHead& head_of(int rank) const noexcept {
    return *reinterpret_cast<SlabHead*>(peers_[static_cast<size_t>(rank)].base);
  }
  template <class Ready>
  void wait(int rank, const char* what, const Ready& ready);
  TERN_COLD void ring() noexcept;

  core::Communicator* communicator_;
  core::Channel& channel_;
  core::Slabs& slabs_;
  const Size size_;
  const bool fenced_, crowded_;
  bool reaches_all_ = false;
  const int rank_;
  uint32_t slab_;
  std::byte* own_ = nullptr;
  std::vector<Peer> peers_;
  Domains domains_;
  std::vector<Slots> lanes_;
  std::vector<std::byte> scratch_;
};

inline int Slots::ranks() const noexcept { return static_cast<int>(slab_.peers_.size()); }
inline int Slots::rank() const noexcept { return slab_.rank_; }
inline bool Slots::reaches_all() const noexcept { return slab_.reaches_all_; }
inline void Slots::reach(int first, int end) {
  if (TERN_UNLIKELY(!slab_.reaches_all_)) slab_.reach(first, end);
}
inline const Domains& Slots::domains() const noexcept { return slab_.domains_; }

inline Slot& Slots::await(int rank) {
  const auto place = static_cast<size_t>(rank);
  Slot& slot = *at(slab_.peers_[place].base, epoch_);
  if (slot.epoch.load(std::memory_order_acquire) < epoch_) await_post(rank, slot);
  if (in_step_) known_[place] = epoch_ - 1;
  return slot;
}

inline bool Slots::posted(int rank, uint64_t epoch) const noexcept {
  const Slot& slot = *at(slab_.peers_[static_cast<size_t>(rank)].base, epoch);
  return slot.epoch.load(std::memory_order_acquire) >= epoch;
}

inline void Slots::prefetch(int first, int end, uint64_t epoch) const noexcept {
  for (int rank = first; rank < end; ++rank)
    __builtin_prefetch(at(slab_.peers_[static_cast<size_t>(rank)].base, epoch));
}

inline void Slots::ring_waiters() noexcept {
  if (slab_.fenced_) std::atomic_thread_fence(std::memory_order_seq_cst);
  if (TERN_UNLIKELY(head().awaited.load(std::memory_order_relaxed) != 0)) slab_.ring();
}

}  // namespace tern::coll
