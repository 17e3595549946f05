// SPDX-License-Identifier: Apache-2.0
// Bodies of the chapter "requests": waiting for, testing, starting and freeing operations.
// See: MPI-5.0 sections 3.7 and 3.9.
#include "core/request.hpp"

#include "api/bodies.hpp"
#include "api/process.hpp"
#include "core/communicator.hpp"

namespace tern::api {
namespace {

core::Request* find(MPI_Request handle) noexcept {
  return the_process->handles.find<core::Request>(handle);
}

/// MPI_REQUEST_NULL, or a persistent request that was not started: complete, with an empty status.
bool idle(MPI_Request handle) noexcept {
  if (handle == MPI_REQUEST_NULL) return true;
  const core::Request* request = find(handle);
  return request != nullptr && !request->active();
}

int bad_request(MPI_Request handle, int position) noexcept {
  return fail(MPI_ERR_REQUEST,
              "array_of_requests[%d] is %p, which is no request (already completed or freed, or "
              "never made)",
              position, static_cast<void*>(handle));
}

/// All handles of an array name requests, or nothing.
int check_all(int count, const MPI_Request* handles) noexcept {
  for (int i = 0; i < count; ++i)
    if (handles[i] != MPI_REQUEST_NULL && find(handles[i]) == nullptr)
      return bad_request(handles[i], i);
  return MPI_SUCCESS;
}

/// Hands a completed request to the user: status, error code, and the end of the handle (or of the
/// activity).
int collect(core::Request& request, MPI_Request* handle, MPI_Status* status,
            bool with_error) noexcept {
  int code = request.deliver();
  if (code == MPI_SUCCESS) code = request.outcome.error;
  core::fill_status(status, request.outcome, with_error);
  if (with_error && status != MPI_STATUS_IGNORE) status->MPI_ERROR = code;
  if (TERN_UNLIKELY(code != MPI_SUCCESS))
    code = fail_on(
        request.communicator, code, "%s",
        request.error_text == nullptr ? "the operation failed" : request.error_text->c_str());
  if (request.persistent()) {
    request.set_active(false);
  } else {
    *handle = MPI_REQUEST_NULL;
    request.release();
  }
  return code;
}

/// One completed entry of an array: like collect, but the errors of several go into the statuses.
int collect_one_of(MPI_Request* handle, MPI_Status* status, bool with_error) noexcept {
  if (idle(*handle)) {
    core::fill_empty_status(status, with_error);
    return MPI_SUCCESS;
  }
  return collect(*find(*handle), handle, status, with_error);
}

MPI_Status* at(MPI_Status* statuses, int i) noexcept {
  return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : statuses + i;
}

bool complete(MPI_Request handle) noexcept { return idle(handle) || find(handle)->done(); }

bool all_complete(int count, const MPI_Request* handles) noexcept {
  for (int i = 0; i < count; ++i)
    if (!complete(handles[i])) return false;
  return true;
}

/// The first active and completed entry; -1 where there is none.
int first_complete(int count, const MPI_Request* handles) noexcept {
  for (int i = 0; i < count; ++i)
    if (!idle(handles[i]) && find(handles[i])->done()) return i;
  return -1;
}

bool all_idle(int count, const MPI_Request* handles) noexcept {
  for (int i = 0; i < count; ++i)
    if (!idle(handles[i])) return false;
  return true;
}

/// One round of progress, so that a program that only tests gets on.
void poll_once() noexcept {
  const core::ChannelLock lock(the_process->progress);
  the_process->progress.poll();
}

template <class Done>
void wait_until(Done&& done) noexcept {
  const core::ChannelLock lock(the_process->progress);
  the_process->progress.wait(done);
}

/// Collects all of an array, which are complete. MPI_ERR_IN_STATUS where one failed.
int collect_all(int count, MPI_Request* handles, MPI_Status* statuses) noexcept {
  bool failed = false;
  for (int i = 0; i < count && !failed; ++i)
    failed = !idle(handles[i]) && find(handles[i])->outcome.error != MPI_SUCCESS;
  int first_error = MPI_SUCCESS;
  LastError text;
  for (int i = 0; i < count; ++i) {
    const int code = collect_one_of(&handles[i], at(statuses, i), failed);
    if (code == MPI_SUCCESS || first_error != MPI_SUCCESS) continue;
    first_error = code;
    text = take_last_error();
  }
  if (TERN_LIKELY(first_error == MPI_SUCCESS)) return MPI_SUCCESS;
  return fail_on(text.object, MPI_ERR_IN_STATUS, "at least one request failed; the first: %s",
                 text.text.c_str());
}

/// Collects the completed ones into the front of indices and statuses.
int collect_some(int count, MPI_Request* handles, int* outcount, int* indices,
                 MPI_Status* statuses) noexcept {
  bool failed = false;
  for (int i = 0; i < count; ++i)
    if (!idle(handles[i]) && find(handles[i])->done())
      failed |= find(handles[i])->outcome.error != MPI_SUCCESS;
  int collected = 0, first_error = MPI_SUCCESS;
  LastError text;
  for (int i = 0; i < count; ++i) {
    if (idle(handles[i]) || !find(handles[i])->done()) continue;
    const int code = collect_one_of(&handles[i], at(statuses, collected), failed);
    indices[collected++] = i;
    if (code == MPI_SUCCESS || first_error != MPI_SUCCESS) continue;
    first_error = code;
    text = take_last_error();
  }
  *outcount = collected;
  if (first_error == MPI_SUCCESS) return MPI_SUCCESS;
  return fail_on(text.object, MPI_ERR_IN_STATUS, "at least one request failed; the first: %s",
                 text.text.c_str());
}

}  // namespace

int wait(MPI_Request* request, MPI_Status* status) noexcept {
  if (idle(*request)) {
    core::fill_empty_status(status, false);
    return MPI_SUCCESS;
  }
  core::Request* waited = find(*request);
  if (!waited->done()) wait_until([waited] { return waited->done(); });
  return collect(*waited, request, status, false);
}

int test(MPI_Request* request, int* flag, MPI_Status* status) noexcept {
  *flag = 1;
  if (idle(*request)) {
    core::fill_empty_status(status, false);
    return MPI_SUCCESS;
  }
  core::Request* tested = find(*request);
  if (!tested->done()) poll_once();
  if (tested->done()) return collect(*tested, request, status, false);
  *flag = 0;
  return MPI_SUCCESS;
}

int waitall(int count, MPI_Request* requests, MPI_Status* statuses) noexcept {
  const int bad = check_all(count, requests);
  if (bad != MPI_SUCCESS) return bad;
  int next = 0;  // all before it are complete
  wait_until([&] {
    while (next < count && complete(requests[next])) ++next;
    return next == count;
  });
  return collect_all(count, requests, statuses);
}

int testall(int count, MPI_Request* requests, int* flag, MPI_Status* statuses) noexcept {
  const int bad = check_all(count, requests);
  if (bad != MPI_SUCCESS) return bad;
  *flag = 1;
  if (!all_complete(count, requests)) poll_once();
  if (all_complete(count, requests)) return collect_all(count, requests, statuses);
  *flag = 0;
  return MPI_SUCCESS;
}

int waitany(int count, MPI_Request* requests, int* index, MPI_Status* status) noexcept {
  const int bad = check_all(count, requests);
  if (bad != MPI_SUCCESS) return bad;
  *index = MPI_UNDEFINED;
  core::fill_empty_status(status, false);
  if (all_idle(count, requests)) return MPI_SUCCESS;
  wait_until([&] { return (*index = first_complete(count, requests)) >= 0; });
  return collect(*find(requests[*index]), &requests[*index], status, false);
}

int testany(int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status) noexcept {
  const int bad = check_all(count, requests);
  if (bad != MPI_SUCCESS) return bad;
  *flag = 1;
  *index = MPI_UNDEFINED;
  if (all_idle(count, requests)) {
    core::fill_empty_status(status, false);
    return MPI_SUCCESS;
  }
  int found = first_complete(count, requests);
  if (found < 0) {
    poll_once();
    found = first_complete(count, requests);
  }
  if (found < 0) {
    *flag = 0;
    return MPI_SUCCESS;
  }
  *index = found;
  return collect(*find(requests[found]), &requests[found], status, false);
}

int waitsome(int count, MPI_Request* requests, int* outcount, int* indices,
             MPI_Status* statuses) noexcept {
  const int bad = check_all(count, requests);
  if (bad != MPI_SUCCESS) return bad;
  *outcount = MPI_UNDEFINED;
  if (all_idle(count, requests)) return MPI_SUCCESS;
  wait_until([&] { return first_complete(count, requests) >= 0; });
  return collect_some(count, requests, outcount, indices, statuses);
}

int testsome(int count, MPI_Request* requests, int* outcount, int* indices,
             MPI_Status* statuses) noexcept {
  const int bad = check_all(count, requests);
  if (bad != MPI_SUCCESS) return bad;
  *outcount = MPI_UNDEFINED;
  if (all_idle(count, requests)) return MPI_SUCCESS;
  poll_once();
  return collect_some(count, requests, outcount, indices, statuses);
}

int request_get_status(MPI_Request request, int* flag, MPI_Status* status) noexcept {
  *flag = 1;
  if (idle(request)) {
    core::fill_empty_status(status, false);
    return MPI_SUCCESS;
  }
  core::Request* asked = find(request);
  if (!asked->done()) poll_once();
  *flag = asked->done() ? 1 : 0;
  if (*flag != 0) core::fill_status(status, asked->outcome, false);
  return MPI_SUCCESS;
}

int request_free(MPI_Request* request) noexcept {
  core::Request* freed = find(*request);
  *request = MPI_REQUEST_NULL;
  if (freed->persistent()) {  // it may end the communicator that it kept
    const core::ChannelLock lock(the_process->progress);
    freed->release();
  } else {
    freed->release();
  }
  return MPI_SUCCESS;
}

int cancel(MPI_Request* request) noexcept {
  find(*request)->cancel();
  return MPI_SUCCESS;
}

int test_cancelled(const MPI_Status* status, int* flag) noexcept {
  *flag = core::status_cancelled(*status) ? 1 : 0;
  return MPI_SUCCESS;
}

int start(MPI_Request* request) noexcept {
  core::Request* started = find(*request);
  if (!started->persistent())
    return fail(
        MPI_ERR_REQUEST,
        "the request is not persistent; only MPI_*_init makes requests that can be started");
  if (started->active())
    return fail(MPI_ERR_REQUEST, "the request was started already; complete it first");
  return started->start();
}

int startall(int count, MPI_Request* requests) noexcept {
  for (int i = 0; i < count; ++i) {
    if (find(requests[i]) == nullptr) return bad_request(requests[i], i);
    const int code = start(&requests[i]);
    if (code != MPI_SUCCESS) return code;
  }
  return MPI_SUCCESS;
}

}  // namespace tern::api
