// SPDX-License-Identifier: Apache-2.0
// Memo: a communicator's last question with the answer, and the communicator's contests.
// Why: programs repeat a question. Lifetime: CommState. Threads: under the channel's lock.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "coll/select/contest.hpp"
#include "coll/select/select.hpp"

namespace tern::core {
class Datatype;
class Op;
}  // namespace tern::core

namespace tern::coll {

/// The contests of a communicator.
struct Tuning {
  static constexpr size_t kMostKeys = 32, kMostInLearning = 512;
  struct Entry {
    uint32_t key;
    Question question;  // the first of the key
    Contest contest;
    uint32_t agreement = 0;  // nanoseconds of the last agreement
  };
  std::vector<std::unique_ptr<Entry>> entries;
};

struct Memo {
  /// Calls of a communicator before its first contest.
  static constexpr uint32_t kFirst = 32;

  Question question{Collective::kBarrier, 0, 0};
  const core::Op* op = nullptr;  // of Question::any_order
  const core::Datatype* type = nullptr;
  Choice answer{nullptr, Choice::Why::kModel};
  FlatMethod untuned = FlatMethod::kNone;  // of the unmeasured answer
  Countdown* countdown = nullptr;  // counts blocking calls of the question; null: no contest
  Countdown first_calls{kFirst};   // counts calls of keys without a contest
  std::unique_ptr<Tuning> tuning;

  void forget() noexcept {
    question = {Collective::kBarrier, 0, 0};
    op = nullptr;
    type = nullptr;
  }
};

}  // namespace tern::coll
