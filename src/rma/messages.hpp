// SPDX-License-Identifier: Apache-2.0
// Messages: a window's way to memory that this process does not share: records to the target, which
// executes them when it moves messages, and answers back.
// Why through the pml: all transports, all sizes and all kinds of memory come with it, and a large
// put is one message straight from the user's buffer into the window.
// Origin: an operation refers to the user's buffers until finish(). At most kMostBytes or
// kMostRecords to one target are not known to be done: then an operation waits for them.
// Lifetime: Window. Threads: the channel is locked, but for what says otherwise.
// See: rma/record.hpp, rma/target_side.hpp.
#pragma once

#include <vector>

#include "pml/pml.hpp"
#include "rma/path.hpp"
#include "rma/record.hpp"
#include "rma/request.hpp"
#include "rma/target_side.hpp"

namespace tern::rma {

/// Messages under way, and what becomes of their memory.
class Flights {
 public:
  /// What is done with the memory at the end.
  enum class Then : uint8_t { kNothing, kUnpack, kSpread, kEnded, kGranted };
  struct Flight {
    core::Request* request = nullptr;
    int target = -1;
    Then then = Then::kNothing;
    core::Ref<OpRequest> whole{};
    std::vector<std::byte> memory{};
    core::Data into{};
    core::Ref<core::Datatype> type{}, basic{};  // of `into`, and of the elements
    size_t offset = 0;                          // among its packed bytes
  };

  void add(Flight flight) { flights_.push_back(std::move(flight)); }
  [[nodiscard]] bool empty() const noexcept { return flights_.empty(); }
  /// Calls `end(flight)` for each ended flight, and forgets the flight.
  template <class End>
  int poll(End&& end) noexcept {
    int ended = 0;
    for (size_t i = 0; i < flights_.size();) {
      if (!flights_[i].request->done()) {
        ++i;
        continue;
      }
      Flight flight = std::move(flights_[i]);
      if (i + 1 < flights_.size()) flights_[i] = std::move(flights_.back());
      flights_.pop_back();
      end(flight);
      flight.request->release();
      ++ended;
    }
    return ended;
  }

 private:
  std::vector<Flight> flights_;
};

class Messages final : public Path {
 public:
  /// Throws Error, std::bad_alloc.
  Messages(Targets& targets, Regions& regions);
  ~Messages() override;

  // Operations lock the channel.
  int put(const core::Data& origin, const Place& to, const Reached& reached,
          OpRequest* request) override;
  int get(const core::Data& origin, const Place& from, const Reached& reached,
          OpRequest* request) override;
  int accumulate(const core::Data* origin, const core::Data* result, const Place& at,
                 const Reached& reached, const Element& element, OpRequest* request) override;
  int compare_and_swap(const void* origin, const void* compare, void* result, const Place& at,
                       const Reached& reached) override;

  /// Locks the channel. All to this target (-1: to all) is done there, or here only (`local`).
  [[nodiscard]] int finish(int target, bool local) noexcept;

  [[nodiscard]] int ask_lock(int target, bool exclusive) noexcept;
  [[nodiscard]] int await_lock(int target) noexcept;
  /// The own part's lock is free, perhaps: others may have asked for it.
  void grant_locks() noexcept { target_side_.grant_locks(); }
  [[nodiscard]] TargetSide& target_side() noexcept { return target_side_; }
  /// kUnlock, kPost, kComplete: in order with all before.
  [[nodiscard]] int tell(Verb verb, int target, uint8_t flags = 0) noexcept;
  /// Waits until nothing is under way any more. All ranks have finished.
  void drain() noexcept;

  [[nodiscard]] int poll() noexcept;

 private:
  /// Of one target.
  struct Link {
    uint32_t open = 0;   // messages under way to it, and answers awaited
    bool dirty = false;  // records went to it after the last flush
    bool granted = false;
    uint32_t records = 0;
    uint64_t bytes = 0;
    int error = MPI_SUCCESS;  // the first since the last finish()
  };
  static constexpr uint32_t kMostRecords = 1024;
  static constexpr uint64_t kMostBytes = uint64_t{4} << 20;
  using Flight = Flights::Flight;
  using Then = Flights::Then;

  /// The next part of what an access touches.
  struct Batch {
    Piece pieces[kMostPieces];
    size_t count = 0, bytes = 0;
  };
  static void cut(const Place& place, int64_t at, size_t done, size_t limit, Batch* batch) noexcept;
  [[nodiscard]] static bool is_block(const Place& place) noexcept;

  [[nodiscard]] Link& link(int target) noexcept { return links_[static_cast<size_t>(target)]; }
  [[nodiscard]] int next_tag() noexcept;
  [[nodiscard]] int send_record(int target, Record record, const Batch* batch,
                                const std::byte* data, OpRequest* request);
  [[nodiscard]] int send_data(int target, const core::Data& data, int tag,
                              std::vector<std::byte> memory, OpRequest* request);
  [[nodiscard]] int expect(int target, const core::Data& into, int tag, Flight flight,
                           OpRequest* request);
  void add(Flight flight, int target, OpRequest* request);
  [[nodiscard]] int put_batch(const core::Data& origin, int target, const Batch& batch, size_t done,
                              bool whole, OpRequest* request);
  [[nodiscard]] int accumulate_batch(const std::byte* elements, const core::Data* result,
                                     int target, const Batch& batch, size_t done,
                                     core::Datatype& basic, Record record, OpRequest* request);
  void end(Flight& flight) noexcept;
  void spread(const Flight& flight) noexcept;
  [[nodiscard]] int hold_back(int target);
  [[nodiscard]] int finish_locked(int target, bool local) noexcept;
  [[nodiscard]] int flush_links(int first, int last, bool local) noexcept;
  void describe(int first, int last, WaitReport* report);

  Targets& targets_;
  core::Process& process_;
  core::Communicator& communicator_;
  pml::Pml& pml_;
  core::Datatype& byte_;
  std::vector<Link> links_;
  Flights flights_;
  int tag_ = 0;
  TargetSide target_side_;
};

}  // namespace tern::rma
