// SPDX-License-Identifier: Apache-2.0
// Request: an operation in flight, of any module. Lifetime: pooled by the owner. The user's handle
// holds one reference and the running operation another; the request returns to its pool when both
// are released. Threads: complete() releases and done() acquires all results.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>

#include "base/error.hpp"
#include "base/wait_report.hpp"
#include "core/object.hpp"
#include "mpi.h"
#include "trace/notes.hpp"

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

void fill_status(MPI_Status* status, const Outcome& outcome, bool with_error) noexcept;
void fill_empty_status(MPI_Status* status) noexcept;
[[nodiscard]] MPI_Count status_bytes(const MPI_Status& status) noexcept;
void set_status_bytes(MPI_Status& status, MPI_Count bytes) noexcept;
[[nodiscard]] bool status_cancelled(const MPI_Status& status) noexcept;
void set_status_cancelled(MPI_Status& status, bool cancelled) noexcept;

class Request : public Object {
 public:
  static constexpr Kind kKind = Kind::kRequest;
  Request() noexcept : Object(Kind::kRequest) {}

  [[nodiscard]] bool done() const noexcept { return done_.load(std::memory_order_acquire); }
  /// The caller writes the outcome before complete().
  void complete() noexcept { done_.store(true, std::memory_order_release); }
  void restart() noexcept { done_.store(false, std::memory_order_relaxed); }
  /// A failed operation keeps the communicator before complete(), because the error is raised on
  /// the communicator.
  TERN_COLD void keep_communicator() noexcept;
  void let_communicator_go() noexcept { kept_ = {}; }
  /// The object whose error handler gets a failure.
  [[nodiscard]] virtual Object* raised_on() noexcept;

  [[nodiscard]] bool persistent() const noexcept { return traits_.persistent; }
  /// Whether a completion has more to do than to release the request.
  [[nodiscard]] bool special() const noexcept { return std::bit_cast<uint16_t>(traits_) != 0; }
  /// active() is false between completion and the next MPI_Start of a persistent request.
  [[nodiscard]] bool active() const noexcept { return active_.load(std::memory_order_relaxed); }
  void set_active(bool active) noexcept { active_.store(active, std::memory_order_relaxed); }

  Outcome outcome;
  /// The concrete request owns error_text, the text of an operation that failed after its start.
  std::string* error_text = nullptr;
  Communicator* communicator = nullptr;  // after the operation, valid only for a failure
  Channel* channel = nullptr;
  trace::RequestNotes notes;
  /// `number` is that of the completion's record; 0: not recorded.
  void set_record(uint32_t number) noexcept {
    notes.number = number;
    traits_.recorded = number != 0;
  }
  /// Adds the completion to the record of the open call.
  TERN_COLD void record_completion() noexcept;

  /// start() returns an error class with fail() text.
  [[nodiscard]] virtual int start() noexcept;
  /// cancel() returns false if MPI does not allow cancelling (collectives, windows, partitions).
  [[nodiscard]] virtual bool cancel() noexcept { return false; }
  virtual void cancel_locked() noexcept {}
  virtual void describe(WaitReport* report) const;
  [[nodiscard]] bool runs_functions() const noexcept { return runs_functions_; }
  /// The caller of has_ready() may hold any lock.
  [[nodiscard]] virtual bool has_ready() noexcept { return false; }
  virtual void run_ready() noexcept {}
  /// deliver() shows the completion to the user. `last` means that the request ends. Generalised
  /// requests call their query and free functions.
  [[nodiscard]] virtual int deliver(bool last) noexcept {
    (void)last;
    return MPI_SUCCESS;
  }

 protected:
  struct Traits {
    bool persistent = false, recorded = false;
  };
  Traits traits_;
  bool runs_functions_ = false;

 private:
  std::atomic<bool> done_{false};
  std::atomic<bool> active_{true};
  Ref<Object> kept_;
};

}  // namespace tern::core
