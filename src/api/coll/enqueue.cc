// SPDX-License-Identifier: Apache-2.0
// MPI functions of the chapter "stream": enqueued messages and collectives, with MPICH's names and
// semantics. See: src/stream/README.md.
#include <optional>

#include "api/bodies.hpp"
#include "api/coll/coll.hpp"
#include "api/comm/streams.hpp"
#include "api/refused_call.hpp"
#include "core/current_call.hpp"
#include "stream/collective.hpp"
#include "stream/message.hpp"

namespace tern::api {
namespace {

using core::Communicator;
using stream::CommStream;
using stream::EnqueuedRequest;

stream::Message message_of(const void* buf, MPI_Count count, core::Datatype& type, int peer,
                           int tag) noexcept {
  return {const_cast<void*>(buf), count, &type, peer, tag};
}

MPI_Request handle_of(const core::Request& made) noexcept {
  return reinterpret_cast<MPI_Request>(made.handle());
}

}  // namespace

void refuse_enqueued(Communicator& comm, int code, std::optional<coll::CallKind> aliased) {
  if (CommStream* const state = stream::of(comm)) stream::refuse(*state, code, aliased);
}

int enqueue(const Described& what) noexcept {
  CommStream* state = nullptr;
  if (const int code = find_stream(*what.operation.communicator, &state); code != MPI_SUCCESS)
    return code;
  if (what.code != MPI_SUCCESS) {
    notify_refusal(*what.operation.communicator, CallContext::kEnqueued, what.code,
                   what.aliased_call(false));
    return what.code;
  }
  return stream::enqueue(*state, what.operation, core::current_call.call);
}

int send_enqueue(const void* buf, MPI_Count count, core::Datatype& datatype, int dest, int tag,
                 Communicator& comm) noexcept {
  CommStream* state = nullptr;
  if (const int code = find_stream(comm, &state); code != MPI_SUCCESS) return code;
  if (dest == MPI_PROC_NULL) return state->earlier_error().take();
  return stream::enqueue_send(*state, message_of(buf, count, datatype, dest, tag),
                              "MPIX_Send_enqueue");
}

int recv_enqueue(void* buf, MPI_Count count, core::Datatype& datatype, int source, int tag,
                 Communicator& comm, MPI_Status* status) noexcept {
  CommStream* state = nullptr;
  if (const int code = find_stream(comm, &state); code != MPI_SUCCESS) return code;
  if (source == MPI_PROC_NULL) {
    core::fill_status(status, {MPI_PROC_NULL, MPI_ANY_TAG, MPI_SUCCESS, false, 0}, false);
    return state->earlier_error().take();
  }
  return stream::enqueue_recv(*state, message_of(buf, count, datatype, source, tag), status,
                              "MPIX_Recv_enqueue");
}

int isend_enqueue(const void* buf, MPI_Count count, core::Datatype& datatype, int dest, int tag,
                  Communicator& comm, MPI_Request* request) noexcept {
  CommStream* state = nullptr;
  if (const int code = find_stream(comm, &state); code != MPI_SUCCESS) return code;
  EnqueuedRequest* made = nullptr;
  const int code = dest == MPI_PROC_NULL
                       ? stream::begin_with_null_rank(*state, &made)
                       : stream::enqueue_isend(*state, message_of(buf, count, datatype, dest, tag),
                                               &made, "MPIX_Isend_enqueue");
  if (code == MPI_SUCCESS) *request = handle_of(*made);
  return code;
}

int irecv_enqueue(void* buf, MPI_Count count, core::Datatype& datatype, int source, int tag,
                  Communicator& comm, MPI_Request* request) noexcept {
  CommStream* state = nullptr;
  if (const int code = find_stream(comm, &state); code != MPI_SUCCESS) return code;
  EnqueuedRequest* made = nullptr;
  const int code =
      source == MPI_PROC_NULL
          ? stream::begin_with_null_rank(*state, &made)
          : stream::enqueue_irecv(*state, message_of(buf, count, datatype, source, tag), &made,
                                  "MPIX_Irecv_enqueue");
  if (code == MPI_SUCCESS) *request = handle_of(*made);
  return code;
}

}  // namespace tern::api
