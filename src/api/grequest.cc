// SPDX-License-Identifier: Apache-2.0
// Bodies of generalised requests: the program's own operations behind MPI's requests.
// See: MPI-5.0 section 13.2.
#include "api/attempt.hpp"
#include "api/bodies.hpp"
#include "api/process.hpp"
#include "core/request.hpp"

namespace tern::api {
namespace {

class GeneralRequest final : public core::Request {
 public:
  struct Callbacks {
    MPI_Grequest_query_function* query;
    MPI_Grequest_free_function* free;
    MPI_Grequest_cancel_function* cancel;
    void* state;
  };
  explicit GeneralRequest(const Callbacks& callbacks) : callbacks_(callbacks) {
    retain();  // the operation's reference, until MPI_Grequest_complete
    the_process->handles.insert(*this);
  }

  int deliver() noexcept override {
    MPI_Status status;
    core::fill_empty_status(&status, true);
    const int code = callbacks_.query(callbacks_.state, &status);
    outcome = {status.MPI_SOURCE, status.MPI_TAG, MPI_SUCCESS, core::status_cancelled(status),
               core::status_bytes(status)};
    return code == MPI_SUCCESS ? code
                               : fail(code, "the query function of the generalised request failed");
  }
  void cancel() noexcept override {
    cancel_code = callbacks_.cancel(callbacks_.state, done() ? 1 : 0);
  }
  void describe(WaitReport* report) const override {
    report->words += "a generalised request of the program's own";
  }
  void destroy() noexcept override {
    the_process->handles.erase(*this);
    (void)callbacks_.free(callbacks_.state);
    delete this;
  }
  int cancel_code = MPI_SUCCESS;

 private:
  Callbacks callbacks_;
};

}  // namespace

int grequest_start(MPI_Grequest_query_function* query_fn, MPI_Grequest_free_function* free_fn,
                   MPI_Grequest_cancel_function* cancel_fn, void* extra_state,
                   MPI_Request* request) noexcept {
  return attempt([&] {
    auto* made = new GeneralRequest({query_fn, free_fn, cancel_fn, extra_state});
    *request = reinterpret_cast<MPI_Request>(made->handle());
    return MPI_SUCCESS;
  });
}

int grequest_complete(MPI_Request request) noexcept {
  auto* found = dynamic_cast<GeneralRequest*>(the_process->handles.find<core::Request>(request));
  if (found == nullptr)
    return fail(MPI_ERR_REQUEST,
                "request is not of MPI_Grequest_start: MPI completes its own operations itself");
  if (found->done()) return fail(MPI_ERR_REQUEST, "the request was completed already");
  found->complete();
  the_process->progress.wake();
  found->release();
  return MPI_SUCCESS;
}

}  // namespace tern::api
