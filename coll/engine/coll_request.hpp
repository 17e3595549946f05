// SPDX-License-Identifier: Apache-2.0
// CollRequest: a collective under way: a call in flight or a schedule.
// Why: both have a number, a measured time, an error and a pool.
// Lifetime: pooled; the user's handle is a reference, the running operation is another.
// Threads: under the channel's lock; start() takes it.
// See: coll/flat/queue.hpp (FlatCall), coll/engine/engine_host.hpp (Execution).
#pragma once

#include <string>

#include "coll/engine/kept_operation.hpp"
#include "coll/engine/measured.hpp"
#include "coll/engine/operation.hpp"
#include "coll/engine/refusal.hpp"
#include "core/request.hpp"

namespace tern::coll {

/// For the tags of the next collective with messages, or of a persistent collective. A collective
/// without messages takes none, since tags have few bits.
[[nodiscard]] uint32_t next_sequence(core::Communicator& communicator) noexcept;
[[nodiscard]] uint32_t sequence_of(CallNumber persistent) noexcept;

class CollRequest : public core::Request {
 public:
  CollRequest(const CollRequest&) = delete;
  CollRequest& operator=(const CollRequest&) = delete;

  [[nodiscard]] const Operation& operation() const noexcept { return kept_.operation(); }
  [[nodiscard]] CallNumber number() const noexcept { return number_; }
  /// The caller has taken its number.
  void number(CallNumber number) noexcept {
    number_ = number;
    numbered_ = true;
  }
  /// The caller has taken the first part of its messages' tags.
  void tag_by(uint32_t sequence) noexcept {
    sequence_ = sequence;
    tagged_ = true;
  }
  /// Takes its number now: ranks make persistent collectives in the same order, but start them in
  /// different orders.
  void set_persistent() noexcept;
  /// Adds the time of every run to `sum` (null: none).
  void measure(Measured* sum) noexcept { watch_.measure(sum); }

  /// Begins; progress does the rest.
  virtual void go() noexcept = 0;
  /// Calls go() and waits for the end. The caller releases the request.
  [[nodiscard]] Failure run() noexcept;
  int start() noexcept final;
  void describe(WaitReport* report) const override;
  void destroy() noexcept final;

 protected:
  CollRequest(core::Channel& of, Refusals& refusals) noexcept;

  void begin() noexcept;
  /// Completes and releases the request.
  void end() noexcept;
  /// The first error counts.
  TERN_COLD void take_error(Failure why) noexcept;
  [[nodiscard]] uint32_t sequence() const noexcept { return sequence_; }
  [[nodiscard]] Refusals& refusals() const noexcept { return refusals_; }

  KeptOperation kept_;

 private:
  /// Before the request goes to its pool.
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
