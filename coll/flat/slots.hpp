// SPDX-License-Identifier: Apache-2.0
// Slab: a rank's shared memory for the flat collectives of a communicator. Slots: a lane of a slab,
// as a ring.
//
// Protocol. All ranks number a lane's collectives alike. In epoch k a rank writes its part into
// slot k mod depth, then stores k; readers wait for k. A rank that posts an epoch has ended all
// earlier epochs. A slot is reused once all ranks have ended its epoch, a slab once all ranks have
// ended all epochs. A wait throws Error if a rank refuses the collective. A waiting rank spins, or
// yields at once with more ranks than cores, then waits in core::Progress; before sleeping, the
// rank asks its peers to ring.
//
// Lifetime: the communicator, then until no rank reads the slab (over()).
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

struct alignas(64) SlabHead {
  static constexpr size_t kMostLanes = 2;
  static constexpr int kMostRanks = 256;
  std::atomic<uint64_t> use;                   // counts claims; a new value ends earlier use
  std::atomic<uint64_t> finished[kMostLanes];  // epochs ended by this rank, per lane
  std::atomic<uint32_t> awaited;
  std::atomic<uint64_t> waiters[kMostRanks / 64];

  /// After ask() the caller fences and checks again. Returns false if already asked. ask() rings
  /// few ranks at once.
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
    awaited.exchange(1, std::memory_order_acq_rel);
    return true;
  }
};
static_assert(sizeof(SlabHead) == 64);

struct Slot {
  std::atomic<uint64_t> epoch;
  uint64_t bytes;
  [[nodiscard]] std::byte* data() noexcept { return reinterpret_cast<std::byte*>(this) + kHead; }
  static constexpr size_t kHead = 16;
};

/// Lanes for short parts have more slots, so a root may run further ahead.
struct Lane {
  size_t offset, stride;
  uint64_t depth;  // slots: a power of two
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

inline constexpr Lane kSmallFlightLane{sizeof(SlabHead), 96 + Slot::kHead, 16};
inline constexpr Lane kMediumFlightLane{sizeof(SlabHead), 8192 + Slot::kHead, 16};
inline constexpr Lane kLargeFlightLane{kLargeLane};
static_assert(kSmallFlightLane.end() <= core::Slabs::kSmallBytes);
static_assert(kMediumFlightLane.end() <= core::Slabs::kLargeBytes);
static_assert(kLargeFlightLane.depth >= 4);  // inputs of two pieces, results

class Slab;

class Slots {
 public:
  Slots(Slab& slab, const Lane& lane, int number, bool in_step);

  [[nodiscard]] size_t room() const noexcept { return lane_.room(); }
  [[nodiscard]] inline int ranks() const noexcept;
  [[nodiscard]] inline int rank() const noexcept;
  [[nodiscard]] inline const Domains& domains() const noexcept;

  void begin(const char* what) noexcept {
    what_ = what;
    if (TERN_UNLIKELY((++epoch_ & kEpochsBetweenPolls) == 0)) poll();
  }
  std::byte* claim() {
    if (TERN_UNLIKELY(floor_ + lane_.depth < epoch_)) await_room();
    return mine().data();
  }
  void post(size_t bytes) noexcept {
    mine().bytes = bytes | marks_;
    mine().epoch.store(epoch_, std::memory_order_release);
    ring_waiters();
  }
  /// Readers of a poisoned post fail.
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
  // Marks in Slot::bytes:
  static constexpr uint64_t kPoisoned = uint64_t{1} << 63;
  static constexpr uint64_t kElsewhere = uint64_t{1} << 62;
  static constexpr uint64_t kFromDevice = uint64_t{1} << 61;  // staged from a device
  void mark_device() noexcept { marks_ |= kFromDevice; }
  /// found_device() is true if a mark was read or posted, and clears the mark.
  [[nodiscard]] bool found_device() noexcept {
    const bool found = found_device_ || (marks_ & kFromDevice) != 0;
    found_device_ = false;
    marks_ &= ~kFromDevice;
    return found;
  }
  void find_device() noexcept { found_device_ = true; }
  /// ahead() returns a future epoch's slot without readers: the next epoch's slot, once all ranks
  /// have posted this epoch.
  [[nodiscard]] std::byte* ahead(uint64_t epochs) const noexcept {
    return at(own_, epoch_ + epochs)->data();
  }
  /// reach() maps slabs of ranks [first, end). Before a call's first write a rank maps all readers
  /// and writers, so mapping is mutual. Throws Error.
  inline void reach(int first, int end);
  [[nodiscard]] inline bool reaches_all() const noexcept;
  [[nodiscard]] std::byte* mine_data() const noexcept { return mine().data(); }
  [[nodiscard]] std::byte* behind() const noexcept { return at(own_, epoch_ - 1)->data(); }
  inline Slot& await(int rank);
  /// scratch() returns a buffer kept between calls. Throws std::bad_alloc.
  std::byte* scratch(size_t bytes);
  [[nodiscard]] int get(int rank, void* to, uint64_t from, size_t bytes) noexcept;
  [[nodiscard]] bool is_readable(const void* address, size_t bytes) noexcept;
  void awaited_all() noexcept {
    if (in_step_) floor_ = epoch_ - 1;
  }
  void awaited_all(uint64_t ago) noexcept {
    if (in_step_) floor_ = std::max(floor_, epoch_ - 1 - ago);
  }
  void end() noexcept {
    head().finished[number_].store(epoch_, std::memory_order_release);
    ring_waiters();
  }
  void await_end(int rank);

  void go_to(uint64_t epoch) noexcept { epoch_ = epoch; }
  static constexpr int kNoRank = -1;
  [[nodiscard]] int late_for_room(uint64_t epoch) noexcept;
  [[nodiscard]] bool posted(int rank, uint64_t epoch) const noexcept;
  void prefetch(int first, int end, uint64_t epoch) const noexcept;
  /// ask() returns false if already asked. After true, the caller checks again before sleeping.
  bool ask(int rank) noexcept;

 private:
  friend class Slab;
  /// A rank polls at every 16th epoch, because many epochs without a wait would starve other
  /// progress.
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
  uint64_t marks_ = 0;
  bool found_device_ = false;
  const char* what_ = "";
  std::vector<uint64_t> known_;  // last ended epoch by rank; UINT64_MAX: slab not mapped
};

class Slab {
 public:
  using Size = core::Slabs::Size;

  /// number() is kNone if no slab is free. `flight`: the lane for calls in flight.
  Slab(core::Communicator& communicator, Size size, const Lane* flight);
  Slab(const Slab&) = delete;
  Slab& operator=(const Slab&) = delete;
  ~Slab();

  [[nodiscard]] uint32_t number() const noexcept { return slab_; }
  /// introduction() contains slab number and NUMA node, with the three highest bits free, or is
  /// kNone.
  [[nodiscard]] uint32_t introduction() const noexcept;
  [[nodiscard]] bool can_get() const;
  /// meet() maps up to kFewRanks slabs; other slabs are mapped at first use. Throws Error,
  /// std::bad_alloc.
  void meet(const std::vector<uint32_t>& all);
  TERN_COLD void reach(int first, int end);
  static constexpr int kFewRanks = 64;
  [[nodiscard]] Slots& lane_for(size_t bytes) noexcept {
    return bytes <= lanes_.front().room() ? lanes_.front() : lanes_.back();
  }
  [[nodiscard]] Slots& lane() noexcept { return lanes_.front(); }
  /// crowded() is true with more ranks than cores: waiting ranks then yield at once.
  [[nodiscard]] bool crowded() const noexcept { return crowded_; }
  /// After leave(), even of an aborted epoch, this rank reads no more slots.
  void leave() noexcept;
  /// forget() must precede the unmapping of the slabs' memory.
  void forget() noexcept {
    slab_ = core::Slabs::kNone;
    if (deep != nullptr) deep->forget();
  }
  [[nodiscard]] bool over() const noexcept;
  /// The process of another world has left the communicator, and its memory will be unmapped.
  void part(const core::Peer& peer) noexcept;
  /// Whether a process of another world has ended; looks now and then.
  [[nodiscard]] bool has_lost(int rank) noexcept;
  [[nodiscard]] Failure lost(int rank) const;

  std::unique_ptr<Slab> deep;
  uint32_t rooted_calls = 0;
  /// rooted_room: most bytes of a part in the deep slab; few if each rank has a core: then roots
  /// need no deep slab against context switches, and longer parts stay in L1 in the shallow slab.
  uint32_t rooted_room = 0;

 private:
  friend class Slots;
  struct PeerSlab {
    std::byte* base = nullptr;
    Doorbell* bell = nullptr;
    uint64_t use = 0;
    core::Peer* peer = nullptr;
  };
  [[nodiscard]] bool has_few() const noexcept { return peers_.size() <= kFewRanks; }
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
  std::vector<PeerSlab> peers_;
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
