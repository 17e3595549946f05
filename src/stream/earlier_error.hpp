// SPDX-License-Identifier: Apache-2.0
// EarlierError: the error of an enqueued operation, until the next call on the communicator returns
// it. Why: an enqueued operation fails after its call has returned.
// Lifetime: of a CommStream. Threads: take() by any; all other functions by the proxy.
#pragma once

#include <memory>
#include <string>

#include "base/compiler.hpp"
#include "base/error.hpp"
#include "base/fate.hpp"
#include "core/communicator.hpp"
#include "mpi.h"
#include "stream/call.hpp"

namespace tern::stream {

class EarlierError {
 public:
  /// Raises an error at once where the communicator's handler ends the program; else returns.
  using Raise = void (*)(core::Communicator& communicator, const Failure& failure) noexcept;

  /// `shadow`: for the messages of tell_ranks().
  EarlierError(core::Communicator& communicator, core::Communicator& shadow, Raise raise) noexcept
      : communicator_(communicator), shadow_(shadow), raise_(raise) {}

  /// The communicator does parts of the collectives of another communicator, whose error object
  /// gets the errors.
  void be_part_of(const std::shared_ptr<EarlierError>& whole) noexcept { whole_ = whole; }

  /// Returns the error once, with fail() text; MPI_SUCCESS without an error.
  [[nodiscard]] int take() noexcept {
    return TERN_LIKELY(!fate_.dead()) ? MPI_SUCCESS : fail(taken());
  }
  /// The same as a value.
  [[nodiscard]] Failure taken() noexcept { return fate_.take(); }

  void keep(const Call& call, const Failure& failure) noexcept;
  void keep(const Failure& failure) noexcept;
  /// Tells all ranks, once: the ranks of other parts have wrong data, too.
  void tell_ranks(const Failure& failure) noexcept;

 private:
  core::Communicator& communicator_;
  core::Communicator& shadow_;
  const Raise raise_;
  std::weak_ptr<EarlierError> whole_;  // empty: no part of another communicator
  bool told_ranks_ = false;            // the proxy's own
  Fate fate_;                          // until take()
};

}  // namespace tern::stream
