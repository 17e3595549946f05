// SPDX-License-Identifier: Apache-2.0
// If a rank lacks memory for a collective, all ranks get an error, and a copy of the communicator
// works.
// ranks: 2 4
// env: TERN_COLL=alltoall=flat_direct
// sanitizers: no, they need address space
#include <sys/resource.h>

#include "check.h"

enum { kInts = 1 << 20 };

static void starve(struct rlimit* before) {
  long pages = 0;
  FILE* const file = fopen("/proc/self/statm", "r");
  CHECK(file != NULL && fscanf(file, "%ld", &pages) == 1);
  fclose(file);
  OK(getrlimit(RLIMIT_AS, before));
  struct rlimit limit = *before;
  limit.rlim_cur = (rlim_t)pages * 4096 + (2 << 20);
  OK(setrlimit(RLIMIT_AS, &limit));
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  int* const data = (int*)calloc((size_t)kInts * (size_t)size, sizeof(int));
  int sum = 0;
  MPI_Comm comm, copy;
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  OK(MPI_Alltoall(MPI_IN_PLACE, 0, MPI_INT, data, 2, MPI_INT, comm));
  for (int form = 0; form < 2; ++form) {
    struct rlimit before;
    MPI_Request request = MPI_REQUEST_NULL;
    if (rank == 1) starve(&before);
    int code = form == 0
                   ? MPI_Alltoall(MPI_IN_PLACE, 0, MPI_INT, data, kInts, MPI_INT, comm)
                   : MPI_Ialltoall(MPI_IN_PLACE, 0, MPI_INT, data, kInts, MPI_INT, comm, &request);
    if (form == 1 && code == MPI_SUCCESS) code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (rank == 1) OK(setrlimit(RLIMIT_AS, &before));
    CHECK_EQ(class_of(code), rank == 1 ? MPI_ERR_NO_MEM : MPI_ERR_OTHER);
    OK(MPI_Comm_dup(comm, &copy));
    OK(MPI_Comm_free(&comm));
    comm = copy;
    OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm));
    CHECK_EQ(sum, size * (size - 1) / 2);
  }
  OK(MPI_Comm_free(&comm));
  free(data);
  return end();
}
