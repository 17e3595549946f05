// SPDX-License-Identifier: Apache-2.0
// CollRequest: an active collective, as a call in flight (FlatCall) or a schedule (Execution).
// Lifetime: pooled; the user's handle and the running operation hold a reference each.
#pragma once

#include <string>

#include "coll/engine/kept_operation.hpp"
#include "coll/engine/measured.hpp"
#include "coll/engine/operation.hpp"
#include "coll/engine/refusal.hpp"
#include "core/request.hpp"

namespace tern::coll {

/// Tags have few bits; collectives without messages take no tag sequence.
[[nodiscard]] uint32_t next_sequence(core::Communicator& communicator) noexcept;
[[nodiscard]] uint32_t sequence_of(CallNumber persistent) noexcept;

class CollRequest : public core::Request {
 public:
  CollRequest(const CollRequest&) = delete;
  CollRequest& operator=(const CollRequest&) = delete;

  [[nodiscard]] const Operation& operation() const noexcept { return kept_.operation(); }
  [[nodiscard]] CallNumber number() const noexcept { return number_; }
  void number(CallNumber number) noexcept {
    number_ = number;
    numbered_ = true;
  }
  void tag_by(uint32_t sequence) noexcept {
    sequence_ = sequence;
    tagged_ = true;
  }
  /// A persistent request takes its number when created: ranks create persistent collectives in
  /// equal order, but may start them in any order.
  void set_persistent() noexcept;
  void measure(Measured* sum) noexcept { watch_.measure(sum); }

  virtual void go() noexcept = 0;
  [[nodiscard]] Failure run() noexcept;
  int start() noexcept final;
  void describe(WaitReport* report) const override;
  void destroy() noexcept final;

 protected:
  CollRequest(core::Channel& of, Refusals& refusals) noexcept;

  void begin() noexcept;
  void end() noexcept;
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
