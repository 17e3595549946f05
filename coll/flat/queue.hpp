// SPDX-License-Identifier: Apache-2.0
// FlatQueue: nonblocking (or one persistent) flat collectives in flight, in the order of the calls.
// FlatCall: one of them. Why: programs keep a window of small reductions in flight; as messages
// each would cost several rounds and, beyond the cores, several switches between ranks.
// Protocol: that of the slots (slots.hpp), in slabs of its own. A call takes the next epochs when
// it starts; all ranks start alike, so they agree. Each rank writes ahead, up to the depth of the
// lane, and reads in order what all that it needs have posted. What has no room yet waits in the
// queue, not in the call. The first call exchanges the slabs' numbers, by messages, while it is in
// flight; where a rank has no slab all calls become schedules. Where a rank's data of a large call
// turns out to lie on a device, that call becomes a schedule on all ranks. Blocking calls that are
// sliced run here, too. A persistent call has a queue to itself, for ranks may start several in any
// order. Lifetime: a queue is the communicator's or the persistent call's; calls are pooled by
// Flights. Threads: under the channel's lock. See: coll/flat/README.md,
// tests/unit/coll/flight_test.cc.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "coll/engine/coll_request.hpp"
#include "coll/flat/epochs.hpp"
#include "coll/flat/slots.hpp"
#include "coll/flat/where.hpp"
#include "coll/schedule/flat_method.hpp"

namespace tern::coll {

class Execution;
class Executions;
class Flights;
class FlatQueue;

class FlatCall final : public CollRequest {
 public:
  explicit FlatCall(Flights& owner) noexcept;
  ~FlatCall() override;

  /// For the next start. `large`: the data may lie on a device, and is the ranks' only if none
  /// does. Throws std::bad_alloc.
  void bind(const Operation& operation, FlatQueue& queue, FlatMethod method, bool large);
  /// Has the queue of its binding to itself.
  void own(std::unique_ptr<FlatQueue> queue) noexcept { own_ = std::move(queue); }
  /// The caller waits for the end, and does by itself what cannot be done in slots.
  void be_blocking() noexcept { blocking_ = true; }
  /// Into the queue.
  void go() noexcept override;
  /// kSome: it ended with nothing done, since a rank's data lies on a device.
  [[nodiscard]] Where where() const noexcept {
    return epochs_.found_device() ? Where::kSome : Where::kHost;
  }
  void describe(WaitReport* report) const override;
  /// The queue has let go of it: the request is complete, and may be gone afterwards.
  void finish() noexcept { end(); }
  /// In the queue, or in a list of those that ended.
  [[nodiscard]] FlatCall* next() const noexcept { return next_; }

 private:
  friend class FlatQueue;
  void begin(Slots& slots) noexcept;
  /// Its epochs found that a rank's data lies on a device.
  void become_schedule() noexcept;
  /// By messages; true once that is over.
  bool advance_schedule() noexcept;
  void end_epochs() noexcept;
  void unbind() noexcept override;
  void pool() noexcept override;

  Flights& flights_;
  FlatQueue* queue_ = nullptr;
  FlatMethod method_ = FlatMethod::kWhole;
  bool large_ = false;
  FlatCall* next_ = nullptr;  // in the queue
  FlatEpochs epochs_;
  bool blocking_ = false;
  Execution* schedule_ = nullptr;
  std::unique_ptr<FlatQueue> own_;
};

/// The channel of a queue. Flights implements this interface.
class QueueOwner {
 public:
  [[nodiscard]] virtual Executions& executions() const noexcept = 0;
  /// A slab, or one without a number. Throws std::bad_alloc.
  [[nodiscard]] virtual std::unique_ptr<Slab> make_slab(core::Communicator& communicator,
                                                        Slab::Size size, const Lane* flight) = 0;
  /// The slab of a communicator that is gone.
  virtual void retire(std::unique_ptr<Slab> slab) noexcept = 0;
  /// A rank has no slab: the others' slabs serve nothing.
  TERN_COLD virtual void lacks_slabs(const core::Communicator& communicator) = 0;
  virtual void unlist(const FlatQueue& queue) noexcept = 0;

 protected:
  ~QueueOwner() = default;
};

class FlatQueue {
 public:
  FlatQueue(QueueOwner& owner, core::Communicator& communicator, const Lane& lane) noexcept;
  FlatQueue(const FlatQueue&) = delete;
  FlatQueue& operator=(const FlatQueue&) = delete;
  ~FlatQueue();

  void push(FlatCall& call) noexcept;
  /// Does what can be done now. Calls that ended are added to the list *ended, to be finished.
  void advance(FlatCall** ended, int* events) noexcept;
  /// A rank lacks what it takes: calls that come now do better as schedules at once.
  [[nodiscard]] bool has_failed() const noexcept { return state_ == State::kSchedules; }
  [[nodiscard]] bool empty() const noexcept {
    return calls_.first == nullptr && schedules_.first == nullptr;
  }
  [[nodiscard]] core::Communicator& communicator() const noexcept { return communicator_; }
  /// Of those that are no schedules.
  [[nodiscard]] const FlatCall* first() const noexcept { return calls_.first; }
  /// All that it holds fail, and are added to the list *ended.
  void refuse(const std::string& why, FlatCall** ended) noexcept;
  void describe(const FlatCall& call, WaitReport* report) const;
  bool listed = false;  // Flights polls it

 private:
  friend class FlatCall;
  enum class State : uint8_t { kNew, kMeeting, kMet, kSchedules };
  struct Calls {
    FlatCall *first = nullptr, *last = nullptr;
    void add(FlatCall& call) noexcept;
  };

  void meet() noexcept;
  void meet_slabs() noexcept;
  /// It must be a schedule.
  [[nodiscard]] bool cannot(const FlatCall& call) const noexcept;
  void sort() noexcept;
  void end_meeting() noexcept;
  void refuse_first(int code, const std::string& why) noexcept;
  void write_ahead(int* events) noexcept;
  void read_in_order(FlatCall** ended, int* events) noexcept;
  void advance_schedules(FlatCall** ended, int* events) noexcept;
  [[nodiscard]] int advance_epochs(FlatCall** ended) noexcept;
  /// The rank that reading the first call waits for, or kNoRank.
  [[nodiscard]] int late_source() const noexcept;
  /// True where one of them was not asked yet.
  bool ask_the_late() noexcept;

  QueueOwner& owner_;
  core::Channel& channel_;
  core::Communicator& communicator_;
  const Lane lane_;
  State state_ = State::kNew;
  std::unique_ptr<Slab> slab_;
  Execution* meeting_ = nullptr;
  uint32_t mine_ = core::Slabs::kNone;
  std::vector<uint32_t> all_;
  bool gets_ = false;             // each rank can copy from all others' memory
  Calls calls_, schedules_;       // in slots; by messages
  FlatCall* writing_ = nullptr;   // the first that has epochs to write
  uint64_t epochs_ = 0;           // that calls have taken
  int awaited_ = 0;               // of the first call's sources, the first that has not posted
  int no_room_ = Slots::kNoRank;  // the rank that the next write waits for
  uint32_t fruitless_ = 0;        // rounds, one after the other
  uint32_t patience_ = 0;         // so many before it asks to be rung
};

}  // namespace tern::coll
