// SPDX-License-Identifier: Apache-2.0
// EarlierError: the error of an enqueued operation, kept for the communicator's next call.
// Lifetime: a CommStream's. Threads: take() by any; all else by the proxy.
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
  /// Raise runs at once if the communicator's handler ends the program.
  using Raise = void (*)(core::Communicator& communicator, const Failure& failure) noexcept;

  EarlierError(core::Communicator& communicator, core::Communicator& shadow, Raise raise) noexcept
      : communicator_(communicator), shadow_(shadow), raise_(raise) {}

  /// Errors of a part (Islands) go to the whole communicator's object.
  void be_part_of(const std::shared_ptr<EarlierError>& whole) noexcept { whole_ = whole; }

  [[nodiscard]] int take() noexcept {
    return TERN_LIKELY(!fate_.dead()) ? MPI_SUCCESS : fail(taken());
  }
  [[nodiscard]] Failure taken() noexcept { return fate_.take(); }

  void keep(const Call& call, const Failure& failure) noexcept;
  void keep(const Failure& failure) noexcept;
  /// tell_ranks() tells all ranks, once, because other parts have wrong data, too.
  void tell_ranks(const Failure& failure) noexcept;

 private:
  core::Communicator& communicator_;
  core::Communicator& shadow_;
  const Raise raise_;
  std::weak_ptr<EarlierError> whole_;
  bool told_ranks_ = false;
  Fate fate_;
};

}  // namespace tern::stream
