// SPDX-License-Identifier: Apache-2.0
// MPI functions of the chapter "point-to-point communication" (MPI-5.0 chapter 3).
#include <vector>

#include "api/attempt.hpp"
#include "api/bodies.hpp"
#include "api/process.hpp"
#include "api/pt2pt/requests.hpp"
#include "api/pt2pt/send_modes.hpp"
#include "core/request.hpp"
#include "mpix.h"
#include "pml/pml.hpp"
#include "trace/recorder.hpp"

namespace tern::api {
namespace {

using pml::Buffer;
using pml::Envelope;
using pml::Mode;

/// No handle keeps the receive, so it ends, unless a message has come meanwhile.
TERN_COLD int end_pending(core::Request& request) noexcept {
  core::Progress& progress = request.communicator->channel().progress;
  const core::ChannelLock lock(progress);
  request.cancel_locked();
  if (request.outcome.error == MPIX_ERR_PROC_FAILED_PENDING) {
    request.restart();
    progress.wait([&request] { return request.done(); },
                  [&request](WaitReport* report) { request.describe(report); });
  }
  return request.outcome.cancelled ? int{MPIX_ERR_PROC_FAILED} : request.outcome.error;
}

int finish(core::Request& request, core::Outcome* outcome) noexcept {
  core::Progress& progress = request.communicator->channel().progress;
  {
    const core::ChannelLock lock(progress);
    progress.wait([&request] { return request.done(); },
                  [&request](WaitReport* report) { request.describe(report); });
  }
  int code = request.outcome.error;
  if (TERN_UNLIKELY(code == MPIX_ERR_PROC_FAILED_PENDING)) code = end_pending(request);
  if (outcome != nullptr) *outcome = request.outcome;
  if (trace::is_on()) trace::last_matched() = {request.notes.message, request.notes.matched_ns};
  if (code != MPI_SUCCESS)
    code =
        fail(code, "%s",
             request.error_text == nullptr ? "the operation failed" : request.error_text->c_str());
  request.release();
  return code;
}

}  // namespace

int recv(void* buf, MPI_Count count, core::Datatype& datatype, int source, int tag,
         core::Communicator& comm, MPI_Status* status) noexcept {
  core::Outcome outcome = kFromNobody;
  int code = MPI_SUCCESS;
  if (TERN_LIKELY(source != MPI_PROC_NULL))
    code =
        comm.channel().pml->recv(buffer_of(buf, count, datatype), {&comm, source, tag}, &outcome);
  else
    code = null_transfer(comm);
  core::fill_status(status, outcome, false);
  return code;
}

int irecv(void* buf, MPI_Count count, core::Datatype& datatype, int source, int tag,
          core::Communicator& comm, MPI_Request* request) noexcept {
  if (TERN_UNLIKELY(source == MPI_PROC_NULL)) return give_null_request(comm, request, false);
  core::Request* made = nullptr;
  const int code =
      comm.channel().pml->irecv(buffer_of(buf, count, datatype), {&comm, source, tag}, &made);
  return give(made, code, request);
}

int recv_init(void* buf, MPI_Count count, core::Datatype& datatype, int source, int tag,
              core::Communicator& comm, MPI_Request* request) noexcept {
  if (source == MPI_PROC_NULL) return give_null_request(comm, request, true);
  core::Request* made = nullptr;
  const int code =
      comm.channel().pml->recv_init(buffer_of(buf, count, datatype), {&comm, source, tag}, &made);
  return give(made, code, request);
}

int sendrecv(const void* sendbuf, MPI_Count sendcount, core::Datatype& sendtype, int dest,
             int sendtag, void* recvbuf, MPI_Count recvcount, core::Datatype& recvtype, int source,
             int recvtag, core::Communicator& comm, MPI_Status* status) noexcept {
  core::Request* receive = nullptr;
  core::Outcome outcome = kFromNobody;
  if (source != MPI_PROC_NULL) {
    const int code = comm.channel().pml->irecv(buffer_of(recvbuf, recvcount, recvtype),
                                               {&comm, source, recvtag}, &receive);
    if (code != MPI_SUCCESS) return code;
  }
  int sent = MPI_SUCCESS;
  if (TERN_LIKELY(dest != MPI_PROC_NULL))
    sent = comm.channel().pml->send(buffer_of(sendbuf, sendcount, sendtype), {&comm, dest, sendtag},
                                    Mode::kStandard);
  else if (receive == nullptr)
    sent = null_transfer(comm);
  if (sent != MPI_SUCCESS) {
    if (receive != nullptr) {
      (void)receive->cancel();
      receive->release();
    }
    return sent;
  }
  const int code = receive == nullptr ? MPI_SUCCESS : finish(*receive, &outcome);
  core::fill_status(status, outcome, false);
  return code;
}

int sendrecv_replace(void* buf, MPI_Count count, core::Datatype& datatype, int dest, int sendtag,
                     int source, int recvtag, core::Communicator& comm,
                     MPI_Status* status) noexcept {
  std::vector<std::byte> copy;
  int code = MPI_SUCCESS;
  const int packed = guarded([&] {
    copy.resize(buffer_of(buf, count, datatype).bytes());
    code = fail(
        core::pack(*the_process, buffer_of(buf, count, datatype), 0, copy.data(), copy.size()));
  });
  if (packed != MPI_SUCCESS || code != MPI_SUCCESS) return packed != MPI_SUCCESS ? packed : code;
  core::Datatype& bytes = core::predefined_type(*the_process, MPI_PACKED);
  return sendrecv(copy.data(), static_cast<MPI_Count>(copy.size()), bytes, dest, sendtag, buf,
                  count, datatype, source, recvtag, comm, status);
}

int probe(int source, int tag, core::Communicator& comm, MPI_Status* status) noexcept {
  core::Outcome outcome = kFromNobody;
  int code = MPI_SUCCESS;
  if (source != MPI_PROC_NULL)
    code = comm.channel().pml->probe({&comm, source, tag}, &outcome);
  else
    code = null_transfer(comm);
  core::fill_status(status, outcome, false);
  return code;
}

int iprobe(int source, int tag, core::Communicator& comm, int* flag, MPI_Status* status) noexcept {
  core::Outcome outcome = kFromNobody;
  bool found = true;
  int code = MPI_SUCCESS;
  if (source != MPI_PROC_NULL)
    code = comm.channel().pml->iprobe({&comm, source, tag}, &found, &outcome);
  else
    code = null_transfer(comm);
  *flag = found ? 1 : 0;
  if (found) core::fill_status(status, outcome, false);
  return code;
}

}  // namespace tern::api
