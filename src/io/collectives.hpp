// SPDX-License-Identifier: Apache-2.0
// Collectives: the collective transfers of a file, one after the other.
// A transfer begins with a meeting (ranges, sizes, errors of all ranks), moves the data, and ends
// with a meeting (errors, so all ranks return one class and one sentence). Ranks with large or
// separate blocks make their own system calls; small interleaved blocks go through the Stage.
// Order: transfers start in the order of the calls, equal on all ranks.
// Threads: blocking calls run in the caller; nonblocking transfers run in progress, under the
// channel's lock, with system calls in the worker.
#pragma once

#include <deque>
#include <memory>

#include "io/collective.hpp"
#include "io/requests.hpp"

namespace tern::io {

class CollectiveCall;

class Collectives {
 public:
  Collectives(core::Object& file, Meeting& meeting, const RawFile& raw, FileWindow& window,
              const Hints& hints, Pointers& pointers, Service& service);
  Collectives(const Collectives&) = delete;
  Collectives& operator=(const Collectives&) = delete;
  ~Collectives();

  using Call = Collective;
  /// Returns the first error of all ranks. *done gets the bytes moved.
  [[nodiscard]] Failure run(const Call& call, size_t* done) noexcept;
  /// Throws std::bad_alloc. The caller owns the reference.
  [[nodiscard]] core::Ref<FileRequest> start(const Call& call);
  /// A meeting without a transfer: the first error of all ranks, and the facts of all cards.
  [[nodiscard]] Failure agree(Card* card) noexcept;
  /// With TERN_CHECK=collective: an error on all ranks, and the end of all collective calls, if
  /// ranks call different functions.
  [[nodiscard]] Failure check(CheckedCall call) noexcept;
  [[nodiscard]] bool checks() const noexcept { return shared_.checks_calls; }
  /// Waits for the transfers under way.
  void finish() noexcept;
  /// At the end of the file, under the channel's lock: cancels messages after an error.
  void drop_messages() noexcept {
    shared_.host_exchange.reset();
    shared_.overlaps.reset();
  }
  /// A rank has ended, so no meeting follows.
  [[nodiscard]] bool dead() const noexcept { return shared_.fate.dead(); }

 private:
  static int poll(void* self) noexcept;
  int advance() noexcept;
  void wait_for_queue() noexcept;
  /// Returns false after a meeting without an answer.
  [[nodiscard]] bool meet(Card* card) noexcept;

  core::Object& file_;
  core::Channel& channel_;
  Shared shared_;
  std::deque<core::Ref<CollectiveCall>> queue_;
  bool polled_ = false;
};

}  // namespace tern::io
