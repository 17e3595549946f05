// SPDX-License-Identifier: Apache-2.0
// Requests without an operation: of MPI_PROC_NULL, and of operations that could not start.
#include <string>
#include <utility>

#include "api/attempt.hpp"
#include "api/process.hpp"
#include "api/pt2pt/requests.hpp"
#include "api/pt2pt/send_modes.hpp"
#include "core/request.hpp"
#include "mpix.h"

namespace tern::api {
namespace {

class NullRequest final : public core::Request {
 public:
  explicit NullRequest(core::HandleTable& table, bool persistent) : table_(table) {
    outcome = kFromNobody;
    traits_.persistent = persistent;
    set_active(!persistent);
    complete();
    table_.insert(*this);
  }
  int start() noexcept override {
    set_active(true);
    return MPI_SUCCESS;
  }
  bool cancel() noexcept override { return true; }
  void destroy() noexcept override {
    table_.erase(*this);
    delete this;
  }

 private:
  core::HandleTable& table_;
};

class FailedRequest final : public core::Request {
 public:
  FailedRequest(core::Communicator& comm, int code, std::string text) : text_(std::move(text)) {
    outcome.error = code;
    error_text = &text_;
    communicator = &comm;
    channel = &comm.channel();
    keep_communicator();
    complete();
    the_process->handles.insert(*this);
  }
  void destroy() noexcept override {
    the_process->handles.erase(*this);
    delete this;
  }

 private:
  std::string text_;
};

}  // namespace

int give_failed(core::Communicator& comm, int code, MPI_Request* request) noexcept {
  if (code != MPIX_ERR_PROC_FAILED && code != MPIX_ERR_REVOKED) return code;
  return guarded([&] {
    auto* made = new FailedRequest(comm, code, take_last_error().text);
    *request = reinterpret_cast<MPI_Request>(made->handle());
  });
}

int give_null_request(core::Communicator& comm, MPI_Request* request, bool persistent) noexcept {
  if (const int code = null_transfer(comm); code != MPI_SUCCESS)
    return persistent ? code : give_failed(comm, code, request);
  return guarded([&] {
    auto* made = new NullRequest(the_process->handles, persistent);
    *request = reinterpret_cast<MPI_Request>(made->handle());
  });
}

}  // namespace tern::api
