// SPDX-License-Identifier: Apache-2.0
// Partitioned communication: partitions travel when ready, and both ends partition differently.
// ranks: 1 2 3
#include "check.h"

static int right, left;

static void ready_in_some_order(MPI_Request request, int partitions, unsigned round) {
  if (round % 3 == 0) {
    for (int i = partitions; i-- > 0;) OK(MPI_Pready(i, request));
  } else if (round % 3 == 1) {
    OK(MPI_Pready_range(partitions / 2, partitions - 1, request));
    if (partitions > 1) OK(MPI_Pready_range(0, partitions / 2 - 1, request));
  } else {
    int* list = malloc((size_t)partitions * sizeof *list);
    for (int i = 0; i < partitions; ++i) list[i] = i % 2 == 0 ? i / 2 : partitions - 1 - i / 2;
    OK(MPI_Pready_list(partitions, list, request));
    free(list);
  }
}

static void ring(int out_parts, int in_parts, int bytes) {
  char *out = malloc((size_t)bytes + 1), *in = malloc((size_t)bytes + 1);
  MPI_Request requests[2];
  OK(MPI_Psend_init(out, out_parts, bytes / out_parts, MPI_BYTE, right, 5, MPI_COMM_WORLD,
                    MPI_INFO_NULL, &requests[0]));
  OK(MPI_Precv_init(in, in_parts, bytes / in_parts, MPI_BYTE, left, 5, MPI_COMM_WORLD,
                    MPI_INFO_NULL, &requests[1]));
  for (unsigned round = 0; round < 6; ++round) {
    MPI_Status statuses[2];
    fill(out, (size_t)bytes, (unsigned)rank + 10 * round);
    memset(in, 0x5a, (size_t)bytes);
    OK(MPI_Startall(2, requests));
    ready_in_some_order(requests[0], out_parts, round);
    for (int i = in_parts; round % 2 == 1 && i-- > 0;) {
      const size_t part = (size_t)(bytes / in_parts), at = part * (size_t)i;
      for (int flag = 0; flag == 0;) OK(MPI_Parrived(requests[1], i, &flag));
      for (size_t k = 0; k < part; ++k)
        CHECK_EQ((unsigned char)in[at + k], pattern(at + k, (unsigned)left + 10 * round));
    }
    OK(MPI_Waitall(2, requests, statuses));
    CHECK_FILLED(in, (size_t)bytes, (unsigned)left + 10 * round);
    check_status(&statuses[1], left, 5, MPI_BYTE, bytes);
  }
  OK(MPI_Request_free(&requests[0]));
  OK(MPI_Request_free(&requests[1]));
  CHECK(requests[1] == MPI_REQUEST_NULL);
  free(out);
  free(in);
}

static void not_a_wait_for_the_last(int bytes, int in_parts) {
  enum { kParts = 4 };
  if (size < 2 || rank > 1) return;
  char* data = calloc(kParts, (size_t)bytes);
  MPI_Request request;
  int flag = 0;
  if (rank == 0) {
    OK(MPI_Psend_init(data, kParts, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD, MPI_INFO_NULL,
                      &request));
    OK(MPI_Start(&request));
    for (int i = 0; i < kParts; ++i) {
      memset(data + i * bytes, 'a' + i, (size_t)bytes);
      OK(MPI_Pready(i, request));
      OK(MPI_Recv(NULL, 0, MPI_INT, 1, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
  } else {
    OK(MPI_Precv_init(data, in_parts, kParts * bytes / in_parts, MPI_CHAR, 0, 0, MPI_COMM_WORLD,
                      MPI_INFO_NULL, &request));
    OK(MPI_Start(&request));
    for (int i = 0; i < kParts; ++i) {
      const int part = (i + 1) * in_parts / kParts - 1;
      OK(MPI_Parrived(request, in_parts - 1, &flag));
      CHECK(flag == 0 || i == kParts - 1);
      for (flag = 0; part >= 0 && flag == 0;) OK(MPI_Parrived(request, part, &flag));
      if (part >= 0) CHECK(untouched(data, 0, 1, 'a'));
      OK(MPI_Send(NULL, 0, MPI_INT, 0, i, MPI_COMM_WORLD));
    }
  }
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  for (int i = 0; i < kParts; ++i)
    CHECK(untouched(data, (size_t)(i * bytes), (size_t)((i + 1) * bytes), 'a' + i));
  OK(MPI_Request_free(&request));
  free(data);
}

// Triples of every second int end partitions inside elements.
static void derived_types(int out_parts, int in_parts) {
  enum { kInts = 6000 };
  MPI_Comm comm;
  MPI_Datatype triple;
  MPI_Request requests[2];
  int *out = malloc(kInts * sizeof *out), *in = malloc(2 * kInts * sizeof *in);
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  OK(MPI_Type_vector(3, 1, 2, MPI_INT, &triple));
  MPI_Datatype spread;
  OK(MPI_Type_create_resized(triple, 0, 6 * (MPI_Aint)sizeof(int), &spread));
  OK(MPI_Type_commit(&spread));
  OK(MPI_Type_free(&triple));
  OK(MPI_Psend_init(out, out_parts, kInts / out_parts, MPI_INT, right, 0, comm, MPI_INFO_NULL,
                    &requests[0]));
  OK(MPI_Precv_init(in, in_parts, kInts / 3 / in_parts, spread, left, 0, comm, MPI_INFO_NULL,
                    &requests[1]));
  OK(MPI_Type_free(&spread));
  OK(MPI_Comm_free(&comm));
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < kInts; ++i) out[i] = i * (rank + 1) + round;
    memset(in, 0xff, 2 * kInts * sizeof *in);
    OK(MPI_Startall(2, requests));
    OK(MPI_Pready_range(0, out_parts - 1, requests[0]));
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < kInts; ++i) {
      CHECK_EQ(in[2 * i], i * (left + 1) + round);
      CHECK_EQ(in[2 * i + 1], -1);
    }
  }
  OK(MPI_Request_free(&requests[0]));
  OK(MPI_Request_free(&requests[1]));
  free(out);
  free(in);
}

// Requests of a tag match in order of creation. A request freed without use keeps its place in the
// order.
static void matched_in_the_order_of_making(void) {
  int out[3] = {1, 2, 3}, in[3] = {0, 0, 0};
  MPI_Request sends[3], receives[3];
  for (int i = 0; i < 3; ++i) {
    OK(MPI_Psend_init(&out[i], 1, 1, MPI_INT, right, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &sends[i]));
    OK(MPI_Precv_init(&in[i], 1, 1, MPI_INT, left, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &receives[i]));
  }
  OK(MPI_Request_free(&sends[0]));
  OK(MPI_Request_free(&receives[0]));
  OK(MPI_Start(&receives[1]));
  OK(MPI_Start(&receives[2]));
  OK(MPI_Start(&sends[2]));
  OK(MPI_Pready(0, sends[2]));
  OK(MPI_Wait(&receives[2], MPI_STATUS_IGNORE));
  CHECK_EQ(in[2], 3);
  CHECK_EQ(in[1], 0);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Start(&sends[1]));
  OK(MPI_Pready(0, sends[1]));
  OK(MPI_Waitall(2, &sends[1], MPI_STATUSES_IGNORE));
  OK(MPI_Wait(&receives[1], MPI_STATUS_IGNORE));
  CHECK_EQ(in[1], 2);
  CHECK_EQ(in[0], 0);
  for (int i = 1; i < 3; ++i) {
    OK(MPI_Request_free(&sends[i]));
    OK(MPI_Request_free(&receives[i]));
  }
}

static void no_partitions(void) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  for (int empty = 0; empty < 3; ++empty) {
    MPI_Request requests[2];
    MPI_Status statuses[2];
    int count = -1;
    const int out = empty == 0 ? 2 : 0, in = empty == 1 ? 2 : 0;
    OK(MPI_Psend_init(NULL, out, 0, MPI_INT, right, 3, MPI_COMM_WORLD, MPI_INFO_NULL,
                      &requests[0]));
    OK(MPI_Precv_init(NULL, in, 0, MPI_INT, left, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]));
    for (int round = 0; round < 3; ++round) {
      OK(MPI_Startall(2, requests));
      if (out > 0) OK(MPI_Pready_range(0, out - 1, requests[0]));
      OK(MPI_Waitall(2, requests, statuses));
      OK(MPI_Get_count(&statuses[1], MPI_INT, &count));
      CHECK(count == 0 && statuses[1].MPI_SOURCE == left);
    }
    OK(MPI_Request_free(&requests[0]));
    OK(MPI_Request_free(&requests[1]));
  }
}

static void to_proc_null(void) {
  char data[64];
  MPI_Request requests[2];
  MPI_Status statuses[2];
  int flag = 0;
  OK(MPI_Psend_init(data, 4, 16, MPI_CHAR, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_INFO_NULL,
                    &requests[0]));
  OK(MPI_Precv_init(data, 4, 16, MPI_CHAR, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_INFO_NULL,
                    &requests[1]));
  for (int round = 0; round < 2; ++round) {
    OK(MPI_Startall(2, requests));
    OK(MPI_Pready_range(0, 3, requests[0]));
    while (flag == 0) OK(MPI_Parrived(requests[1], 2, &flag));
    OK(MPI_Waitall(2, requests, statuses));
    CHECK_EQ(statuses[1].MPI_SOURCE, MPI_PROC_NULL);
  }
  OK(MPI_Request_free(&requests[0]));
  OK(MPI_Request_free(&requests[1]));
}

static void wrong_calls(void) {
  char data[64];
  int flag, wrong[] = {1, 4};
  MPI_Request send, receive, plain;
  FAILS(MPI_Precv_init(data, 4, 16, MPI_CHAR, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_INFO_NULL,
                       &receive),
        MPI_ERR_RANK);
  FAILS(MPI_Precv_init(data, 4, 16, MPI_CHAR, 0, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_INFO_NULL,
                       &receive),
        MPI_ERR_TAG);
  FAILS(MPI_Psend_init(data, -1, 16, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &send),
        MPI_ERR_ARG);
  FAILS(MPI_Psend_init(data, 4, -1, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &send),
        MPI_ERR_COUNT);
  OK(MPI_Psend_init(data, 4, 16, MPI_CHAR, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &send));
  OK(MPI_Precv_init(data, 4, 16, MPI_CHAR, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_INFO_NULL,
                    &receive));
  FAILS(MPI_Pready(0, send), MPI_ERR_REQUEST);
  OK(MPI_Start(&send));
  FAILS(MPI_Start(&send), MPI_ERR_REQUEST);
  FAILS(MPI_Cancel(&send), MPI_ERR_REQUEST);
  FAILS(MPI_Pready(4, send), MPI_ERR_ARG);
  FAILS(MPI_Pready(-1, send), MPI_ERR_ARG);
  FAILS(MPI_Pready_range(0, 4, send), MPI_ERR_ARG);
  OK(MPI_Pready(1, send));
  FAILS(MPI_Pready(1, send), MPI_ERR_ARG);
  FAILS(MPI_Pready_list(2, wrong, send), MPI_ERR_ARG);
  FAILS(MPI_Pready(0, receive), MPI_ERR_REQUEST);
  FAILS(MPI_Parrived(send, 0, &flag), MPI_ERR_REQUEST);
  FAILS(MPI_Parrived(receive, 4, &flag), MPI_ERR_ARG);
  OK(MPI_Send_init(data, 1, MPI_CHAR, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &plain));
  FAILS(MPI_Pready(0, plain), MPI_ERR_REQUEST);
  OK(MPI_Request_free(&plain));
  OK(MPI_Pready(0, send));
  OK(MPI_Pready_range(2, 3, send));
  OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
  OK(MPI_Request_free(&send));
  OK(MPI_Request_free(&receive));
}

static void too_much_for_the_receiver(void) {
  char out[4096], in[2048];
  MPI_Request send, receive;
  OK(MPI_Psend_init(out, 2, 2048, MPI_CHAR, right, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &send));
  OK(MPI_Precv_init(in, 1, 2048, MPI_CHAR, left, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &receive));
  OK(MPI_Start(&send));
  OK(MPI_Start(&receive));
  OK(MPI_Pready_range(0, 1, send));
  FAILS(MPI_Wait(&receive, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
  OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
  OK(MPI_Request_free(&send));
  OK(MPI_Request_free(&receive));
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  right = (rank + 1) % size;
  left = (rank + size - 1) % size;
  const int parts[] = {1, 2, 3, 4, 12, 96};
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 6; ++j) {
      ring(parts[i], parts[j], 0);
      ring(parts[i], parts[j], 96);
      ring(parts[i], parts[j], 96 * 1001);
    }
  ring(8, 4, 8 << 20);
  ring(10000, 16, 160000);
  not_a_wait_for_the_last(2048, 4);
  not_a_wait_for_the_last(300000, 2);
  not_a_wait_for_the_last(4096, 1);
  not_a_wait_for_the_last(4096, 8);
  derived_types(4, 5);
  derived_types(5, 4);
  derived_types(12, 1);
  derived_types(12, 5);
  derived_types(1, 2000);
  matched_in_the_order_of_making();
  to_proc_null();
  no_partitions();
  wrong_calls();
  too_much_for_the_receiver();
  return end();
}
