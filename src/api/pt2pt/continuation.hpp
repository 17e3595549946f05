// SPDX-License-Identifier: Apache-2.0
// Continuations: functions of the user that are called when operations are complete.
// Why: who waits for many operations, and must tell others of each (futures), asks for none of them
// in turn.
// Life cycle: a continuation request, which is persistent, has any number of them; they take the
// requests over, and are called by who tests or waits for it (run_ready), or at once.
// Threads: any; its own lock. Functions are called without a lock, each by one thread.
// See: man3/MPIX_Continue, tests/mpi/continuations.c.
#pragma once

#include <list>
#include <mutex>
#include <string>
#include <vector>

#include "core/request.hpp"
#include "mpix.h"

namespace tern::api {

/// What is called, with the flags of MPIX_Continue.
struct Callback {
  MPIX_Continue_cb_function* function;
  void* data;
  int flags;
};

class ContinuationRequest final : public core::Request {
 public:
  ContinuationRequest(int max_poll, int flags);
  /// Takes the user's references to the requests over. Throws std::bad_alloc.
  void attach(std::vector<core::Request*> requests, const Callback& callback, MPI_Status* statuses);
  [[nodiscard]] int take_failed(int most, void** data) noexcept;

  int start() noexcept override;
  bool has_ready() noexcept override;
  void run_ready() noexcept override;
  void describe(WaitReport* report) const override;
  void destroy() noexcept override;

 private:
  struct Continuation {
    std::vector<core::Request*> requests;
    Callback callback;
    MPI_Status* statuses;
    [[nodiscard]] bool ready() const noexcept;
  };
  using Continuations = std::list<Continuation>;
  void take_ready(Continuations* ready);
  void run(Continuation& one) noexcept;
  void note(const Callback& callback, int code, const std::string& text, bool called) noexcept;
  void ended() noexcept;

  const size_t most_;
  const bool poll_only_;
  mutable std::mutex mutex_;  // of what follows; after a channel's lock
  Continuations waiting_;
  size_t pending_ = 0;  // waiting, and being called
  std::vector<void*> failed_;
  std::string text_;
};

[[nodiscard]] int continue_init(int max_poll, int flags, MPI_Info info,
                                MPI_Request* cont_req) noexcept;
[[nodiscard]] int continue_all(int count, MPI_Request* requests, const Callback& callback,
                               MPI_Status* statuses, MPI_Request cont_req) noexcept;
[[nodiscard]] int continue_get_failed(MPI_Request cont_req, int* count, void** data) noexcept;

}  // namespace tern::api
