// SPDX-License-Identifier: Apache-2.0
// Request: an operation under way, of any room (point to point, collective, persistent, the
// user's). Lifetime: pooled by its owner. The user's handle is one reference, the running operation
// another; it goes back to its pool when both are gone. Threads: complete() is the release, done()
// the acquire of everything it brought. See: MPI-5.0 section 3.7; tests/mpi/request_sets.c.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/error.hpp"
#include "base/wait_report.hpp"
#include "core/object.hpp"
#include "mpi.h"

namespace tern::core {

class Communicator;
struct Channel;

/// What a finished operation leaves for MPI_Status.
struct Outcome {
  int source = MPI_ANY_SOURCE;
  int tag = MPI_ANY_TAG;
  int error = MPI_SUCCESS;
  bool cancelled = false;
  MPI_Count bytes = 0;
};

/// Writes `outcome` to a status (nothing where it is MPI_STATUS_IGNORE). MPI_ERROR is set only when
/// `with_error`.
void fill_status(MPI_Status* status, const Outcome& outcome, bool with_error) noexcept;
/// An empty status as the standard defines it (MPI_ANY_SOURCE, MPI_ANY_TAG, no error, zero bytes).
void fill_empty_status(MPI_Status* status) noexcept;
/// The byte count and the cancelled flag in a status's reserved fields.
[[nodiscard]] MPI_Count status_bytes(const MPI_Status& status) noexcept;
void set_status_bytes(MPI_Status& status, MPI_Count bytes) noexcept;
[[nodiscard]] bool status_cancelled(const MPI_Status& status) noexcept;
void set_status_cancelled(MPI_Status& status, bool cancelled) noexcept;

class Request : public Object {
 public:
  static constexpr Kind kKind = Kind::kRequest;
  Request() noexcept : Object(Kind::kRequest) {}

  [[nodiscard]] bool done() const noexcept { return done_.load(std::memory_order_acquire); }
  /// The operation's last word: outcome is written before.
  void complete() noexcept { done_.store(true, std::memory_order_release); }
  void restart() noexcept { done_.store(false, std::memory_order_relaxed); }
  /// Before complete() of what has failed: the communicator outlives its end, for the error is
  /// raised on it.
  TERN_COLD void keep_communicator() noexcept;
  /// The error was raised, or need not be.
  void let_communicator_go() noexcept { kept_ = {}; }

  [[nodiscard]] bool persistent() const noexcept { return persistent_; }
  /// False for a persistent request between completion and the next MPI_Start.
  [[nodiscard]] bool active() const noexcept { return active_.load(std::memory_order_relaxed); }
  void set_active(bool active) noexcept { active_.store(active, std::memory_order_relaxed); }

  Outcome outcome;
  std::string* error_text = nullptr;  // set with outcome.error by operations that fail late; owned
  Communicator* communicator = nullptr;  // whose error handler hears of it; null for none. Once the
                                         // operation has ended it is there only where that failed
  Channel* channel = nullptr;            // in which it runs; null where that does not matter

  /// Persistent ones: begins the operation. Returns an error class (fail()).
  [[nodiscard]] virtual int start() noexcept;
  /// Tries to cancel; the outcome says whether that worked. False: MPI has no cancelling of such an
  /// operation (collectives, windows, partitions).
  [[nodiscard]] virtual bool cancel() noexcept { return false; }
  /// The same for callers that hold the channel's lock.
  virtual void cancel_locked() noexcept {}
  /// What it waits for, in words and by ranks; for a report to the user.
  virtual void describe(WaitReport* report) const;
  /// Whether calls that test or wait for it run the user's functions meanwhile: continuations.
  [[nodiscard]] bool runs_functions() const noexcept { return runs_functions_; }
  /// One of them is to be run. Any lock may be held.
  [[nodiscard]] virtual bool has_ready() noexcept { return false; }
  /// Runs them. No lock is held.
  virtual void run_ready() noexcept {}
  /// Called when the completion is shown to the user (generalised requests query here); `last`
  /// when the request ends with that (they call their free function).
  [[nodiscard]] virtual int deliver(bool last) noexcept {
    (void)last;
    return MPI_SUCCESS;
  }

 protected:
  bool persistent_ = false;
  bool runs_functions_ = false;

 private:
  std::atomic<bool> done_{false};
  std::atomic<bool> active_{true};
  Ref<Object> kept_;
};

}  // namespace tern::core
