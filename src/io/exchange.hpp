// SPDX-License-Identifier: Apache-2.0
// Exchange: the way of a collective transfer through the stages of the hosts, in steps. The
// transfer makes the meetings between the steps, and waits.
#pragma once

#include <cstdint>

#include "io/collective.hpp"

namespace tern::io {

class Exchange {
 public:
  Exchange(Shared& shared, const Collective& call) noexcept : shared_(shared), call_(call) {}

  /// Whether the stage serves the ranks whose cards have this sum. Equal on all ranks.
  [[nodiscard]] bool serves(const Card& all) const noexcept;
  [[nodiscard]] bool lacks_stage() const noexcept { return !shared_.stage.valid(); }
  /// The first time on a file: each host's leader offers a stage, in a meeting; then each rank
  /// opens the stage, and tells success in a meeting. has_stage() is equal on all ranks.
  [[nodiscard]] Card offer() noexcept;
  [[nodiscard]] Card open() noexcept;
  [[nodiscard]] bool has_stage() noexcept;

  /// Plans the rounds.
  void begin(const Card& all) noexcept;
  [[nodiscard]] bool has_round() const noexcept { return round_ < rounds_.count(); }
  void next_round() noexcept { ++round_; }

  // System calls.
  /// Before and after an exchange, where clients keep pages: other hosts see this host's writes,
  /// and this host sees theirs.
  [[nodiscard]] Failure flush_pages() noexcept;
  [[nodiscard]] Failure drop_pages() noexcept;
  [[nodiscard]] Failure load() noexcept;
  /// Without `writes` only clears marks.
  [[nodiscard]] Failure flush(bool writes) noexcept;

  // Copies between the caller's memory and the stage.
  [[nodiscard]] Failure fill() noexcept;
  [[nodiscard]] Failure take(size_t* done) noexcept;

  [[nodiscard]] bool between_hosts() const noexcept { return !shared_.meeting.on_one_host(); }
  void start_between_hosts(bool moves) noexcept {
    shared_.host_exchange->begin(rounds_, round_, call_.writes, moves);
  }

 private:
  [[nodiscard]] StageShape shape() const noexcept;
  [[nodiscard]] bool owns_pages() const noexcept;

  Shared& shared_;
  const Collective& call_;
  Rounds rounds_;
  int64_t round_ = 0;
};

}  // namespace tern::io
