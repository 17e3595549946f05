// SPDX-License-Identifier: Apache-2.0
// Request: an operation in flight, of any room (point to point, collective, persistent, the
// user's).
// Lifetime: pooled by its owner. The user's handle is one reference, the running operation another;
// without references the request returns to its pool.
// Threads: complete() releases and done() acquires all results. See: MPI-5.0 section 3.7;
// tests/mpi/request_sets.c.
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

struct Outcome {
  int source = MPI_ANY_SOURCE;
  int tag = MPI_ANY_TAG;
  int error = MPI_SUCCESS;
  bool cancelled = false;
  MPI_Count bytes = 0;
};

/// Writes `outcome` to a status, unless MPI_STATUS_IGNORE. Sets MPI_ERROR only if `with_error`.
void fill_status(MPI_Status* status, const Outcome& outcome, bool with_error) noexcept;
void fill_empty_status(MPI_Status* status) noexcept;
/// The byte count and the cancelled flag, in the status's reserved fields.
[[nodiscard]] MPI_Count status_bytes(const MPI_Status& status) noexcept;
void set_status_bytes(MPI_Status& status, MPI_Count bytes) noexcept;
[[nodiscard]] bool status_cancelled(const MPI_Status& status) noexcept;
void set_status_cancelled(MPI_Status& status, bool cancelled) noexcept;

class Request : public Object {
 public:
  static constexpr Kind kKind = Kind::kRequest;
  Request() noexcept : Object(Kind::kRequest) {}

  [[nodiscard]] bool done() const noexcept { return done_.load(std::memory_order_acquire); }
  /// Publishes the end of the operation; write outcome before.
  void complete() noexcept { done_.store(true, std::memory_order_release); }
  void restart() noexcept { done_.store(false, std::memory_order_relaxed); }
  /// Call before complete() if the operation failed: keeps the communicator, on which the error is
  /// raised.
  TERN_COLD void keep_communicator() noexcept;
  /// Call once the error is raised or dropped.
  void let_communicator_go() noexcept { kept_ = {}; }

  [[nodiscard]] bool persistent() const noexcept { return persistent_; }
  /// False for a persistent request between completion and the next MPI_Start.
  [[nodiscard]] bool active() const noexcept { return active_.load(std::memory_order_relaxed); }
  void set_active(bool active) noexcept { active_.store(active, std::memory_order_relaxed); }

  Outcome outcome;
  std::string* error_text = nullptr;     // owned; set together with outcome.error by operations
                                         // failing late
  Communicator* communicator = nullptr;  // its error handler gets errors; may be null. After the
                                         // operation, valid only if the operation failed
  Channel* channel = nullptr;            // the channel of the operation; null if irrelevant

  /// Starts a persistent operation. Returns an error class (fail()).
  [[nodiscard]] virtual int start() noexcept;
  /// Tries to cancel; the outcome tells the result. Returns false if MPI has no cancelling of the
  /// operation (collectives, windows, partitions).
  [[nodiscard]] virtual bool cancel() noexcept { return false; }
  virtual void cancel_locked() noexcept {}
  /// Reports the awaited operation in words and ranks, for the user.
  virtual void describe(WaitReport* report) const;
  /// Whether tests and waits run the user's functions meanwhile (continuations).
  [[nodiscard]] bool runs_functions() const noexcept { return runs_functions_; }
  /// Whether a user's function is ready to run. The caller may hold any lock.
  [[nodiscard]] virtual bool has_ready() noexcept { return false; }
  virtual void run_ready() noexcept {}
  /// Called on showing the completion to the user (generalised requests query here). `last`: the
  /// request ends now (generalised requests call their free function).
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
