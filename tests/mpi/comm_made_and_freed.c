// SPDX-License-Identifier: Apache-2.0
// Ten thousand communicators created and freed, many alive together, or with pending messages.
// ranks: 1 2 4
// timeout: 120
#include "check.h"

static void ping(MPI_Comm comm, int value) {
  int me, members, in = -1;
  OK(MPI_Comm_rank(comm, &me));
  OK(MPI_Comm_size(comm, &members));
  OK(MPI_Sendrecv(&value, 1, MPI_INT, (me + 1) % members, 0, &in, 1, MPI_INT,
                  (me + members - 1) % members, 0, comm, MPI_STATUS_IGNORE));
  CHECK_EQ(in, value);
}

static void dup_and_free(int rounds) {
  for (int i = 0; i < rounds; ++i) {
    MPI_Comm comm;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    if (i % 16 == 0) ping(comm, i);
    OK(MPI_Comm_free(&comm));
  }
}

static void split_and_free(int rounds) {
  for (int i = 0; i < rounds; ++i) {
    MPI_Comm comm;
    OK(MPI_Comm_split(MPI_COMM_WORLD, i % 3 == 0 ? rank % 2 : 0, i % 2 ? -rank : rank, &comm));
    if (i % 16 == 0) ping(comm, i);
    OK(MPI_Comm_free(&comm));
  }
}

static void overlapping_groups(int rounds) {
  MPI_Group world, pairs[2];
  MPI_Comm comms[2];
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  if (size < 3) return;
  OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
  const int with_left[] = {left, rank}, with_right[] = {rank, right};
  OK(MPI_Group_incl(world, 2, with_left, &pairs[0]));
  OK(MPI_Group_incl(world, 2, with_right, &pairs[1]));
  for (int i = 0; i < rounds; ++i) {
    const int first = (i + rank) % 2;
    OK(MPI_Comm_create_group(MPI_COMM_WORLD, pairs[first], 5, &comms[first]));
    OK(MPI_Comm_create_group(MPI_COMM_WORLD, pairs[1 - first], 5, &comms[1 - first]));
    for (int k = 0; k < 2; ++k) {
      int in = -1;
      MPI_Request request;
      OK(MPI_Isend(&i, 1, MPI_INT, k == 0 ? 0 : 1, 1, comms[k], &request));
      OK(MPI_Recv(&in, 1, MPI_INT, k == 0 ? 1 : 0, 1, comms[1 - k], MPI_STATUS_IGNORE));
      OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
      CHECK_EQ(in, i);
    }
    OK(MPI_Comm_free(&comms[0]));
    OK(MPI_Comm_free(&comms[1]));
  }
  OK(MPI_Group_free(&pairs[0]));
  OK(MPI_Group_free(&pairs[1]));
  OK(MPI_Group_free(&world));
}

static void many_alive(int count) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  MPI_Comm* comms = malloc((size_t)count * sizeof *comms);
  MPI_Request* requests = malloc((size_t)count * sizeof *requests);
  int* out = malloc((size_t)count * sizeof *out);
  for (int i = 0; i < count; ++i) {
    OK(MPI_Comm_dup(i > 0 && i % 2 ? comms[i - 1] : MPI_COMM_WORLD, &comms[i]));
    out[i] = i;
    OK(MPI_Isend(&out[i], 1, MPI_INT, right, 0, comms[i], &requests[i]));
  }
  for (int i = count - 1; i >= 0; --i) {
    int in = -1;
    OK(MPI_Recv(&in, 1, MPI_INT, left, 0, comms[i], MPI_STATUS_IGNORE));
    CHECK_EQ(in, i);
  }
  OK(MPI_Waitall(count, requests, MPI_STATUSES_IGNORE));
  for (int i = 0; i < count; ++i) OK(MPI_Comm_free(&comms[i]));
  free(comms);
  free(requests);
  free(out);
}

static void freed_while_pending(int bytes) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  char *out = malloc((size_t)bytes), *in = malloc((size_t)bytes);
  MPI_Comm comm;
  MPI_Request requests[2];
  fill(out, (size_t)bytes, (unsigned)rank);
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  OK(MPI_Irecv(in, bytes, MPI_BYTE, left, 0, comm, &requests[0]));
  if (rank % 2) OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Isend(out, bytes, MPI_BYTE, right, 0, comm, &requests[1]));
  OK(MPI_Comm_free(&comm));
  if (rank % 2 == 0) OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  CHECK_FILLED(in, (size_t)bytes, (unsigned)left);
  free(out);
  free(in);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  dup_and_free(10000);
  split_and_free(size > 2 ? 2000 : 10000);
  overlapping_groups(500);
  many_alive(500);
  freed_while_pending(8);
  freed_while_pending(20000);
  freed_while_pending(1000000);
  return end();
}
