// SPDX-License-Identifier: Apache-2.0
#include "api/pt2pt/continuation.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "api/attempt.hpp"
#include "api/errors.hpp"
#include "api/process.hpp"
#include "api/pt2pt/requests.hpp"
#include "core/info.hpp"
#include "core/user_call.hpp"

namespace tern::api {
namespace {

// in_function limits recursion by functions that attach complete continuations.
thread_local bool in_function = false;

ContinuationRequest* find_continuation(MPI_Request handle) noexcept {
  return dynamic_cast<ContinuationRequest*>(find_request(handle));
}

int no_continuation() noexcept {
  return fail(MPI_ERR_REQUEST, "cont_req is not of MPIX_Continue_init, or was freed");
}

}  // namespace

ContinuationRequest::ContinuationRequest(int max_poll, int flags)
    : most_(max_poll > 0 ? static_cast<size_t>(max_poll) : SIZE_MAX),
      poll_only_((flags & MPIX_CONT_POLL_ONLY) != 0) {
  traits_.persistent = true;
  set_active(false);
  runs_functions_ = true;
  complete();
  the_process->handles.insert(*this);
}

bool ContinuationRequest::Continuation::ready() const noexcept {
  return std::all_of(requests.begin(), requests.end(),
                     [](const core::Request* one) { return one == nullptr || one->done(); });
}

void ContinuationRequest::attach(std::vector<core::Request*> requests, const Callback& callback,
                                 MPI_Status* statuses) {
  Continuations made;
  made.push_back({std::move(requests), callback, statuses});
  const bool now = !poll_only_ && !in_function &&
                   (callback.flags & MPIX_CONT_DEFER_COMPLETE) == 0 && made.front().ready();
  {
    const std::lock_guard lock(mutex_);
    if (pending_++ == 0) {
      retain();  // keeps this object until all functions have run
      restart();
    }
    if (!now || !active()) waiting_.splice(waiting_.end(), made);
  }
  if (!made.empty()) run(made.front());
  the_process->channel(0).progress.wake();  // a waiting thread may sleep
}

int ContinuationRequest::start() noexcept {
  const std::lock_guard lock(mutex_);
  outcome = {};
  error_text = nullptr;
  set_active(true);
  if (pending_ == 0) complete();
  return MPI_SUCCESS;
}

bool ContinuationRequest::has_ready() noexcept {
  const std::lock_guard lock(mutex_);
  return active() && std::any_of(waiting_.begin(), waiting_.end(),
                                 [](const Continuation& one) { return one.ready(); });
}

void ContinuationRequest::take_ready(Continuations* ready) {
  const std::lock_guard lock(mutex_);
  if (!active()) return;
  for (auto one = waiting_.begin(); one != waiting_.end() && ready->size() < most_;) {
    const auto here = one++;
    if (here->ready()) ready->splice(ready->end(), waiting_, here);
  }
}

void ContinuationRequest::run_ready() noexcept {
  Continuations ready;
  take_ready(&ready);
  for (Continuation& one : ready) run(one);
}

void ContinuationRequest::run(Continuation& one) noexcept {
  int code = MPI_SUCCESS;
  std::string text;
  for (size_t i = 0; i < one.requests.size(); ++i) {
    MPI_Request unused = MPI_REQUEST_NULL;
    MPI_Status* const status = at(one.statuses, static_cast<int>(i));
    if (one.requests[i] == nullptr) {
      core::fill_empty_status(status);
      continue;
    }
    const int own = collect(*one.requests[i], &unused, status, true);
    if (own == MPI_SUCCESS) continue;
    const LastError last = take_last_error();
    if (code == MPI_SUCCESS) text = last.text;
    if (code == MPI_SUCCESS) code = own;
  }
  if (code != MPI_SUCCESS && (one.callback.flags & MPIX_CONT_INVOKE_FAILED) == 0) {
    note(one.callback, code, text, false);
    return ended();
  }
  if (code != MPI_SUCCESS) remember_error(code, text);
  const bool before = std::exchange(in_function, true);
  bool threw = false;
  const int returned = core::user_call("the function of a continuation", &threw, [&] {
    return one.callback.function(code, one.callback.data);
  });
  in_function = before;
  if (returned != MPI_SUCCESS)
    note(one.callback, returned,
         threw ? take_last_error().text : "the function of a continuation returned an error", true);
  ended();
}

void ContinuationRequest::note(const Callback& callback, int code, const std::string& text,
                               bool called) noexcept {
  const std::lock_guard lock(mutex_);
  if (!called) failed_.push_back(callback.data);
  if (outcome.error != MPI_SUCCESS) return;
  outcome.error = code;
  text_ = text;
  error_text = &text_;
}

void ContinuationRequest::ended() noexcept {
  bool last = false;
  {
    const std::lock_guard lock(mutex_);
    last = --pending_ == 0;
    if (last) complete();
  }
  if (!last) return;
  the_process->channel(0).progress.wake();  // another thread may wait for all functions
  release();
}

void ContinuationRequest::describe(WaitReport* report) const {
  const std::lock_guard lock(mutex_);
  report->words += strf("%zu continuations", pending_);
  for (const Continuation& one : waiting_)
    for (const core::Request* request : one.requests)
      if (request != nullptr && !request->done()) {
        report->words += "; the first: ";
        return request->describe(report);
      }
}

void ContinuationRequest::destroy() noexcept {
  the_process->handles.erase(*this);
  delete this;
}

int ContinuationRequest::take_failed(int most, void** data) noexcept {
  const std::lock_guard lock(mutex_);
  const auto count = std::min(static_cast<size_t>(most), failed_.size());
  std::copy_n(failed_.begin(), count, data);
  failed_.erase(failed_.begin(), failed_.begin() + static_cast<ptrdiff_t>(count));
  return static_cast<int>(count);
}

int continue_init(int max_poll, int flags, MPI_Info info, MPI_Request* cont_req) noexcept {
  if (cont_req == nullptr) return fail(MPI_ERR_ARG, "cont_req is a null pointer");
  if (info != MPI_INFO_NULL && the_process->handles.find<core::Info>(info) == nullptr)
    return fail(MPI_ERR_INFO, "info is neither an info object nor MPI_INFO_NULL");
  if ((flags & ~MPIX_CONT_POLL_ONLY) != 0)
    return fail(MPI_ERR_ARG, "flags is %d, but MPIX_Continue_init accepts only MPIX_CONT_POLL_ONLY",
                flags);
  return guarded([&] {
    auto* made = new ContinuationRequest(max_poll, flags);
    *cont_req = reinterpret_cast<MPI_Request>(made->handle());
  });
}

int continue_all(int count, MPI_Request* handles, const Callback& callback, MPI_Status* statuses,
                 MPI_Request cont_req) noexcept {
  ContinuationRequest* const all = find_continuation(cont_req);
  if (all == nullptr) return no_continuation();
  if (callback.function == nullptr) return fail(MPI_ERR_ARG, "cb is a null pointer");
  if (count < 0) return fail(MPI_ERR_COUNT, "count is %d", count);
  if (count > 0 && handles == nullptr) return fail(MPI_ERR_ARG, "requests is a null pointer");
  return attempt([&] {
    std::vector<core::Request*> requests(static_cast<size_t>(count), nullptr);
    for (int i = 0; i < count; ++i) {
      if (idle(handles[i])) continue;
      core::Request* const found = find_request(handles[i]);
      if (found == nullptr) return bad_request(handles[i], i);
      if (found->runs_functions())
        return fail(MPI_ERR_REQUEST, "requests[%d] is a continuation request itself", i);
      requests[static_cast<size_t>(i)] = found;
    }
    for (size_t i = 0; i < requests.size(); ++i)
      if (requests[i] != nullptr && !requests[i]->persistent()) handles[i] = MPI_REQUEST_NULL;
    all->attach(std::move(requests), callback, statuses);
    return MPI_SUCCESS;
  });
}

int continue_get_failed(MPI_Request cont_req, int* count, void** data) noexcept {
  ContinuationRequest* const all = find_continuation(cont_req);
  if (all == nullptr) return no_continuation();
  if (count == nullptr || *count < 0 || (*count > 0 && data == nullptr))
    return fail(MPI_ERR_ARG, "count and cb_data must name an array");
  *count = all->take_failed(*count, data);
  return MPI_SUCCESS;
}

}  // namespace tern::api
