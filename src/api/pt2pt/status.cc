// SPDX-License-Identifier: Apache-2.0
// MPI functions of the chapter "status" (MPI-5.0 sections 3.2.5 and 13.3). See: core/request.hpp
// (hidden fields).
#include "api/bodies.hpp"
#include "api/process.hpp"
#include "core/datatype.hpp"
#include "core/request.hpp"

namespace tern::api {

int status_get_error(const MPI_Status* status, int* err) noexcept {
  *err = status->MPI_ERROR;
  return MPI_SUCCESS;
}
int status_get_source(const MPI_Status* status, int* source) noexcept {
  *source = status->MPI_SOURCE;
  return MPI_SUCCESS;
}
int status_get_tag(const MPI_Status* status, int* tag) noexcept {
  *tag = status->MPI_TAG;
  return MPI_SUCCESS;
}
int status_set_error(MPI_Status* status, int err) noexcept {
  status->MPI_ERROR = err;
  return MPI_SUCCESS;
}
int status_set_source(MPI_Status* status, int source) noexcept {
  status->MPI_SOURCE = source;
  return MPI_SUCCESS;
}
int status_set_tag(MPI_Status* status, int tag) noexcept {
  status->MPI_TAG = tag;
  return MPI_SUCCESS;
}
int status_set_cancelled(MPI_Status* status, int flag) noexcept {
  core::set_status_cancelled(*status, flag != 0);
  return MPI_SUCCESS;
}

int status_set_elements(MPI_Status* status, core::Datatype& datatype, MPI_Count count) noexcept {
  return status_set_elements_x(status, datatype, count);
}

int status_set_elements_x(MPI_Status* status, core::Datatype& datatype, MPI_Count count) noexcept {
  if (count < 0)
    return fail(MPI_ERR_COUNT, "count is %lld, but must not be negative",
                static_cast<long long>(count));
  core::set_status_bytes(*status, datatype.bytes_of(count));
  return MPI_SUCCESS;
}

}  // namespace tern::api
