// SPDX-License-Identifier: Apache-2.0
// If the first nonblocking collective has few elements on one rank and many on the others, all
// ranks get an error with both sizes.
// ranks: 2 3
#include "check.h"

enum { kFew = 4, kMany = 50000 };

static float in[2 * kMany], out[4 * kMany];

typedef int (*Begin)(int count, MPI_Comm comm, MPI_Request* request);

static int begin_allreduce(int count, MPI_Comm comm, MPI_Request* request) {
  return MPI_Iallreduce(in, out, count, MPI_FLOAT, MPI_SUM, comm, request);
}
static int begin_allgather(int count, MPI_Comm comm, MPI_Request* request) {
  return MPI_Iallgather(in, count, MPI_FLOAT, out, count, MPI_FLOAT, comm, request);
}

int main(int argc, char** argv) {
  const Begin begin[] = {begin_allreduce, begin_allgather};
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < 2; ++i) {
    MPI_Comm comm;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Request request = MPI_REQUEST_NULL;
    int code = begin[i](rank == 0 ? kFew : kMany, comm, &request);
    if (code == MPI_SUCCESS) code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    if (code != MPI_SUCCESS) MPI_Error_string(code, text, &length);
    CHECK(strstr(text, "different sizes") != NULL && strstr(text, "rank 0") != NULL);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    MPI_Comm_free(&comm);
  }
  MPI_Finalize();
  return 0;
}
