// SPDX-License-Identifier: Apache-2.0
// A generalized request that wakes a thread blocked in MPI_Waitany.
#ifndef TORCH_TERN_ALARM_REQUEST_HPP
#define TORCH_TERN_ALARM_REQUEST_HPP

#include <mpi.h>

#include <atomic>

#include "errors.hpp"

namespace torch_tern {

class AlarmRequest {
 public:
  AlarmRequest() { check(MPI_Grequest_start(query, nothing, cancel, nullptr, &request_)); }
  ~AlarmRequest() {
    if (!is_gone_) {
      ring();
      MPI_Wait(&request_, MPI_STATUS_IGNORE);
    }
  }
  AlarmRequest(const AlarmRequest&) = delete;
  AlarmRequest& operator=(const AlarmRequest&) = delete;

  MPI_Request request() const { return request_; }
  // ring() is thread-safe; only the first call has an effect.
  void ring() {
    if (!has_rung_.exchange(true)) {
      MPI_Grequest_complete(request_);
    }
  }
  // Records that a wait has freed the request.
  void was_waited_for() { is_gone_ = true; }

 private:
  static int query(void*, MPI_Status* status) {
    MPI_Status_set_elements(status, MPI_BYTE, 0);
    MPI_Status_set_cancelled(status, 0);
    return MPI_SUCCESS;
  }
  static int nothing(void*) { return MPI_SUCCESS; }
  static int cancel(void*, int) { return MPI_SUCCESS; }

  MPI_Request request_ = MPI_REQUEST_NULL;
  std::atomic<bool> has_rung_{false};
  bool is_gone_ = false;
};

}  // namespace torch_tern

#endif
