// SPDX-License-Identifier: Apache-2.0
// EarlierError: the error of an enqueued operation, until the next call on the communicator returns
// it. Why: an enqueued operation fails after its call has returned.
// Lifetime: of a CommStream. Threads: take() by any; all other functions by the proxy.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "base/compiler.hpp"
#include "core/communicator.hpp"
#include "mpi.h"
#include "stream/call.hpp"

namespace tern::stream {

class EarlierError {
 public:
  /// Raises an error at once where the communicator's handler ends the program; else returns.
  using Raise = void (*)(core::Communicator& communicator, int code, const std::string& text);

  /// `shadow`: for the messages of tell_ranks().
  EarlierError(core::Communicator& communicator, core::Communicator& shadow, Raise raise) noexcept
      : communicator_(communicator), shadow_(shadow), raise_(raise) {}

  /// The communicator does parts of the collectives of another communicator, whose error object
  /// gets the errors.
  void be_part_of(const std::shared_ptr<EarlierError>& whole) noexcept { whole_ = whole; }

  /// Returns the error once, with fail() text; MPI_SUCCESS without an error.
  [[nodiscard]] int take() noexcept {
    if (TERN_LIKELY(code_.load(std::memory_order_acquire) == 0)) return MPI_SUCCESS;
    return take_kept();
  }

  void keep(const Call& call, int code, const std::string& text) noexcept;
  void keep(int code, const std::string& words) noexcept;
  /// Tells all ranks, once: the ranks of other parts have wrong data, too.
  void tell_ranks(int code, const std::string& text) noexcept;

 private:
  [[nodiscard]] int take_kept() noexcept;

  core::Communicator& communicator_;
  core::Communicator& shadow_;
  const Raise raise_;
  std::weak_ptr<EarlierError> whole_;  // empty: no part of another communicator
  bool told_ranks_ = false;            // the proxy's own
  std::atomic<int> code_{0};
  std::mutex mutex_;  // of text_
  std::string text_;
};

}  // namespace tern::stream
