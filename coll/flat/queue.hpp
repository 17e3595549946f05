// SPDX-License-Identifier: Apache-2.0
// FlatQueue: nonblocking flat collectives in flight, in call order, or one persistent collective. A
// call takes the next epochs when started, in equal order on all ranks. Each rank writes ahead, up
// to the lane's depth, and reads in order; calls without free slots queue. The first call exchanges
// slab numbers by messages; if a rank has no slab, all calls become schedules. A large call with
// some data on a device becomes a schedule on all ranks. A persistent call has a private queue,
// since ranks may start several in any order.
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

  /// bind() with `large`: data may lie on a device, and the call uses slots only if no data does.
  /// Throws std::bad_alloc.
  void bind(const Operation& operation, FlatQueue& queue, FlatMethod method, bool large);
  void own(std::unique_ptr<FlatQueue> queue) noexcept { own_ = std::move(queue); }
  void be_blocking() noexcept { blocking_ = true; }
  void go() noexcept override;
  /// kSome: the call ended without effect, since some data lies on a device.
  [[nodiscard]] Where where() const noexcept {
    return epochs_.found_device() ? Where::kSome : Where::kHost;
  }
  void describe(WaitReport* report) const override;
  /// finish() completes the request, which may then be freed.
  void finish() noexcept { end(); }
  [[nodiscard]] FlatCall* next() const noexcept { return next_; }

 private:
  friend class FlatQueue;
  void begin(Slots& slots) noexcept;
  void become_schedule() noexcept;
  bool advance_schedule() noexcept;
  void end_epochs() noexcept;
  void unbind() noexcept override;
  void pool() noexcept override;

  Flights& flights_;
  FlatQueue* queue_ = nullptr;
  FlatMethod method_ = FlatMethod::kWhole;
  bool large_ = false;
  FlatCall* next_ = nullptr;
  FlatEpochs epochs_;
  bool blocking_ = false;
  Execution* schedule_ = nullptr;
  std::unique_ptr<FlatQueue> own_;
};

class QueueOwner {
 public:
  [[nodiscard]] virtual Executions& executions() const noexcept = 0;
  /// make_slab() throws std::bad_alloc.
  [[nodiscard]] virtual std::unique_ptr<Slab> make_slab(core::Communicator& communicator,
                                                        Slab::Size size, const Lane* flight) = 0;
  virtual void retire(std::unique_ptr<Slab> slab) noexcept = 0;
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
  /// advance() adds ended calls to *ended, for finish().
  void advance(FlatCall** ended, int* events) noexcept;
  [[nodiscard]] bool has_failed() const noexcept { return state_ == State::kSchedules; }
  [[nodiscard]] bool empty() const noexcept {
    return calls_.first == nullptr && schedules_.first == nullptr;
  }
  [[nodiscard]] core::Communicator& communicator() const noexcept { return communicator_; }
  [[nodiscard]] const FlatCall* first() const noexcept { return calls_.first; }
  void refuse(const Failure& why, FlatCall** ended) noexcept;
  void describe(const FlatCall& call, WaitReport* report) const;
  bool listed = false;

 private:
  friend class FlatCall;
  enum class State : uint8_t { kNew, kMeeting, kMet, kSchedules };
  struct QueuedCalls {
    FlatCall *first = nullptr, *last = nullptr;
    void add(FlatCall& call) noexcept;
  };

  void meet() noexcept;
  void meet_slabs() noexcept;
  int end_if_lost(FlatCall** ended) noexcept;
  /// True if the queue cannot run the call in slots: the call becomes a schedule.
  [[nodiscard]] bool cannot(const FlatCall& call) const noexcept;
  void sort() noexcept;
  void end_meeting() noexcept;
  void refuse_first(int code, const std::string& why) noexcept;
  void write_ahead(int* events) noexcept;
  void read_in_order(FlatCall** ended, int* events) noexcept;
  void advance_schedules(FlatCall** ended, int* events) noexcept;
  [[nodiscard]] int advance_epochs(FlatCall** ended) noexcept;
  [[nodiscard]] int late_source() const noexcept;
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
  bool gets_ = false;
  QueuedCalls calls_, schedules_;  // calls in slots; calls by messages
  FlatCall* writing_ = nullptr;    // first call with epochs to write
  uint64_t epochs_ = 0;
  int awaited_ = 0;               // first source without a post
  int no_room_ = Slots::kNoRank;  // rank awaited by the next write
  uint32_t fruitless_ = 0;        // rounds without events
  uint32_t timeout_ = 0;          // such rounds before asking
};

}  // namespace tern::coll
