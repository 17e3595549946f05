// SPDX-License-Identifier: Apache-2.0
// MPI functions of the chapter "stream": requests started and awaited by a stream. See:
// src/stream/README.md.
#include <utility>
#include <vector>

#include "api/attempt.hpp"
#include "api/bodies.hpp"
#include "api/process.hpp"
#include "api/pt2pt/partitioned.hpp"
#include "api/pt2pt/requests.hpp"
#include "base/error.hpp"
#include "coll/coll.hpp"
#include "pml/pml.hpp"
#include "stream/collective.hpp"
#include "stream/message.hpp"

namespace tern::api {
namespace {

using stream::CommStream;
using stream::EnqueuedRequest;

int find_stream_of(core::Communicator& comm, CommStream** found) noexcept {
  *found = stream::of(comm);
  if (comm.freed)
    return fail(MPI_ERR_COMM,
                "the communicator of the request was freed, so the request has no stream");
  if (*found != nullptr) return MPI_SUCCESS;
  return fail(MPI_ERR_REQUEST,
              "the request was made for %s, which has no stream; create a communicator with "
              "MPIX_Stream_comm_create",
              comm.name.or_words("a communicator").c_str());
}

int start_message(core::Request& request, const pml::Pml::Repeated& what) noexcept {
  CommStream* state = nullptr;
  const int code = find_stream_of(*what.envelope.communicator, &state);
  if (code != MPI_SUCCESS) return code;
  return attempt([&] {
    const auto earlier = state->started().find(request.handle());
    if (earlier != nullptr && !stream::is_left_behind(*state, *earlier))
      return fail(MPI_ERR_REQUEST,
                  "the request is already started in the stream; call MPIX_Wait_enqueue before "
                  "starting again");
    const stream::Message message{what.buffer.address, what.buffer.count, what.buffer.type,
                                  what.envelope.rank,  what.envelope.tag, what.mode};
    std::shared_ptr<stream::Pending> pending;
    const int failed =
        stream::enqueue_start(*state, message, what.sends, &pending, "MPIX_Start_enqueue");
    if (failed == MPI_SUCCESS) state->started().add(request.handle(), std::move(pending));
    return failed;
  });
}

int start_collective(const coll::Operation& operation) noexcept {
  CommStream* state = nullptr;
  const int code = find_stream_of(*operation.communicator, &state);
  if (code != MPI_SUCCESS) return code;
  return stream::enqueue(*state, operation, "MPIX_Start_enqueue");
}

/// The awaited operation; null if the request is complete and *status is written.
struct Found {
  CommStream* stream = nullptr;
  std::shared_ptr<stream::Pending> pending;
  EnqueuedRequest* enqueued = nullptr;
};
bool find_awaited(MPI_Request handle, MPI_Status* status, Found* found) {
  core::Request* const request = find_request(handle);
  if (request == nullptr) return false;
  found->enqueued = dynamic_cast<EnqueuedRequest*>(request);
  if (found->enqueued != nullptr) {
    found->stream = &found->enqueued->stream;
    found->pending = found->enqueued->pending;
    return true;
  }
  if (!request->persistent() || request->active()) return false;
  core::fill_empty_status(status);
  pml::Pml::Repeated what;
  if (!the_process->channel(0).pml->repeats(*request, &what)) return true;
  found->stream = stream::of(*what.envelope.communicator);
  if (found->stream != nullptr) found->pending = found->stream->started().find(request->handle());
  return true;
}

int wait_for(int count, MPI_Request* handles, MPI_Status* statuses, bool of_several,
             const char* name) {
  std::vector<Found> found(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) {
    if (handles[i] == MPI_REQUEST_NULL)
      core::fill_empty_status(at(statuses, i));
    else if (!find_awaited(handles[i], at(statuses, i), &found[static_cast<size_t>(i)]))
      return fail(MPI_ERR_REQUEST,
                  "%s is %p, which is not an unfinished request of MPIX_Isend_enqueue, "
                  "MPIX_Irecv_enqueue or MPIX_Start_enqueue",
                  of_several ? strf("array_of_requests[%d]", i).c_str() : "request",
                  static_cast<void*>(handles[i]));
  }
  for (size_t first = 0; first < found.size(); ++first) {
    if (found[first].pending == nullptr) continue;
    CommStream& state = *found[first].stream;
    std::vector<stream::Awaited> all;
    std::vector<size_t> which;
    for (size_t i = first; i < found.size(); ++i) {
      if (found[i].pending == nullptr || found[i].stream != &state) continue;
      all.push_back({found[i].pending, at(statuses, static_cast<int>(i))});
      which.push_back(i);
    }
    const int code = stream::enqueue_wait(state, std::move(all), name);
    if (code != MPI_SUCCESS) return code;
    for (const size_t i : which) {
      found[i].pending = nullptr;
      if (EnqueuedRequest* const ended = found[i].enqueued) {
        ended->release();
        handles[i] = MPI_REQUEST_NULL;
      } else {
        state.started().remove(reinterpret_cast<uintptr_t>(handles[i]));
      }
    }
  }
  return MPI_SUCCESS;
}

class ReadyCall final : public stream::Call {
 public:
  ReadyCall(PartitionedSend& send, int partition)
      : Call("MPIX_Pready_enqueue"), send_(&send), partition_(partition) {}
  int begin(int, std::byte*, std::vector<core::Request*>*) override {
    const core::ChannelLock lock(send_->channel->progress);
    return send_->ready_in_stream(partition_);
  }

 private:
  const core::Ref<PartitionedSend> send_;
  const int partition_;
};

int on(core::Communicator& comm, int code) noexcept {
  if (TERN_LIKELY(code == MPI_SUCCESS)) return code;
  return fail_on(&comm, code, "%s", take_last_error().text.c_str());
}

}  // namespace

int start_enqueue(MPI_Request* handle) noexcept {
  core::Request& request = *find_request(*handle);
  if (!request.persistent())
    return fail(MPI_ERR_REQUEST,
                "the request is not persistent; only requests of MPI_*_init can be started");
  if (request.active())
    return fail(MPI_ERR_REQUEST,
                "the request was started by MPI_Start; complete the operation first");
  pml::Pml::Repeated what;
  if (const coll::Operation* const operation = coll::Coll::operation_of(request))
    return on(*operation->communicator, start_collective(*operation));
  if (the_process->channel(0).pml->repeats(request, &what))
    return on(*what.envelope.communicator, start_message(request, what));
  if (dynamic_cast<PartitionedRequest*>(&request) != nullptr)
    return fail_on(request.communicator, MPI_ERR_REQUEST,
                   "the request is partitioned; start with MPI_Start, and mark partitions with "
                   "MPIX_Pready_enqueue");
  if (request.outcome.source == MPI_PROC_NULL) return MPI_SUCCESS;
  return fail(MPI_ERR_REQUEST, "a stream cannot start this kind of request");
}

int pready_enqueue(int partition, MPI_Request handle) noexcept {
  auto* const send = dynamic_cast<PartitionedSend*>(find_request(handle));
  if (send == nullptr) return fail(MPI_ERR_REQUEST, "the request is not from MPI_Psend_init");
  if (partition < 0 || partition >= send->partitions())
    return fail_on(send->communicator, MPI_ERR_ARG,
                   "partition is %d, but the operation has %d partitions, counted from 0",
                   partition, send->partitions());
  CommStream* state = nullptr;
  int code = find_stream_of(*send->communicator, &state);
  if (code == MPI_SUCCESS)
    code = attempt([&] { return state->enqueue(std::make_shared<ReadyCall>(*send, partition)); });
  return on(*send->communicator, code);
}

int wait_enqueue(MPI_Request* request, MPI_Status* status) noexcept {
  return attempt([&] { return wait_for(1, request, status, false, "MPIX_Wait_enqueue"); });
}

int waitall_enqueue(int count, MPI_Request* requests, MPI_Status* statuses) noexcept {
  return attempt([&] { return wait_for(count, requests, statuses, true, "MPIX_Waitall_enqueue"); });
}

}  // namespace tern::api
