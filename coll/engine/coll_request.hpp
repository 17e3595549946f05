// SPDX-License-Identifier: Apache-2.0
// CollRequest: an active collective, either a call in flight or a schedule. Why: shares number,
// measured time, error and pool. Lifetime: pooled; the user's handle and the running operation hold
// a reference each. Threads: under the channel's lock; start() takes it. See: coll/flat/queue.hpp
// (FlatCall), coll/engine/engine_host.hpp (Execution).
#pragma once

#include <string>

#include "coll/engine/kept_operation.hpp"
#include "coll/engine/measured.hpp"
#include "coll/engine/operation.hpp"
#include "coll/engine/refusal.hpp"
#include "core/request.hpp"

namespace tern::coll {

/// The tag sequence of the next collective with messages, or of a persistent collective. Tags have
/// few bits, so collectives without messages take none.
[[nodiscard]] uint32_t next_sequence(core::Communicator& communicator) noexcept;
[[nodiscard]] uint32_t sequence_of(CallNumber persistent) noexcept;

class CollRequest : public core::Request {
 public:
  CollRequest(const CollRequest&) = delete;
  CollRequest& operator=(const CollRequest&) = delete;

  [[nodiscard]] const Operation& operation() const noexcept { return kept_.operation(); }
  [[nodiscard]] CallNumber number() const noexcept { return number_; }
  /// The caller has taken the number.
  void number(CallNumber number) noexcept {
    number_ = number;
    numbered_ = true;
  }
  /// The caller has taken the tag sequence.
  void tag_by(uint32_t sequence) noexcept {
    sequence_ = sequence;
    tagged_ = true;
  }
  /// Takes the number now: ranks create persistent collectives in equal order, but may start them
  /// in different orders.
  void set_persistent() noexcept;
  /// Adds the time of each run to `sum`, unless null.
  void measure(Measured* sum) noexcept { watch_.measure(sum); }

  /// Begins; progress completes.
  virtual void go() noexcept = 0;
  /// Calls go() and waits. The caller releases the request.
  [[nodiscard]] Failure run() noexcept;
  int start() noexcept final;
  void describe(WaitReport* report) const override;
  void destroy() noexcept final;

 protected:
  CollRequest(core::Channel& of, Refusals& refusals) noexcept;

  void begin() noexcept;
  void end() noexcept;
  /// Keeps the first error.
  TERN_COLD void take_error(Failure why) noexcept;
  [[nodiscard]] uint32_t sequence() const noexcept { return sequence_; }
  [[nodiscard]] Refusals& refusals() const noexcept { return refusals_; }

  KeptOperation kept_;

 private:
  virtual void unbind() noexcept = 0;
  virtual void pool() noexcept = 0;

  Refusals& refusals_;
  Stopwatch watch_;
  CallNumber number_;
  uint32_t sequence_ = 0;
  bool numbered_ = false, tagged_ = false;
  std::string text_;
};

}  // namespace tern::coll
