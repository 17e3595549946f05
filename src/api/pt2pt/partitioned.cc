// SPDX-License-Identifier: Apache-2.0
// MPI functions of the chapter "partitioned communication" (MPI-5.0 chapter 4).
#include "api/pt2pt/partitioned.hpp"

#include "api/attempt.hpp"
#include "api/bodies.hpp"
#include "api/process.hpp"
#include "api/pt2pt/requests.hpp"

namespace tern::api {
namespace {

template <class Made>
int make(void* buf, int partitions, MPI_Count count, core::Datatype& type, int rank, int tag,
         core::Communicator& comm, MPI_Request* request) noexcept {
  if (partitions < 0)
    return fail(MPI_ERR_ARG, "partitions is %d, but must not be negative", partitions);
  if (count < 0)
    return fail(MPI_ERR_COUNT, "count is %lld; counts are 0 or more",
                static_cast<long long>(count));
  MPI_Count bytes = 0;
  if (__builtin_mul_overflow(count, type.size(), &bytes) ||
      __builtin_mul_overflow(bytes, MPI_Count{partitions}, &bytes))
    return fail(MPI_ERR_COUNT, "%d partitions of %lld elements are more than 2^63 bytes",
                partitions, static_cast<long long>(count));
  return attempt([&] {
    const core::ChannelLock lock(comm.channel().progress);
    const pml::Buffer partition{buf, count, &type};
    auto made = core::Ref<Made>::adopt(
        new Made(partition, partitions, {&comm, rank, tag, pml::Plane::kPartitioned}));
    const int code = made->introduce();
    if (code != MPI_SUCCESS) return code;
    *request = reinterpret_cast<MPI_Request>(made.leak()->handle());
    return MPI_SUCCESS;
  });
}

/// Returns null with the error in *code for another kind of request.
template <class Kind>
Kind* find(MPI_Request handle, const char* maker, int* code) noexcept {
  core::Request* request = find_request(handle);
  auto* found = dynamic_cast<Kind*>(request);
  if (found == nullptr)
    *code = fail_on(request == nullptr ? nullptr : request->communicator, MPI_ERR_REQUEST,
                    "the request is not from %s", maker);
  return found;
}

int check_partition(const PartitionedRequest& request, const char* name, int value) noexcept {
  if (value >= 0 && value < request.partitions()) return MPI_SUCCESS;
  return fail_on(request.communicator, MPI_ERR_ARG,
                 "%s is %d, but the operation has %d partitions, counted from 0", name, value,
                 request.partitions());
}

PartitionedSend* find_active_send(MPI_Request handle, int* code) noexcept {
  auto* send = find<PartitionedSend>(handle, "MPI_Psend_init", code);
  if (send == nullptr || send->active()) return send;
  *code = fail_on(send->communicator, MPI_ERR_REQUEST,
                  "the request is not active; call MPI_Start before marking partitions ready");
  return nullptr;
}

}  // namespace

int psend_init(const void* buf, int partitions, MPI_Count count, core::Datatype& datatype, int dest,
               int tag, core::Communicator& comm, core::Info*, MPI_Request* request) noexcept {
  return make<PartitionedSend>(const_cast<void*>(buf), partitions, count, datatype, dest, tag, comm,
                               request);
}

int precv_init(void* buf, int partitions, MPI_Count count, core::Datatype& datatype, int source,
               int tag, core::Communicator& comm, core::Info*, MPI_Request* request) noexcept {
  if (source == MPI_ANY_SOURCE)
    return fail(MPI_ERR_RANK,
                "source is MPI_ANY_SOURCE, but partitioned receives need a definite source");
  return make<PartitionedReceive>(buf, partitions, count, datatype, source, tag, comm, request);
}

int pready(int partition, MPI_Request request) noexcept {
  return pready_range(partition, partition, request);
}

int pready_range(int partition_low, int partition_high, MPI_Request request) noexcept {
  int code = MPI_SUCCESS;
  PartitionedSend* send = find_active_send(request, &code);
  if (send == nullptr) return code;
  code = check_partition(*send, "partition_low", partition_low);
  if (code == MPI_SUCCESS) code = check_partition(*send, "partition_high", partition_high);
  const core::ChannelLock lock(send->channel->progress);
  for (int i = partition_low; i <= partition_high && code == MPI_SUCCESS; ++i)
    code = send->ready(i);
  return code;
}

int pready_list(int length, const int* array_of_partitions, MPI_Request request) noexcept {
  int code = MPI_SUCCESS;
  PartitionedSend* send = find_active_send(request, &code);
  if (send == nullptr) return code;
  const core::ChannelLock lock(send->channel->progress);
  for (int i = 0; i < length && code == MPI_SUCCESS; ++i) {
    code = check_partition(*send, "an element of array_of_partitions", array_of_partitions[i]);
    if (code == MPI_SUCCESS) code = send->ready(array_of_partitions[i]);
  }
  return code;
}

int parrived(MPI_Request request, int partition, int* flag) noexcept {
  int code = MPI_SUCCESS;
  auto* receive = find<PartitionedReceive>(request, "MPI_Precv_init", &code);
  if (receive == nullptr) return code;
  code = check_partition(*receive, "partition", partition);
  if (code != MPI_SUCCESS) return code;
  core::Progress& progress = receive->channel->progress;
  const core::ChannelLock lock(progress);
  bool here = !receive->active() || receive->arrived(partition);
  if (!here) {
    progress.poll_for_caller();
    here = receive->arrived(partition);
  }
  *flag = here ? 1 : 0;
  return MPI_SUCCESS;
}

}  // namespace tern::api
