// SPDX-License-Identifier: Apache-2.0
// SharedCollectives: the executors with shared memory: slots, calls in flight, mapped device
// buffers.
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

  /// may_serve() is equal on all ranks.
  [[nodiscard]] static bool may_serve(const CommState& state, const Operation& operation,
                                      const Question& question) noexcept;
  void choose(BlockingCall& call) const;
  /// ask_for_drivers() runs at a communicator's first large call without slots.
  void ask_for_drivers(const BlockingCall& call);
  /// All ranks create the call's slab together at its first use. Returns false if a rank has no
  /// free slab.
  [[nodiscard]] bool take_slots(BlockingCall& call);

  // why_not_X() returns null if executor X may serve the call, else the reason; the answer is equal
  // on all ranks. run_X() stores the result in call.code, or returns false on all ranks, without
  // effects, if another executor must serve. Functions without noexcept throw Error,
  // std::bad_alloc.

  /// Large sliced calls run in flight: posting ahead of reads saves context switches.
  [[nodiscard]] static const char* why_not_in_flight(const BlockingCall& call) noexcept;
  [[nodiscard]] bool run_in_flight(BlockingCall& call);
  [[nodiscard]] static const char* why_not_on_devices(const BlockingCall& call) noexcept;
  [[nodiscard]] bool run_on_devices(BlockingCall& call);
  [[nodiscard]] static const char* why_not_in_slots(const BlockingCall& call) noexcept;
  [[nodiscard]] bool run_in_slots(BlockingCall& call);

  /// Notes a device driver loaded after the communicator's creation, as found by the slots.
  static void note_devices(const BlockingCall& call) noexcept;

  /// run_plain() with `where`: ranks first exchange placement, and run only if all data lies on the
  /// host.
  [[nodiscard]] static int run_plain(const BlockingCall& call, Where* where = nullptr);

  /// make_flight() returns null if a schedule must serve the call.
  [[nodiscard]] FlatCall* make_flight(const Operation& operation, const Question& question,
                                      bool persistent);

 private:
  /// All ranks call make_slab(). Returns false if a rank lacks a slab.
  [[nodiscard]] bool make_slab(CommState& state, Slab::Size size, const char* name,
                               std::unique_ptr<Slab>& slab);
  [[nodiscard]] Slab* slab_for(CommState& state, Slab::Size size, const char* name);
  TERN_COLD void lack(CommState& state, Slab::Size size);
  /// All ranks create the deep slab at the sixteenth small rooted call.
  [[nodiscard]] bool take_deep_slots(BlockingCall& call, size_t bytes);
  enum class Flight : uint8_t { kSmall, kMedium, kLarge, kNone };
  [[nodiscard]] static Flight flight_of(const CommState& state, const Operation& operation,
                                        const Question& question, bool persistent) noexcept;
  struct FlightPlan {
    Flight lanes = Flight::kNone;
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
