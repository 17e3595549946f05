// SPDX-License-Identifier: Apache-2.0
// FlatQueue: nonblocking (or one persistent) flat collectives in flight, in the order of the calls.
// FlatCall: one of them. Why: programs keep a window of small reductions in flight; as messages
// each would cost several rounds and, beyond the cores, several switches between ranks.
// Protocol: that of the slots (slots.hpp), in a slab of its own. A call takes the next epochs when
// it starts; all ranks start alike, so they agree. Each rank writes ahead, up to the depth of the
// lane, and reads in order what all that it needs have posted. What has no room yet waits in the
// queue, not in the call. The first call exchanges the slabs' numbers, by messages, while it is in
// flight; where a rank has no slab all calls become schedules. A persistent call has a queue to
// itself, for ranks may start several in any order. Lifetime: a queue is the communicator's or the
// persistent call's; calls are pooled by Flights. Threads: under the channel's lock.
// See: coll/flat/README.md, tests/unit/coll/flight_test.cc.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "coll/engine/measured.hpp"
#include "coll/engine/operation.hpp"
#include "coll/engine/refusal.hpp"
#include "coll/flat/parts.hpp"
#include "coll/flat/slots.hpp"
#include "coll/flat/staged.hpp"
#include "core/request.hpp"

namespace tern::coll {

class Execution;
class Flights;
class FlatQueue;

class FlatCall final : public core::Request {
 public:
  explicit FlatCall(Flights& owner) noexcept;
  FlatCall(const FlatCall&) = delete;
  FlatCall& operator=(const FlatCall&) = delete;
  ~FlatCall() override;

  /// For the next start. Throws std::bad_alloc.
  void bind(const Operation& operation, FlatQueue& queue);
  /// Takes its number now, and has the queue to itself.
  void set_persistent(std::unique_ptr<FlatQueue> queue, CallNumber number) noexcept;
  /// Adds the time of every run to `sum` (null: none).
  void measure(Measured* sum) noexcept { measured_ = sum; }
  /// Into the queue. Lock held.
  void launch() noexcept;
  int start() noexcept override;
  void describe(WaitReport* report) const override;
  void destroy() noexcept override;
  /// The queue has let go of it: the request is complete, and may be gone afterwards.
  void finish() noexcept;
  /// In the queue, or in a list of those that ended.
  [[nodiscard]] FlatCall* next() const noexcept { return next_; }
  [[nodiscard]] CallNumber number() const noexcept { return number_; }

 private:
  friend class FlatQueue;
  void begin(Slots& slots) noexcept;
  void write(Slots& slots) noexcept;
  void read(Slots& slots) noexcept;
  [[nodiscard]] bool all_read() const noexcept { return read_ == parts_->epochs(); }
  /// By messages; true once that is over.
  bool advance_schedule() noexcept;
  void take_error(int code, const std::string& text) noexcept;
  void end() noexcept;

  Flights& flights_;
  FlatQueue* queue_ = nullptr;
  FlatCall* next_ = nullptr;  // in the queue
  Operation operation_{};
  core::Ref<core::Datatype> input_type_, output_type_;
  core::Ref<core::Op> op_;
  std::vector<MPI_Count> counts_;
  std::optional<Staged> staged_;  // where a buffer is a device's
  std::optional<Parts> parts_;
  int64_t written_ = 0, read_ = 0;  // epochs
  uint64_t first_epoch_ = 0;        // of the lane
  bool unreadable_ = false;         // what it posts is poisoned
  CallNumber number_;
  uint32_t sequence_ = 0;  // should it become a schedule
  Execution* schedule_ = nullptr;
  std::unique_ptr<FlatQueue> own_;
  Measured* measured_ = nullptr;
  int64_t began_ = 0;
  std::string text_;
};

class FlatQueue {
 public:
  FlatQueue(Flights& flights, core::Communicator& communicator, const Lane& lane) noexcept;
  FlatQueue(const FlatQueue&) = delete;
  FlatQueue& operator=(const FlatQueue&) = delete;
  ~FlatQueue();

  void push(FlatCall& call) noexcept;
  /// Does what can be done now. Calls that ended are added to the list *ended, to be finished.
  void advance(FlatCall** ended, int* events) noexcept;
  /// A rank lacks a slab: calls that come now do better as schedules at once.
  [[nodiscard]] bool lacks_slabs() const noexcept { return state_ == State::kSchedules; }
  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }
  [[nodiscard]] core::Communicator& communicator() const noexcept { return communicator_; }
  [[nodiscard]] const FlatCall* first() const noexcept { return first_; }
  /// All that it holds fail, and are added to the list *ended.
  void refuse(const std::string& why, FlatCall** ended) noexcept;
  void describe(const FlatCall& call, WaitReport* report) const;
  bool listed = false;  // Flights polls it

 private:
  friend class FlatCall;
  enum class State : uint8_t { kNew, kMeeting, kMet, kSchedules };

  void meet() noexcept;
  void end_meeting() noexcept;
  void refuse_first(const std::string& why) noexcept;
  void begin_calls() noexcept;
  void write_ahead(int* events) noexcept;
  void read_in_order(FlatCall** ended, int* events) noexcept;
  void advance_schedules(FlatCall** ended, int* events) noexcept;
  [[nodiscard]] int advance_epochs(FlatCall** ended) noexcept;
  /// True where one of them was not asked yet.
  bool ask_the_late() noexcept;

  Flights& flights_;
  core::Channel& channel_;
  core::Communicator& communicator_;
  const Lane lane_;
  State state_ = State::kNew;
  std::unique_ptr<Slab> slab_;
  Execution* meeting_ = nullptr;
  uint32_t mine_ = core::Slabs::kNone;
  std::vector<uint32_t> all_;
  FlatCall *first_ = nullptr, *last_ = nullptr;
  FlatCall* writing_ = nullptr;   // the first that has epochs to write
  uint64_t epochs_ = 0;           // that calls have taken
  int awaited_ = 0;               // of the first call's sources, the first that has not posted
  int no_room_ = Slots::kNoRank;  // the rank that the next write waits for
  uint32_t fruitless_ = 0;        // rounds, one after the other
  uint32_t patience_ = 0;         // so many before it asks to be rung
};

}  // namespace tern::coll
