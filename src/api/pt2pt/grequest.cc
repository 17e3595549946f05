// SPDX-License-Identifier: Apache-2.0
// Generalised requests (MPI-5.0 section 13.2).
#include <utility>

#include "api/attempt.hpp"
#include "api/bodies.hpp"
#include "api/process.hpp"
#include "api/pt2pt/requests.hpp"
#include "core/user_call.hpp"

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
    retain();
    the_process->handles.insert(*this);
  }

  /// Returns the free function's code, unless the query function has thrown a C++ exception.
  int deliver(bool last) noexcept override {
    MPI_Status status;
    core::fill_empty_status(&status);
    bool threw = false;
    const int asked =
        call(kQuery, &threw, [&] { return callbacks_.query(callbacks_.state, &status); });
    LastError why = take_last_error();
    outcome = {status.MPI_SOURCE, status.MPI_TAG, MPI_SUCCESS, core::status_cancelled(status),
               core::status_bytes(status)};
    if (const int freed = last ? free() : MPI_SUCCESS; freed != MPI_SUCCESS && !threw) return freed;
    return asked == MPI_SUCCESS ? asked : fail(asked, "%s", why.text.c_str());
  }
  int cancel_it() noexcept {
    bool threw = false;
    return call(kCancel, &threw,
                [&] { return callbacks_.cancel(callbacks_.state, done() ? 1 : 0); });
  }
  void describe(WaitReport* report) const override {
    report->words += "a generalised request of the program";
  }
  void destroy() noexcept override {
    the_process->handles.erase(*this);
    (void)free();
    delete this;
  }
  int free() noexcept {
    if (std::exchange(freed_, true)) return MPI_SUCCESS;
    bool threw = false;
    return call(kFree, &threw, [&] { return callbacks_.free(callbacks_.state); });
  }

 private:
  static constexpr const char* kQuery = "the query function of a generalised request";
  static constexpr const char* kCancel = "the cancel function of a generalised request";
  static constexpr const char* kFree = "the free function of a generalised request";
  template <class Function>
  static int call(const char* name, bool* threw, const Function& function) noexcept {
    const int code = core::user_call(name, threw, function);
    return code == MPI_SUCCESS || *threw ? code : fail(code, "%s failed", name);
  }

  bool freed_ = false;
  Callbacks callbacks_;
};

}  // namespace

int cancel_request(core::Request& request) noexcept {
  if (auto* general = dynamic_cast<GeneralRequest*>(&request)) return general->cancel_it();
  if (request.cancel()) return MPI_SUCCESS;
  return fail(
      MPI_ERR_REQUEST,
      "this request cannot be cancelled; only sends, receives and generalised requests can");
}

int free_request(core::Request& request) noexcept {
  auto* general = dynamic_cast<GeneralRequest*>(&request);
  const int code = general != nullptr && general->done() ? general->free() : MPI_SUCCESS;
  request.release();
  return code;
}

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
    return fail(
        MPI_ERR_REQUEST,
        "the request is not from MPI_Grequest_start; MPI completes other operations itself");
  if (found->done()) return fail(MPI_ERR_REQUEST, "the request is already complete");
  found->complete();
  the_process->channel(0).progress.wake();
  found->release();
  return MPI_SUCCESS;
}

}  // namespace tern::api
