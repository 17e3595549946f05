// SPDX-License-Identifier: Apache-2.0
// Invalid streams and arguments fail at once, with the reason. Later failures appear in the
// communicator's next call. The partners of a refusing rank learn of the refusal.
// ranks: 1 2 3
// configurations: 1 2-apart jitter
#include <string>

#include "stream.hpp"

using namespace tern::test;

namespace {

MPI_Info info_of(const char* type, const void* value, int bytes) {
  MPI_Info info = MPI_INFO_NULL;
  OK(MPI_Info_create(&info));
  if (type != nullptr) OK(MPI_Info_set(info, "type", type));
  if (value != nullptr) OK(MPIX_Info_set_hex(info, "value", value, bytes));
  return info;
}

void wrong_streams() {
  MPIX_Stream made = MPIX_STREAM_NULL;
  CUstream queue = nullptr;
  CU(cuStreamCreate(&queue, CU_STREAM_NON_BLOCKING));
  const auto refuse = [&](MPI_Info info, int error, const char* words) {
    SAYS(MPIX_Stream_create(info, &made), error, words);
    OK(MPI_Info_free(&info));
  };
  refuse(info_of("cudaStream_t", nullptr, 0), MPI_ERR_INFO_NOKEY, "MPIX_Info_set_hex");
  refuse(info_of("cudaStream_t", &queue, 4), MPI_ERR_INFO_VALUE, "not a cudaStream_t of 8 bytes");
  refuse(info_of("hipStream_t", &queue, sizeof queue), MPI_ERR_INFO_VALUE, "hipStream_t");
  const auto per_thread = reinterpret_cast<CUstream>(2);
  refuse(info_of("cudaStream_t", &per_thread, sizeof per_thread), MPIX_ERR_STREAM,
         "cudaStreamPerThread");
  const CUstream stale = queue;
  CU(cuStreamDestroy_v2(queue));
  refuse(info_of("cudaStream_t", &stale, sizeof stale), MPIX_ERR_STREAM, "cuStreamGetCtx");
  SAYS(MPIX_Stream_create(MPI_INFO_NULL, nullptr), MPI_ERR_ARG, "stream");
  const auto garbage = reinterpret_cast<MPIX_Stream>(0x1234567);
  MPI_Comm none = MPI_COMM_NULL;
  if (size == 1)
    SAYS(MPIX_Stream_comm_create(MPI_COMM_SELF, garbage, &none), MPIX_ERR_STREAM, "stream");
  SAYS(MPIX_Stream_free(&made), MPIX_ERR_STREAM, "MPIX_STREAM_NULL");
}

void wrong_arguments(const OnStream& on) {
  Vector<int> data(4);
  int* const at = data.on_device();
  SAYS(MPIX_Allreduce_enqueue(MPI_IN_PLACE, at, 4, MPI_INT, MPI_SUM, MPI_COMM_SELF), MPI_ERR_COMM,
       "MPIX_Stream_comm_create");
  SAYS(MPIX_Send_enqueue(at, 4, MPI_INT, size, 0, on.comm), MPI_ERR_RANK, "dest");
  SAYS(MPIX_Recv_enqueue(at, -1, MPI_INT, 0, 0, on.comm, MPI_STATUS_IGNORE), MPI_ERR_COUNT,
       "count is -1");
  SAYS(MPIX_Send_enqueue(at, 4, MPI_INT, 0, -3, on.comm), MPI_ERR_TAG, "tag");
  MPIX_Stream found = MPIX_STREAM_NULL;
  SAYS(MPIX_Comm_get_stream(on.comm, 1, &found), MPI_ERR_ARG, "idx is 1");
  OK(MPIX_Comm_get_stream(on.comm, 0, &found));
  CHECK(found == on.stream);
  MPI_Request ordinary = MPI_REQUEST_NULL;
  int none = 0;
  OK(MPI_Irecv(&none, 1, MPI_INT, rank, 9, on.comm, &ordinary));
  SAYS(MPIX_Wait_enqueue(&ordinary, MPI_STATUS_IGNORE), MPI_ERR_REQUEST, "MPIX_Isend_enqueue");
  OK(MPI_Send(&none, 1, MPI_INT, rank, 9, on.comm));
  OK(MPI_Wait(&ordinary, MPI_STATUS_IGNORE));
  MPI_Request enqueued = MPI_REQUEST_NULL;
  OK(MPIX_Isend_enqueue(at, 4, MPI_INT, MPI_PROC_NULL, 0, on.comm, &enqueued));
  OK(MPIX_Wait_enqueue(&enqueued, MPI_STATUS_IGNORE));
  on.sync();
}

void late_error(const OnStream& on) {
  Vector<int> data(4);
  MPI_Request request = MPI_REQUEST_NULL;
  OK(MPIX_Isend_enqueue(data.on_device(), 4, MPI_INT, rank, 5, on.comm, &request));
  OK(MPIX_Recv_enqueue(data.on_device(), 2, MPI_INT, rank, 5, on.comm, MPI_STATUS_IGNORE));
  OK(MPIX_Wait_enqueue(&request, MPI_STATUS_IGNORE));
  on.sync();
  SAYS(MPIX_Barrier_enqueue(on.comm), MPI_ERR_TRUNCATE, "MPIX_Recv_enqueue, enqueued earlier");
  OK(MPIX_Barrier_enqueue(on.comm));
  on.sync();
}

void refused_by_one() {
  const OnStream on;
  OK(MPI_Comm_set_errhandler(on.comm, MPI_ERRORS_RETURN));
  Vector<int> data(4);
  const bool wrong = rank == size - 1;
  if (wrong) OK(MPI_Barrier(MPI_COMM_WORLD));  // refuses after the other calls
  const int code = MPIX_Allreduce_enqueue(MPI_IN_PLACE, data.on_device(), wrong ? -1 : 4, MPI_INT,
                                          MPI_SUM, on.comm);
  CHECK_EQ(class_of(code), wrong ? MPI_ERR_COUNT : MPI_SUCCESS);
  if (!wrong) OK(MPI_Barrier(MPI_COMM_WORLD));
  on.sync();
  if (!wrong)
    SAYS(MPIX_Barrier_enqueue(on.comm), MPI_ERR_OTHER, "rank " + std::to_string(size - 1));
}

}  // namespace

int main(int argc, char** argv) {
  begin(&argc, &argv);
  start_cuda();
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  wrong_streams();
  {
    const OnStream on;
    OK(MPI_Comm_set_errhandler(on.comm, MPI_ERRORS_RETURN));
    wrong_arguments(on);
    late_error(on);
  }
  if (size > 1) refused_by_one();
  return end();
}
