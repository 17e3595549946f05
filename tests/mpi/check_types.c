// SPDX-License-Identifier: Apache-2.0
// TERN_CHECK=types: small and large messages, expected and unexpected. No matching pair of types is
// refused.
// ranks: 2 3
// env: TERN_CHECK=types
#include "check.h"

enum { kSmall = 10, kLarge = 200000 };

static MPI_Comm comm;
static double space[2 * kLarge];

static void meet(int send_count, MPI_Datatype send_type, int recv_count, MPI_Datatype recv_type,
                 int expected) {
  for (int late = 0; late < 2; ++late) {
    MPI_Request request = MPI_REQUEST_NULL;
    if (rank == 1 && !late) OK(MPI_Irecv(space, recv_count, recv_type, 0, 4, comm, &request));
    OK(MPI_Barrier(comm));
    if (rank == 0) {
      OK(MPI_Isend(space, send_count, send_type, 1, 4, comm, &request));
      OK(MPI_Barrier(comm));
      OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
      continue;
    }
    OK(MPI_Barrier(comm));
    if (rank != 1) continue;
    if (late) OK(MPI_Irecv(space, recv_count, recv_type, MPI_ANY_SOURCE, 4, comm, &request));
    CHECK_EQ(class_of(MPI_Wait(&request, MPI_STATUS_IGNORE)), expected);
  }
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  comm = MPI_COMM_WORLD;
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Datatype column, record;
  const int lengths[2] = {1, 1};
  const MPI_Aint places[2] = {0, 8};
  const MPI_Datatype types[2] = {MPI_INT, MPI_DOUBLE};
  OK(MPI_Type_vector(kSmall, 1, 3, MPI_FLOAT, &column));
  OK(MPI_Type_create_struct(2, lengths, places, types, &record));
  OK(MPI_Type_commit(&column));
  OK(MPI_Type_commit(&record));
  const int counts[2] = {kSmall, kLarge};
  for (int i = 0; i < 2; ++i) {
    const int n = counts[i];
    meet(n, MPI_INT, n, MPI_INT, MPI_SUCCESS);
    meet(n, MPI_INT, n + 7, MPI_INT, MPI_SUCCESS);
    meet(n, MPI_INT, n, MPI_FLOAT, MPI_ERR_TYPE);
    meet(n, MPI_INT, n, MPI_UNSIGNED, MPI_ERR_TYPE);
    meet(n, MPI_INT, 4 * n, MPI_BYTE, MPI_ERR_TYPE);
    meet(2 * n, MPI_INT, n, MPI_DOUBLE, MPI_ERR_TYPE);
    meet(4 * n, MPI_PACKED, n, MPI_INT, MPI_SUCCESS);
    meet(n, MPI_INT, 4 * n, MPI_PACKED, MPI_SUCCESS);
    meet(n / kSmall, column, n, MPI_FLOAT, MPI_SUCCESS);
    meet(n, MPI_FLOAT, n / kSmall, column, MPI_SUCCESS);
    meet(n, MPI_INT, n / kSmall, column, MPI_ERR_TYPE);
    meet(n / 4, record, n / 4, record, MPI_SUCCESS);
  }
  meet(kLarge / 2, MPI_INT, kLarge / 4, MPI_INT, MPI_ERR_TRUNCATE);
  meet(0, MPI_INT, 5, MPI_FLOAT, MPI_SUCCESS);
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  OK(MPI_Sendrecv_replace(space, kSmall, MPI_INT, right, 1, left, 1, comm, MPI_STATUS_IGNORE));
  OK(MPI_Allreduce(MPI_IN_PLACE, space, kLarge, MPI_DOUBLE, MPI_SUM, comm));
  if (rank == 0) OK(MPI_Ssend(space, 3, MPI_INT, 1, 2, comm));
  if (rank == 1) FAILS(MPI_Recv(space, 3, MPI_FLOAT, 0, 2, comm, MPI_STATUS_IGNORE), MPI_ERR_TYPE);
  OK(MPI_Type_free(&column));
  OK(MPI_Type_free(&record));
  MPI_Finalize();
  return 0;
}
