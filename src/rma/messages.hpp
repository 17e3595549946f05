// SPDX-License-Identifier: Apache-2.0
// Messages: a window's path to unshared memory, by records to the target and answers.
// Operations refer to the user's buffers until finish(). Beyond kMostBytes or kMostRecords
// unconfirmed operations wait. Threads: under the channel's lock unless stated.
#pragma once

#include <vector>

#include "pml/pml.hpp"
#include "rma/path.hpp"
#include "rma/record.hpp"
#include "rma/request.hpp"
#include "rma/target_side.hpp"

namespace tern::rma {

class Flights {
 public:
  enum class Then : uint8_t { kNothing, kUnpack, kSpread, kEnded, kGranted };
  struct Flight {
    core::Request* request = nullptr;
    int target = -1;
    Then then = Then::kNothing;
    core::Ref<OpRequest> whole{};
    std::vector<std::byte> memory{};
    core::Data into{};
    core::Ref<core::Datatype> type{}, basic{};
    size_t offset = 0;
  };

  void add(Flight flight) { flights_.push_back(std::move(flight)); }
  [[nodiscard]] bool empty() const noexcept { return flights_.empty(); }
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
  /// The constructor throws Error, std::bad_alloc.
  Messages(Targets& targets, Regions& regions);
  ~Messages() override;

  // put(), get() and accumulate() lock the channel.
  int put(const core::Data& origin, const TargetData& to, const Reached& reached,
          OpRequest* request) override;
  int get(const core::Data& origin, const TargetData& from, const Reached& reached,
          OpRequest* request) override;
  int accumulate(const core::Data* origin, const core::Data* result, const TargetData& at,
                 const Reached& reached, const Element& element, OpRequest* request) override;
  int compare_and_swap(const void* origin, const void* compare, void* result, const TargetData& at,
                       const Reached& reached) override;

  /// Waits for operations to the target (-1: all), at the target, or only at this rank (`local`).
  /// Locks the channel.
  [[nodiscard]] int finish(int target, bool local) noexcept;

  /// As finish() of all, also of locks and notices, before the window's end.
  [[nodiscard]] int finish_notices() noexcept;

  [[nodiscard]] int ask_lock(int target, bool exclusive) noexcept;
  [[nodiscard]] int await_lock(int target) noexcept;
  void grant_locks() noexcept { target_side_.grant_locks(); }
  [[nodiscard]] TargetSide& target_side() noexcept { return target_side_; }
  /// Sends kUnlock, kPost or kComplete after earlier records.
  [[nodiscard]] int tell(Verb verb, int target, uint8_t flags = 0) noexcept;
  /// Waits for all messages; all ranks must have finished.
  void drain() noexcept;

  [[nodiscard]] int poll() noexcept;

 private:
  struct TargetState {
    uint32_t open = 0;
    bool dirty = false;  // unconfirmed operations
    bool told = false;   // unconfirmed locks and notices, which no flush awaits
    bool granted = false;
    uint32_t records = 0;
    uint64_t bytes = 0;
    int error = MPI_SUCCESS;
  };
  static constexpr uint32_t kMostRecords = 1024;
  static constexpr uint64_t kMostBytes = uint64_t{4} << 20;
  using Flight = Flights::Flight;
  using Then = Flights::Then;

  struct Batch {
    RecordPiece pieces[kMostPieces];
    size_t count = 0, bytes = 0;
  };
  static void cut(const TargetData& place, int64_t at, size_t done, size_t limit,
                  Batch* batch) noexcept;
  [[nodiscard]] static bool is_block(const TargetData& place) noexcept;

  [[nodiscard]] TargetState& link(int target) noexcept {
    return links_[static_cast<size_t>(target)];
  }
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
  std::vector<TargetState> links_;
  Flights flights_;
  int tag_ = 0;
  TargetSide target_side_;
};

}  // namespace tern::rma
