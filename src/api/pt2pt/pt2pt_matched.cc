// SPDX-License-Identifier: Apache-2.0
// Matched probes and receives (MPI-5.0 section 3.8.2).
#include <cinttypes>

#include "api/bodies.hpp"
#include "api/process.hpp"
#include "api/pt2pt/requests.hpp"
#include "api/pt2pt/send_modes.hpp"
#include "core/request.hpp"
#include "pml/pml.hpp"

namespace tern::api {
namespace {

MPI_Message handle_of(const pml::Matched* matched) noexcept {
  return matched == nullptr ? MPI_MESSAGE_NULL : reinterpret_cast<MPI_Message>(matched->handle());
}

int find_matched(MPI_Message handle, pml::Matched** found) noexcept {
  *found = the_process->handles.find<pml::Matched>(handle);
  if (*found != nullptr) return MPI_SUCCESS;
  if (handle == MPI_MESSAGE_NULL)
    return fail(MPI_ERR_REQUEST,
                "message is MPI_MESSAGE_NULL: no message was matched, or the message was received");
  return fail(MPI_ERR_REQUEST,
              "message is %#" PRIxPTR
              ", which is not a matched message (received, or never matched)",
              reinterpret_cast<uintptr_t>(handle));
}

}  // namespace

int mprobe(int source, int tag, core::Communicator& comm, MPI_Message* message,
           MPI_Status* status) noexcept {
  core::Outcome outcome = kFromNobody;
  *message = MPI_MESSAGE_NO_PROC;
  if (source != MPI_PROC_NULL) {
    pml::Matched* matched = nullptr;
    const int code = comm.channel().pml->mprobe({&comm, source, tag}, &matched, &outcome);
    if (code != MPI_SUCCESS) return code;
    *message = handle_of(matched);
  } else if (const int code = null_transfer(comm); code != MPI_SUCCESS) {
    return code;
  }
  core::fill_status(status, outcome, false);
  return MPI_SUCCESS;
}

int improbe(int source, int tag, core::Communicator& comm, int* flag, MPI_Message* message,
            MPI_Status* status) noexcept {
  core::Outcome outcome = kFromNobody;
  *flag = 1;
  *message = MPI_MESSAGE_NO_PROC;
  if (source != MPI_PROC_NULL) {
    pml::Matched* matched = nullptr;
    const int code = comm.channel().pml->improbe({&comm, source, tag}, &matched, &outcome);
    if (code != MPI_SUCCESS) return code;
    *flag = matched != nullptr ? 1 : 0;
    *message = handle_of(matched);
  } else if (const int code = null_transfer(comm); code != MPI_SUCCESS) {
    return code;
  }
  if (*flag != 0) core::fill_status(status, outcome, false);
  return MPI_SUCCESS;
}

int mrecv(void* buf, MPI_Count count, core::Datatype& datatype, MPI_Message* message,
          MPI_Status* status) noexcept {
  if (*message == MPI_MESSAGE_NO_PROC) {
    *message = MPI_MESSAGE_NULL;
    core::fill_status(status, kFromNobody, false);
    return MPI_SUCCESS;
  }
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = imrecv(buf, count, datatype, message, &request);
  return code == MPI_SUCCESS ? wait(&request, status) : code;
}

int imrecv(void* buf, MPI_Count count, core::Datatype& datatype, MPI_Message* message,
           MPI_Request* request) noexcept {
  if (*message == MPI_MESSAGE_NO_PROC) {
    *message = MPI_MESSAGE_NULL;
    core::Communicator& self = *the_process->self;
    return irecv(buf, count, datatype, MPI_PROC_NULL, MPI_ANY_TAG, self, request);
  }
  pml::Matched* matched = nullptr;
  int code = find_matched(*message, &matched);
  if (code != MPI_SUCCESS) return code;
  core::Request* made = nullptr;
  code = matched->from.communicator->channel().pml->imrecv(buffer_of(buf, count, datatype),
                                                           *matched, &made);
  if (code != MPI_SUCCESS) return code;
  *message = MPI_MESSAGE_NULL;
  *request = reinterpret_cast<MPI_Request>(made->handle());
  return MPI_SUCCESS;
}

}  // namespace tern::api
