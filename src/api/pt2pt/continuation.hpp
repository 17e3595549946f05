// SPDX-License-Identifier: Apache-2.0
// Continuations: user functions called at the completion of operations.
// Life cycle: a persistent request holds any number of continuations. Continuations take over their
// requests, and run in tests and waits (run_ready), or at once. Threads: any; each function runs
// once, without a lock. See: man3/MPIX_Continue.
#pragma once

#include <list>
#include <mutex>
#include <string>
#include <vector>

#include "core/request.hpp"
#include "mpix.h"

namespace tern::api {

struct Callback {
  MPIX_Continue_cb_function* function;
  void* data;
  int flags;
};

class ContinuationRequest final : public core::Request {
 public:
  ContinuationRequest(int max_poll, int flags);
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
  mutable std::mutex mutex_;  // locked after a channel's lock
  Continuations waiting_;
  size_t pending_ = 0;
  std::vector<void*> failed_;
  std::string text_;
};

[[nodiscard]] int continue_init(int max_poll, int flags, MPI_Info info,
                                MPI_Request* cont_req) noexcept;
[[nodiscard]] int continue_all(int count, MPI_Request* requests, const Callback& callback,
                               MPI_Status* statuses, MPI_Request cont_req) noexcept;
[[nodiscard]] int continue_get_failed(MPI_Request cont_req, int* count, void** data) noexcept;

}  // namespace tern::api
