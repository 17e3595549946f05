// SPDX-License-Identifier: Apache-2.0
// A rank creates a communicator after the other ranks freed the same communicator, and ended.
// ranks: 2 4
#include <unistd.h>

#include "check.h"

// await_others() counts live children of the parent with the test's name, because the parent may
// not have reaped ended processes.
static void await_others(void) {
  char command[128], text[16];
  snprintf(command, sizeof command,
           "ps --no-headers -o stat,comm --ppid %d | grep -v ^Z | grep -c sessions_gone",
           (int)getppid());
  for (int tries = 0; tries < 100; ++tries) {
    FILE* count = popen(command, "r");
    CHECK(count != NULL);
    CHECK(fgets(text, sizeof text, count) != NULL);
    pclose(count);
    if (atoi(text) == 1) return;
    usleep(50000);
  }
  FAIL("the other ranks have not ended: %d processes", atoi(text));
}

int main(void) {
  MPI_Session session;
  MPI_Group group;
  MPI_Comm comm;
  OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
  OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
  MPI_Group_rank(group, &rank);
  if (rank == 1) await_others();
  OK(MPI_Comm_create_from_group(group, "gone", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
  MPI_Comm_size(comm, &size);
  CHECK(size >= 2);
  OK(MPI_Group_free(&group));
  OK(MPI_Comm_free(&comm));
  OK(MPI_Session_finalize(&session));
  return 0;
}
