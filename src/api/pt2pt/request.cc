// SPDX-License-Identifier: Apache-2.0
// MPI functions of the chapter "requests" (MPI-5.0 sections 3.7 and 3.9).
#include "core/request.hpp"

#include <memory>
#include <new>
#include <utility>

#include "api/bodies.hpp"
#include "api/errors.hpp"
#include "api/process.hpp"
#include "api/pt2pt/requests.hpp"
#include "core/communicator.hpp"
#include "mpix.h"

namespace tern::api {

int fail_with(core::Request& request, int code, const char* text) noexcept {
  core::Object* const raised_on = request.raised_on();
  keep_until_delivered(core::Ref<core::Object>(raised_on));
  return fail_on(raised_on, code, "%s", text);
}

namespace {

/// Whether the request stays.
TERN_COLD bool end_special(core::Request& request) noexcept {
  request.record_completion();
  if (request.persistent()) request.set_active(false);
  return request.persistent();
}

}  // namespace

int collect(core::Request& request, MPI_Request* handle, MPI_Status* status,
            bool with_error) noexcept {
  int code = request.deliver(!request.persistent());
  const bool has_text = code != MPI_SUCCESS;
  if (code == MPI_SUCCESS) code = request.outcome.error;
  if (status != MPI_STATUS_IGNORE) {
    core::fill_status(status, request.outcome, with_error);
    if (with_error) status->MPI_ERROR = code;
  }
  if (TERN_UNLIKELY(code != MPI_SUCCESS))
    code = fail_with(request, code,
                     has_text                        ? take_last_error().text.c_str()
                     : request.error_text == nullptr ? "the operation failed"
                                                     : request.error_text->c_str());
  if (TERN_UNLIKELY(code == MPIX_ERR_PROC_FAILED_PENDING)) return code;  // still active
  if (TERN_UNLIKELY(request.special()) && end_special(request)) return code;
  *handle = MPI_REQUEST_NULL;
  request.release();
  return code;
}

namespace {

/// `with_error`: the status also gets the request's error.
int collect_one_of(core::Request* request, MPI_Request* handle, MPI_Status* status,
                   bool with_error) noexcept {
  if (request != nullptr) return collect(*request, handle, status, with_error);
  core::fill_empty_status(status);
  return MPI_SUCCESS;
}

template <class Done, class Describe>
void wait_until(core::Progress& progress, Done&& done, const Describe& describe) noexcept {
  const core::ChannelLock lock(progress);
  progress.wait(done, describe);
}

/// The caller holds no lock, because functions may start operations.
TERN_COLD void wait_and_run(core::Request& waited) noexcept {
  for (waited.run_ready(); !waited.done(); waited.run_ready()) {
    core::Progress& progress = progress_of(waited);
    const auto leaves = [&] {
      if (waited.done() || waited.has_ready()) return true;
      progress.poll_others();
      return false;
    };
    wait_until(progress, leaves, [&](WaitReport* report) { waited.describe(report); });
  }
}

/// `any`: any request suffices.
void describe_requests(const Requests& requests, bool any, WaitReport* report) {
  int incomplete = 0;
  WaitReport wildcard;
  for (int i = 0; i < requests.count(); ++i) {
    if (requests.complete(i)) continue;
    WaitReport one;
    requests[i]->describe(&one);
    if (incomplete++ == 0) report->words += one.words;
    if (one.any && !any) {
      wildcard = one;
      continue;
    }
    for (const int rank : one.ranks) report->wait_for(rank);
  }
  report->any = any || report->ranks.empty();
  if (report->ranks.empty()) report->ranks = wildcard.ranks;
  if (incomplete > 1)
    report->words += strf(" (and %d more of %d requests%s)", incomplete - 1, requests.count(),
                          any ? ", one is enough" : "");
}

/// Waits in the channels in turn; other channels progress meanwhile.
void wait_for_all(const Requests& requests) noexcept {
  int next = 0;
  const auto pass_complete = [&] {
    while (next < requests.count() && requests.complete(next)) ++next;
  };
  for (pass_complete(); next < requests.count(); pass_complete()) {
    if (TERN_UNLIKELY(requests[next]->runs_functions())) {
      wait_and_run(*requests[next]);
      continue;
    }
    core::Progress& progress = progress_of(*requests[next]);
    const auto leaves = [&] {
      pass_complete();
      return next == requests.count() || &progress_of(*requests[next]) != &progress ||
             TERN_UNLIKELY(requests[next]->runs_functions());
    };
    wait_until(progress, leaves,
               [&](WaitReport* report) { describe_requests(requests, false, report); });
  }
}

int wait_for_one(const Requests& requests) noexcept {
  core::Progress& progress = requests.progress();
  int found = -1;
  const auto done = [&] {
    found = first_complete(requests);
    if (found < 0 && TERN_UNLIKELY(requests.in_several_channels())) progress.poll_others();
    return found >= 0 || requests.has_ready();
  };
  for (requests.run_ready(); found < 0; requests.run_ready())
    wait_until(progress, done,
               [&](WaitReport* report) { describe_requests(requests, true, report); });
  return found;
}

class Collection {
 public:
  Collection(MPI_Status* statuses, bool failed) noexcept : statuses_(statuses), failed_(failed) {}

  void take(core::Request* request, MPI_Request* handle) noexcept {
    const int code = collect_one_of(request, handle, at(statuses_, taken_), failed_);
    if (TERN_UNLIKELY(code != MPI_SUCCESS)) note(code);
    ++taken_;
  }
  [[nodiscard]] int code() const noexcept {
    if (TERN_LIKELY(!heard_)) return MPI_SUCCESS;
    keep_until_delivered(hearer_);
    const int code = fail_on(first_.object, MPI_ERR_IN_STATUS,
                             "at least one request failed; the first: %s", first_.text.c_str());
    keep_cause(first_code_);
    return code;
  }

 private:
  void note(int code) noexcept {
    LastError heard = take_last_error();
    if (!heard_) {
      first_ = std::move(heard);
      first_code_ = code;
      hearer_ = kept_until_delivered();
    }
    heard_ = true;
    if (!failed_) begin_errors(code);
    failed_ = true;
  }
  /// The earlier statuses get success.
  void begin_errors(int code) noexcept {
    if (statuses_ == MPI_STATUSES_IGNORE) return;
    for (int i = 0; i < taken_; ++i) statuses_[i].MPI_ERROR = MPI_SUCCESS;
    statuses_[taken_].MPI_ERROR = code;
  }

  MPI_Status* statuses_;
  int taken_ = 0;
  bool failed_, heard_ = false;
  LastError first_;
  int first_code_ = MPI_SUCCESS;
  core::Ref<core::Object> hearer_;
};

/// collect_all() returns MPI_ERR_IN_STATUS after a failure, and all statuses get an error code.
int collect_all(const Requests& requests, MPI_Request* handles, MPI_Status* statuses) noexcept {
  bool failed = false;
  for (int i = 0; i < requests.count(); ++i)
    failed |= requests[i] != nullptr && requests[i]->outcome.error != MPI_SUCCESS;
  Collection collection(statuses, failed);
  for (int i = 0; i < requests.count(); ++i) collection.take(requests[i], &handles[i]);
  return collection.code();
}

int collect_some(const Requests& requests, MPI_Request* handles, int* outcount, int* indices,
                 MPI_Status* statuses) noexcept {
  bool failed = false;
  int found = 0;  // fixed, because others may complete meanwhile
  for (int i = 0; i < requests.count(); ++i) {
    if (requests[i] == nullptr || !requests[i]->done()) continue;
    failed |= requests[i]->outcome.error != MPI_SUCCESS;
    indices[found++] = i;
  }
  Collection collection(statuses, failed);
  for (int k = 0; k < found; ++k) collection.take(requests[indices[k]], &handles[indices[k]]);
  *outcount = found;
  return collection.code();
}

}  // namespace

int wait(MPI_Request* request, MPI_Status* status) noexcept {
  core::Request* const waited = find_active(*request);
  if (waited == nullptr) {
    core::fill_empty_status(status);
    return MPI_SUCCESS;
  }
  if (TERN_UNLIKELY(waited->runs_functions()))
    wait_and_run(*waited);
  else if (!waited->done())
    wait_until(
        progress_of(*waited), [waited] { return waited->done(); },
        [waited](WaitReport* report) { waited->describe(report); });
  return collect(*waited, request, status, false);
}

int test(MPI_Request* request, int* flag, MPI_Status* status) noexcept {
  *flag = 1;
  core::Request* const tested = find_active(*request);
  if (tested == nullptr) {
    core::fill_empty_status(status);
    return MPI_SUCCESS;
  }
  if (!tested->done()) poll_once(*tested);
  if (tested->done()) return collect(*tested, request, status, false);
  *flag = 0;
  return MPI_SUCCESS;
}

int waitall(int count, MPI_Request* handles, MPI_Status* statuses) noexcept {
  const Requests requests(count, handles);
  if (requests.code() != MPI_SUCCESS) return requests.code();
  wait_for_all(requests);
  return collect_all(requests, handles, statuses);
}

int testall(int count, MPI_Request* handles, int* flag, MPI_Status* statuses) noexcept {
  const Requests requests(count, handles);
  if (requests.code() != MPI_SUCCESS) return requests.code();
  *flag = 1;
  if (!all_complete(requests)) poll_once(requests);
  if (all_complete(requests)) return collect_all(requests, handles, statuses);
  *flag = 0;
  return MPI_SUCCESS;
}

int waitany(int count, MPI_Request* handles, int* index, MPI_Status* status) noexcept {
  const Requests requests(count, handles);
  if (requests.code() != MPI_SUCCESS) return requests.code();
  *index = MPI_UNDEFINED;
  if (requests.all_idle()) {
    core::fill_empty_status(status);
    return MPI_SUCCESS;
  }
  *index = wait_for_one(requests);
  return collect(*requests[*index], &handles[*index], status, false);
}

int testany(int count, MPI_Request* handles, int* index, int* flag, MPI_Status* status) noexcept {
  const Requests requests(count, handles);
  if (requests.code() != MPI_SUCCESS) return requests.code();
  *flag = 1;
  *index = MPI_UNDEFINED;
  if (requests.all_idle()) {
    core::fill_empty_status(status);
    return MPI_SUCCESS;
  }
  int found = first_complete(requests);
  if (found < 0) {
    poll_once(requests);
    found = first_complete(requests);
  }
  if (found < 0) {
    *flag = 0;
    return MPI_SUCCESS;
  }
  *index = found;
  return collect(*requests[found], &handles[found], status, false);
}

int waitsome(int count, MPI_Request* handles, int* outcount, int* indices,
             MPI_Status* statuses) noexcept {
  const Requests requests(count, handles);
  if (requests.code() != MPI_SUCCESS) return requests.code();
  *outcount = MPI_UNDEFINED;
  if (requests.all_idle()) return MPI_SUCCESS;
  wait_for_one(requests);
  return collect_some(requests, handles, outcount, indices, statuses);
}

int testsome(int count, MPI_Request* handles, int* outcount, int* indices,
             MPI_Status* statuses) noexcept {
  const Requests requests(count, handles);
  if (requests.code() != MPI_SUCCESS) return requests.code();
  *outcount = MPI_UNDEFINED;
  if (requests.all_idle()) return MPI_SUCCESS;
  poll_for_some(requests);
  return collect_some(requests, handles, outcount, indices, statuses);
}

int request_free(MPI_Request* request) noexcept {
  core::Request* freed = find_request(*request);
  *request = MPI_REQUEST_NULL;
  if (freed->persistent()) {  // freeing may end the request's communicator
    const core::ChannelLock lock(progress_of(*freed));
    freed->release();
    return MPI_SUCCESS;
  }
  return free_request(*freed);
}

int cancel(MPI_Request* request) noexcept { return cancel_request(*find_request(*request)); }

int test_cancelled(const MPI_Status* status, int* flag) noexcept {
  *flag = core::status_cancelled(*status) ? 1 : 0;
  return MPI_SUCCESS;
}

int start(MPI_Request* request) noexcept {
  core::Request* started = find_request(*request);
  if (!started->persistent())
    return fail(MPI_ERR_REQUEST,
                "the request is not persistent; only requests of MPI_*_init can be started");
  if (started->active())
    return fail(MPI_ERR_REQUEST, "the request is already started; complete the operation first");
  const int code = started->start();
  if (TERN_LIKELY(code == MPI_SUCCESS)) return code;
  return fail_with(*started, code, take_last_error().text.c_str());
}

int startall(int count, MPI_Request* requests) noexcept {
  for (int i = 0; i < count; ++i) {
    if (find_request(requests[i]) == nullptr) return bad_request(requests[i], i);
    const int code = start(&requests[i]);
    if (code != MPI_SUCCESS) return code;
  }
  return MPI_SUCCESS;
}

}  // namespace tern::api
