// SPDX-License-Identifier: Apache-2.0
// SharedCollectives: the executors of ranks that share memory: slots, calls in flight, devices
// whose buffers all ranks map. Lifetime: Coll. Threads: under the channel's lock. See:
// coll/flat/README.md.
#pragma once

#include "coll/blocking_call.hpp"
#include "coll/context.hpp"
#include "coll/flat/device_links.hpp"
#include "coll/flat/flat.hpp"
#include "coll/flat/queue.hpp"
#include "coll/flat/slots.hpp"

namespace tern::coll {

class SharedCollectives {
 public:
  explicit SharedCollectives(Context& context) noexcept : context_(context) {}

  /// Whether selection may choose a row of shared memory. Alike on all ranks.
  [[nodiscard]] static bool may_serve(const CommState& state, const Operation& operation,
                                      const Question& question) noexcept;
  /// Chooses the call's row, for all executors of shared memory.
  void choose(BlockingCall& call) const noexcept;
  /// Once for a communicator whose first large call takes a row without slots: whether any rank has
  /// a driver of devices. Throws Error.
  void ask_for_drivers(const BlockingCall& call);
  /// The slab that the call needs, made by all ranks together at the first use; false: some rank
  /// has no room for a slab. Throws Error, std::bad_alloc.
  [[nodiscard]] bool take_slots(BlockingCall& call);

  // Executors: why_not_X() is null where X may serve the call, otherwise the reason, by facts that
  // are alike on all ranks. run_X(): true: call.code is the result; false: all ranks have found
  // alike that another executor must serve, and nothing is done. They throw Error, std::bad_alloc
  // where this rank cannot go on.

  /// Large sliced calls, by the queue of the calls in flight: ranks that post ahead of their reads
  /// switch less often than ranks that end each epoch together.
  [[nodiscard]] static const char* why_not_in_flight(const BlockingCall& call) noexcept;
  [[nodiscard]] bool run_in_flight(BlockingCall& call);
  /// Large data of which some lies on a device: all ranks map all buffers.
  [[nodiscard]] static const char* why_not_on_devices(const BlockingCall& call) noexcept;
  [[nodiscard]] bool run_on_devices(BlockingCall& call);
  /// Through slots of the host's memory.
  [[nodiscard]] static const char* why_not_in_slots(const BlockingCall& call) noexcept;
  [[nodiscard]] bool run_in_slots(BlockingCall& call);

  /// Behind a call: the slots may have shown a driver of devices, loaded after the communicator was
  /// made.
  static void note_devices(const BlockingCall& call) noexcept;

  /// As run_in_slots(), with the call's slots. `where`: ranks first tell where their data lies, and
  /// nothing is done unless all data lies on the host; null: no question.
  [[nodiscard]] static int run_plain(const BlockingCall& call, Where* where = nullptr);

  /// Nonblocking and persistent. Bound, without a handle; null: a schedule must serve. Throws
  /// Error, std::bad_alloc.
  [[nodiscard]] FlatCall* make_flight(const Operation& operation, const Question& question,
                                      bool persistent);

 private:
  /// All ranks make it together. False: a rank lacks a slab of this size. Throws Error,
  /// std::bad_alloc.
  [[nodiscard]] bool make_slab(CommState& state, Slab::Size size, const char* name,
                               std::unique_ptr<Slab>& slab);
  [[nodiscard]] Slab* slab_for(CommState& state, Slab::Size size, const char* name);
  TERN_COLD void lack(CommState& state, Slab::Size size);
  /// Slots of the deep slab for a small rooted call. All ranks make the slab at the sixteenth call:
  /// communicators with few calls need no memory. Throws Error, std::bad_alloc.
  [[nodiscard]] bool take_deep_slots(BlockingCall& call, size_t bytes);
  /// The communicator's queues, by kinds of lanes.
  enum class Flight : uint8_t { kSmall, kMedium, kLarge, kNone };
  [[nodiscard]] static Flight flight_of(const CommState& state, const Operation& operation,
                                        const Question& question, bool persistent) noexcept;
  struct FlightPlan {
    Flight lanes = Flight::kNone;  // a schedule must serve
    FlatMethod method = FlatMethod::kNone;
  };
  [[nodiscard]] FlightPlan plan_flight(CommState& state, const Operation& operation,
                                       const Question& question, bool persistent) const noexcept;
  [[nodiscard]] FlatCall* bind_flight(CommState& state, const Operation& operation,
                                      const Question& question, bool persistent,
                                      const FlightPlan& plan);

  Context& context_;
  DeviceLinks device_links_;
};

}  // namespace tern::coll
