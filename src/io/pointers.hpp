// SPDX-License-Identifier: Apache-2.0
// Pointers: the individual and the shared file pointer of a view, in etypes.
// Rank 0's board has a shared pointer for each of the latest views: a rank may set the next view
// while another rank still uses the pointer of the view before, because setting a view takes no
// message. A rank that is many views ahead waits.
// Threads: any.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/error.hpp"
#include "io/meeting.hpp"
#include "io/service.hpp"

namespace tern::io {

class Pointers {
 public:
  Pointers(const Meeting& meeting, Service& service) noexcept
      : meeting_(meeting), service_(service) {}

  /// add() moves a pointer, and returns the position before.
  [[nodiscard]] int64_t add(int64_t etypes) noexcept {
    return individual_.fetch_add(etypes, std::memory_order_relaxed);
  }
  [[nodiscard]] int64_t individual() const noexcept {
    return individual_.load(std::memory_order_relaxed);
  }
  void set(int64_t etypes) noexcept { individual_.store(etypes, std::memory_order_relaxed); }

  [[nodiscard]] Failure add_shared(int64_t etypes, int64_t* before) noexcept;
  [[nodiscard]] Failure shared(int64_t* etypes) noexcept { return add_shared(0, etypes); }
  [[nodiscard]] Failure set_shared(int64_t etypes) noexcept;
  /// On rank 0's host: changes the pointer of a view, and returns the position before.
  [[nodiscard]] Failure change(uint64_t view, bool sets, int64_t etypes, int64_t* before) noexcept;

  /// A new view: both pointers are 0.
  void restart() noexcept;

 private:
  [[nodiscard]] Failure ask(Question::Asks what, int64_t etypes, int64_t* before) noexcept;
  void await_room(uint64_t view) noexcept;

  const Meeting& meeting_;
  Service& service_;
  std::atomic<int64_t> individual_{0};
  uint64_t view_ = 1;
};

}  // namespace tern::io
