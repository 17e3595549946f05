// SPDX-License-Identifier: Apache-2.0
// Meeting: the ranks of a file combine cards, one meeting after the other.
// Why: a collective transfer needs a few facts of all ranks several times, also while a request
// progresses. Ranks of a host read each other's boards in shared memory; the lowest rank of each
// host exchanges the host's card by messages.
// Order: a rank posts meeting m + 1 after meeting m is over, so two cards per board suffice.
// Faults: after the end of a rank, a last card (kDead) ends the meetings of all hosts.
// Threads: under the channel's lock, except post() and result().
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "base/shared_file.hpp"
#include "core/communicator.hpp"
#include "core/request.hpp"
#include "core/slabs.hpp"
#include "io/hosts.hpp"

namespace tern::io {

/// The facts of one rank, or of several ranks in rank order.
struct Card {
  // The ranges of two ranks overlap, or do not rise with the ranks.
  static constexpr uint32_t kInterleaved = 1;
  static constexpr uint32_t kNoExchange = 2;    // a rank needs the way without exchange
  static constexpr uint32_t kCrowded = 4;       // more ranks than cores
  static constexpr uint32_t kExchange = 8;      // a rank asks for the way with exchange
  static constexpr uint32_t kNoOverwrite = 16;  // mappings of cached pages do not serve a rank
  static constexpr uint32_t kDead = 32;         // a rank has ended, and no meeting follows
  static constexpr uint32_t kCaches = 64;       // a host's client keeps pages of the file

  int32_t code = 0;  // the first error
  uint32_t flags = 0;
  // Bytes of the file.
  int64_t first = std::numeric_limits<int64_t>::max();
  int64_t last = std::numeric_limits<int64_t>::min();
  int64_t bytes = 0, blocks = 0;
  uint64_t bits = 0;  // View::alignment_bits()
  FileOffer offer;    // the stage of the host
  char text[184] = {};

  void add(const Card& next) noexcept;
  void set_error(const Failure& failure) noexcept;
  [[nodiscard]] Failure error() const noexcept;
};
static_assert(sizeof(Card) == 256);

/// A range of the file in use by a rank in atomic mode.
struct RangeEntry {
  std::atomic<int64_t> from, to;  // to 0: no range
  std::atomic<uint32_t> writes;
};

/// The shared file pointer of the views whose number has the entry's index.
struct PointerEntry {
  uint64_t view;
  int64_t etypes;
};

/// A rank's shared memory for a file, behind the head of a slab.
struct alignas(64) Board {
  static constexpr size_t kPointers = 16, kRanges = 4;
  std::atomic<uint64_t> posted, published;
  std::atomic<uint64_t> view;  // the number of the rank's present view
  RangeEntry ranges[kRanges];
  // Of rank 0. The guard is the rank that uses pointers and ranges, plus one, or 0.
  std::atomic<uint64_t> guard;
  PointerEntry pointers[kPointers];
  std::atomic<uint64_t> ordered;  // the meeting whose first etype follows
  std::atomic<int64_t> first_etype;
  Card cards[2], results[2];
};

class Meeting {
 public:
  explicit Meeting(core::Communicator& own) noexcept;
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;
  /// All ranks have left all meetings.
  ~Meeting();

  /// The number of this rank's slab, for connect() of all ranks.
  [[nodiscard]] uint32_t slab() const noexcept { return slab_; }
  /// Returns the lowest rank of this host. Throws Error, std::bad_alloc.
  [[nodiscard]] int connect(const std::vector<uint32_t>& slabs);
  void set_hosts(Hosts hosts) noexcept { hosts_ = std::move(hosts); }

  void post(const Card& card) noexcept;
  /// over() is true once all ranks have posted, or after an error (a dead rank).
  [[nodiscard]] bool over() noexcept;
  [[nodiscard]] const Failure& failed() const noexcept { return failed_; }
  /// No meeting follows. All ranks call this after the same meeting.
  void end(const Failure& why) noexcept { failed_ = why; }
  [[nodiscard]] const Card& result() const noexcept { return result_; }
  [[nodiscard]] uint64_t number() const noexcept { return number_; }
  /// The card of a rank of this host in the present meeting.
  [[nodiscard]] const Card& card(int rank) const noexcept {
    return board(rank)->cards[number_ & 1];
  }
  void describe(WaitReport* report) const;
  /// Between meetings: ends the meetings of all ranks.
  void give_up(const Failure& why) noexcept;
  /// Between meetings: whether a rank of the file has ended, asked now and then. Fails the
  /// meetings.
  [[nodiscard]] bool finds_end() noexcept;

  [[nodiscard]] core::Communicator& communicator() const noexcept { return own_; }
  [[nodiscard]] const Hosts& hosts() const noexcept { return hosts_; }
  [[nodiscard]] const std::vector<int>& locals() const noexcept { return hosts_.locals(); }
  [[nodiscard]] bool is_leader() const noexcept { return own_.rank() == locals().front(); }
  [[nodiscard]] bool on_one_host() const noexcept { return hosts_.count() == 1; }
  /// The board of a rank of this host, otherwise null.
  [[nodiscard]] Board* board(int rank) const noexcept {
    return boards_[static_cast<size_t>(rank)].board;
  }
  [[nodiscard]] bool has_died(int rank) const noexcept;
  /// has_died(), asked now and then. Fails the meetings.
  [[nodiscard]] bool finds_end_of(int local) noexcept {
    return finds_dead(static_cast<size_t>(local), static_cast<size_t>(local) + 1);
  }
  /// Takes rank 0's guard, also from a dead rank, for a few instructions.
  void take_guard() const noexcept;
  void drop_guard() const noexcept { board(0)->guard.store(0, std::memory_order_release); }
  /// Wakes the other ranks of this host after a store.
  void wake_locals() const noexcept;

 private:
  struct Neighbor {
    Board* board = nullptr;
    Doorbell* bell = nullptr;
  };
  [[nodiscard]] bool all_posted() noexcept;
  /// Exchanges cards with the other hosts. Returns true once the sum is complete, or after an
  /// error.
  [[nodiscard]] bool exchanged() noexcept;
  /// Receives the next cards of the other leaders.
  [[nodiscard]] bool listen() noexcept;
  [[nodiscard]] bool start_exchange() noexcept;
  /// In a meeting, before all ranks of this host have posted: whether other hosts, or the leader,
  /// have told the end of a rank.
  [[nodiscard]] bool hears_end() noexcept;
  void end_exchange() noexcept;
  void publish(const Card& sum, uint64_t number) noexcept;
  void combine_locals(Card* sum) const noexcept;
  /// Looks at local ranks [from, to), now and then.
  [[nodiscard]] bool finds_dead(size_t from, size_t to) noexcept;
  /// The last card, to the ranks of this host and the other leaders.
  TERN_COLD void tell_end() noexcept;

  core::Communicator& own_;
  core::Slabs* const slabs_;
  uint32_t slab_ = core::Slabs::kNone;
  Board alone_{};  // without a slab
  Board* mine_ = &alone_;
  std::vector<Neighbor> boards_;
  Hosts hosts_;
  size_t next_local_ = 0;
  uint64_t number_ = 0;
  Card result_;
  Failure failed_;
  enum class Exchange : uint8_t { kIdle, kListening, kUnderWay } exchange_ = Exchange::kIdle;
  std::vector<Card> far_;
  std::vector<core::Request*> requests_;
  std::unique_ptr<Card> last_;
  std::vector<core::Request*> last_sends_;
  uint32_t rounds_ = 0;
  int64_t looked_ns_ = 0;
};

}  // namespace tern::io
