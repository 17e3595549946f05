// SPDX-License-Identifier: Apache-2.0
// MPIX_Stream_comm_create without a GPU: an enqueued operation is complete at return. A host stream
// and MPIX_STREAM_NULL behave alike.
// ranks: 1 2 3
#include "check.h"
#include "mpix.h"

static void ring(MPI_Comm comm) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  int sent = 100 + rank, received = -1;
  MPI_Request requests[2];
  MPI_Status statuses[2];
  OK(MPIX_Irecv_enqueue(&received, 1, MPI_INT, left, 4, comm, &requests[0]));
  OK(MPIX_Isend_enqueue(&sent, 1, MPI_INT, right, 4, comm, &requests[1]));
  OK(MPIX_Waitall_enqueue(2, requests, statuses));
  CHECK(requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL);
  CHECK_EQ(received, 100 + left);
  check_status(&statuses[0], left, 4, MPI_INT, 1);
  MPI_Request request;
  OK(MPI_Isend(&sent, 1, MPI_INT, right, 5, comm, &request));
  OK(MPIX_Recv_enqueue(&received, 1, MPI_INT, left, 5, comm, &statuses[0]));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK_EQ(received, 100 + left);
  OK(MPIX_Send_enqueue(&sent, 1, MPI_INT, MPI_PROC_NULL, 0, comm));
  OK(MPIX_Recv_enqueue(&received, 1, MPI_INT, MPI_PROC_NULL, 0, comm, &statuses[0]));
  CHECK_EQ(statuses[0].MPI_SOURCE, MPI_PROC_NULL);
}

static void collectives(MPI_Comm comm, int count) {
  int* const one = malloc(sizeof(int) * (size_t)(count + 1));
  int* const all = malloc(sizeof(int) * (size_t)(count * size + 1));
  for (int i = 0; i < count; ++i) one[i] = rank + i;
  OK(MPIX_Allreduce_enqueue(MPI_IN_PLACE, one, count, MPI_INT, MPI_SUM, comm));
  for (int i = 0; i < count; ++i) CHECK_EQ(one[i], size * i + size * (size - 1) / 2);
  for (int i = 0; i < count; ++i) one[i] = rank * 10 + i;
  OK(MPIX_Allgather_enqueue_c(one, count, MPI_INT, all, count, MPI_INT, comm));
  for (int r = 0; r < size; ++r)
    for (int i = 0; i < count; ++i) CHECK_EQ(all[r * count + i], r * 10 + i);
  OK(MPIX_Bcast_enqueue(one, count, MPI_INT, size - 1, comm));
  for (int i = 0; i < count; ++i) CHECK_EQ(one[i], (size - 1) * 10 + i);
  OK(MPIX_Barrier_enqueue(comm));
  OK(MPI_Barrier(comm));
  free(one);
  free(all);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  MPIX_Stream host = MPIX_STREAM_NULL, found = MPIX_STREAM_NULL;
  OK(MPIX_Stream_create(MPI_INFO_NULL, &host));
  CHECK(host != MPIX_STREAM_NULL);
  for (int way = 0; way < 2; ++way) {
    MPI_Comm comm, twin;
    OK(MPIX_Stream_comm_create(MPI_COMM_WORLD, way == 0 ? MPIX_STREAM_NULL : host, &comm));
    OK(MPIX_Comm_get_stream(comm, 0, &found));
    CHECK(found == (way == 0 ? MPIX_STREAM_NULL : host));
    int equal = MPI_UNEQUAL;
    OK(MPI_Comm_compare(comm, MPI_COMM_WORLD, &equal));
    CHECK_EQ(equal, MPI_CONGRUENT);
    ring(comm);
    for (int count = 0; count < 2000; count = count * 3 + 1) collectives(comm, count);
    OK(MPI_Comm_dup(comm, &twin));
    ring(twin);
    collectives(twin, 5);
    OK(MPI_Comm_free(&comm));
    collectives(twin, 7);
    OK(MPI_Comm_free(&twin));
  }
  OK(MPIX_Stream_free(&host));
  CHECK(host == MPIX_STREAM_NULL);

  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  int value = 0;
  FAILS(MPIX_Bcast_enqueue(&value, 1, MPI_INT, 0, MPI_COMM_WORLD), MPI_ERR_COMM);
  FAILS(MPIX_Comm_get_stream(MPI_COMM_WORLD, 0, &found), MPI_ERR_COMM);
  MPI_Info info;
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "type", "cudaStream_t"));
  OK(MPIX_Info_set_hex(info, "value", &value, (int)sizeof value));
  char text[16];
  int length = sizeof text, flag = 0;
  OK(MPI_Info_get_string(info, "value", &length, text, &flag));
  CHECK(flag && strcmp(text, "00000000") == 0);
  void* no_driver = NULL;
  OK(MPIX_Info_set_hex(info, "value", &no_driver, (int)sizeof no_driver));
  FAILS(MPIX_Stream_create(info, &found), MPIX_ERR_STREAM);
  OK(MPI_Info_free(&info));
  return end();
}
