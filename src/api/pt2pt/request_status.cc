// SPDX-License-Identifier: Apache-2.0
// Queries of requests (MPI-5.0 section 3.7.6).
#include "api/bodies.hpp"
#include "api/pt2pt/requests.hpp"

namespace tern::api {
namespace {

/// Writes a wait's status without completing the request. Queries generalised requests.
int show(core::Request* request, MPI_Status* status, bool with_error) noexcept {
  if (request == nullptr) {
    core::fill_empty_status(status);
    return MPI_SUCCESS;
  }
  const int code = request->deliver(false);
  core::fill_status(status, request->outcome, with_error);
  return code;
}

}  // namespace

int request_get_status(MPI_Request request, int* flag, MPI_Status* status) noexcept {
  *flag = 1;
  if (idle(request)) {
    core::fill_empty_status(status);
    return MPI_SUCCESS;
  }
  core::Request* asked = find_request(request);
  if (!asked->done()) poll_once(*asked);
  *flag = asked->done() ? 1 : 0;
  return *flag != 0 ? show(asked, status, false) : MPI_SUCCESS;
}

int request_get_status_all(int count, const MPI_Request* handles, int* flag,
                           MPI_Status* statuses) noexcept {
  const Requests requests(count, handles);
  if (requests.code() != MPI_SUCCESS) return requests.code();
  if (!all_complete(requests)) poll_once(requests);
  *flag = all_complete(requests) ? 1 : 0;
  int code = MPI_SUCCESS;
  for (int i = 0; i < count && *flag != 0; ++i)
    if (const int one = show(requests[i], at(statuses, i), false); one != MPI_SUCCESS) code = one;
  return code;
}

int request_get_status_any(int count, const MPI_Request* handles, int* index, int* flag,
                           MPI_Status* status) noexcept {
  const Requests requests(count, handles);
  if (requests.code() != MPI_SUCCESS) return requests.code();
  *flag = 1;
  *index = MPI_UNDEFINED;
  if (requests.all_idle()) return show(nullptr, status, false);
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
  return show(requests[found], status, false);
}

int request_get_status_some(int incount, const MPI_Request* handles, int* outcount, int* indices,
                            MPI_Status* statuses) noexcept {
  const Requests requests(incount, handles);
  if (requests.code() != MPI_SUCCESS) return requests.code();
  *outcount = MPI_UNDEFINED;
  if (requests.all_idle()) return MPI_SUCCESS;
  poll_for_some(requests);
  *outcount = 0;
  int code = MPI_SUCCESS;
  for (int i = 0; i < incount; ++i) {
    if (requests[i] == nullptr || !requests[i]->done()) continue;
    const int one = show(requests[i], at(statuses, *outcount), false);
    if (one != MPI_SUCCESS) code = one;
    indices[(*outcount)++] = i;
  }
  return code;
}

}  // namespace tern::api
