// SPDX-License-Identifier: Apache-2.0
// MPI_Session_finalize sends and detaches the session's buffer. A later session at the same address
// has no buffer.
// ranks: 1 2
// timeout: 30
#include <unistd.h>

#include "check.h"

static char memory[70000], data[60000];

static MPI_Session open_session(void) {
  MPI_Session session;
  OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
  return session;
}

static MPI_Comm comm_of(MPI_Session session) {
  MPI_Group all;
  MPI_Comm comm;
  OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &all));
  OK(MPI_Comm_create_from_group(all, "all", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
  OK(MPI_Group_free(&all));
  OK(MPI_Comm_rank(comm, &rank));
  OK(MPI_Comm_size(comm, &size));
  return comm;
}

static void buffers_end(void) {
  MPI_Session kept = open_session();
  for (int round = 0; round < 20; ++round) {
    MPI_Session session = open_session();
    void* address;
    int bytes;
    FAILS(MPI_Session_detach_buffer(session, &address, &bytes), MPI_ERR_BUFFER);
    OK(MPI_Session_attach_buffer(session, memory, sizeof memory));
    OK(MPI_Session_finalize(&session));
  }
  OK(MPI_Session_finalize(&kept));
}

static void messages_are_sent(void) {
  MPI_Session session = open_session();
  MPI_Comm comm = comm_of(session);
  OK(MPI_Session_attach_buffer(session, memory, sizeof memory));
  if (size > 1 && rank == 0) {
    fill(data, sizeof data, 5);
    OK(MPI_Bsend(data, sizeof data, MPI_BYTE, 1, 0, comm));
  }
  if (rank == 1) {
    usleep(300000);
    OK(MPI_Recv(data, sizeof data, MPI_BYTE, 0, 0, comm, MPI_STATUS_IGNORE));
    CHECK_FILLED(data, sizeof data, 5);
  }
  OK(MPI_Comm_free(&comm));
  OK(MPI_Session_finalize(&session));
  memset(memory, 0, sizeof memory);
}

int main(void) {
  buffers_end();
  messages_are_sent();
  buffers_end();
  return 0;
}
