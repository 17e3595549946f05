// SPDX-License-Identifier: Apache-2.0
// Memo: a communicator's last question and answer, and its contests.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "coll/select/contest.hpp"
#include "coll/select/select.hpp"
#include "core/communicator.hpp"
#include "core/op.hpp"

namespace tern::coll {

struct Learnt final : core::Object {
  Learnt() noexcept : Object(core::Kind::kNone) {}
  MeasuredLines lines;
};
[[nodiscard]] inline const MeasuredLines* lines_of(
    const core::Ref<core::Object>& inherited) noexcept {
  return inherited ? &static_cast<const Learnt*>(inherited.get())->lines : nullptr;
}

struct Tuning {
  static constexpr size_t kMostKeys = 32, kMostInLearning = 512;
  struct TunedKey {
    uint32_t key;
    Question question;
    Contest contest;
    uint32_t agreement = 0;  // ns
  };
  std::vector<std::unique_ptr<TunedKey>> entries;
  core::Ref<core::Object> learnt;  // null: rebuilt on demand
  uint32_t trail = 0;              // hash of timed rows, equal on all ranks

  void follow(uint32_t key, uint32_t row) noexcept {
    constexpr uint32_t kFactor = 0x01000193;
    trail = (((trail ^ key) * kFactor) ^ row) * kFactor;
  }
};

/// Rules have powers of two as bounds, which belong to the smaller sizes.
[[nodiscard]] uint32_t power_of(size_t bytes) noexcept;
/// Rules cannot express communicators without shared memory on one host, irregular blocks, or fixed
/// operand order. Rows with a plan have no line, because later jobs may lack the plan.
[[nodiscard]] bool has_line(const Tuning::TunedKey& entry) noexcept;
[[nodiscard]] Rule rule_of(const Tuning::TunedKey& entry) noexcept;

struct Memo {
  /// A contest begins after kFirst calls.
  static constexpr uint32_t kFirst = 32;

  Question question{Collective::kBarrier, 0, 0};
  const core::Op* op = nullptr;
  const core::Datatype* type = nullptr;
  Choice answer{nullptr, Choice::Why::kModel};
  FlatMethod untuned = FlatMethod::kNone;
  Countdown* countdown = nullptr;  // null: no contest
  Countdown first_calls{kFirst};   // counts calls without a contest
  std::unique_ptr<Tuning> tuning;

  /// learnt() has own decisions first, then inherited rules. Throws std::bad_alloc.
  [[nodiscard]] core::Ref<core::Object> learnt(const core::Ref<core::Object>& inherited);
  void forget() noexcept {
    question = {Collective::kBarrier, 0, 0};
    op = nullptr;
    type = nullptr;
  }
};

}  // namespace tern::coll
