// SPDX-License-Identifier: Apache-2.0
// Requests, messages, sessions and buffers many times: memory stays constant, and handles do not
// run out.
// ranks: 2
// transport: sm, libraries of networks keep memory
// timeout: 3000
// sanitizers: no, they keep freed memory
#include "leak.h"

static void requests(void) {
  MPI_Request pair[2];
  OK(MPI_Irecv(received, 4, MPI_INT, other, 1, comm, &pair[0]));
  OK(MPI_Isend(data, 4, MPI_INT, other, 1, comm, &pair[1]));
  OK(MPI_Waitall(2, pair, MPI_STATUSES_IGNORE));
  OK(MPI_Irecv(received, 4, MPI_INT, other, 9, comm, &pair[0]));
  OK(MPI_Cancel(&pair[0]));
  OK(MPI_Wait(&pair[0], MPI_STATUS_IGNORE));
}
static void requests_persistent(void) {
  MPI_Request pair[2];
  OK(MPI_Recv_init(received, 4, vector, other, 2, comm, &pair[0]));
  OK(MPI_Send_init(data, 4, vector, other, 2, comm, &pair[1]));
  OK(MPI_Startall(2, pair));
  OK(MPI_Waitall(2, pair, MPI_STATUSES_IGNORE));
  for (int i = 0; i < 2; ++i) OK(MPI_Request_free(&pair[i]));
}
static void requests_partitioned(void) {
  MPI_Request pair[2];
  OK(MPI_Precv_init(received, 2, 2, MPI_INT, other, 3, comm, MPI_INFO_NULL, &pair[0]));
  OK(MPI_Psend_init(data, 2, 2, MPI_INT, other, 3, comm, MPI_INFO_NULL, &pair[1]));
  OK(MPI_Startall(2, pair));
  OK(MPI_Pready_range(0, 1, pair[1]));
  OK(MPI_Waitall(2, pair, MPI_STATUSES_IGNORE));
  for (int i = 0; i < 2; ++i) OK(MPI_Request_free(&pair[i]));
}
static int query(void* state, MPI_Status* status) {
  (void)state;
  return MPI_Status_set_elements(status, MPI_INT, 0);
}
static int let_go(void* state) {
  (void)state;
  return MPI_SUCCESS;
}
static int cancel(void* state, int complete) {
  (void)state;
  (void)complete;
  return MPI_SUCCESS;
}
static void requests_general(void) {
  MPI_Request request;
  OK(MPI_Grequest_start(query, let_go, cancel, NULL, &request));
  OK(MPI_Grequest_complete(request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
}
static void requests_collective(void) {
  MPI_Request request;
  int sum;
  OK(MPI_Ibarrier(comm, &request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  OK(MPI_Allreduce_init(data, &sum, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request));
  OK(MPI_Start(&request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  OK(MPI_Request_free(&request));
}
static void messages(void) {
  MPI_Message message;
  MPI_Request request;
  OK(MPI_Isend(data, 3, MPI_INT, other, 4, comm, &request));
  OK(MPI_Mprobe(other, 4, comm, &message, MPI_STATUS_IGNORE));
  OK(MPI_Mrecv(received, 3, MPI_INT, &message, MPI_STATUS_IGNORE));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
}
static void messages_unexpected(void) {
  OK(MPI_Send(data, 40, MPI_INT, other, 5, comm));
  OK(MPI_Send(data, 1, MPI_INT, other, 6, comm));
  OK(MPI_Recv(received, 1, MPI_INT, other, 6, comm, MPI_STATUS_IGNORE));
  OK(MPI_Recv(received, 40, MPI_INT, other, 5, comm, MPI_STATUS_IGNORE));
}
static void truncated(void) {
  OK(MPI_Send(data, 3, MPI_INT, other, 7, comm));
  FAILS(MPI_Recv(received, 2, MPI_INT, other, 7, comm, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
}

static void sessions(void) {
  MPI_Session session;
  MPI_Group group;
  OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
  OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
  OK(MPI_Group_free(&group));
  OK(MPI_Session_finalize(&session));
}
static char space[4096];
static void buffers(void) {
  void* was;
  int bytes;
  OK(MPI_Buffer_attach(space, sizeof space));
  OK(MPI_Bsend(data, 2, MPI_INT, other, 8, comm));
  OK(MPI_Recv(received, 2, MPI_INT, other, 8, comm, MPI_STATUS_IGNORE));
  OK(MPI_Buffer_detach(&was, &bytes));
  OK(MPI_Comm_attach_buffer(comm, MPI_BUFFER_AUTOMATIC, 0));
  OK(MPI_Bsend(data, 2, MPI_INT, other, 8, comm));
  OK(MPI_Recv(received, 2, MPI_INT, other, 8, comm, MPI_STATUS_IGNORE));
  OK(MPI_Comm_detach_buffer(comm, &was, &bytes));
}
static void memory(void) {
  void* made;
  OK(MPI_Alloc_mem(100000, MPI_INFO_NULL, &made));
  OK(MPI_Free_mem(made));
}

static const struct Case cases[] = {CASE(requests),
                                    CASE(requests_persistent),
                                    CASE(requests_partitioned),
                                    CASE(requests_general),
                                    CASE(requests_collective),
                                    CASE(messages),
                                    CASE(messages_unexpected),
                                    CASE(truncated),
                                    CASE(sessions),
                                    CASE(buffers),
                                    CASE(memory)};

int main(int argc, char** argv) {
  return check_leaks(argc, argv, cases, sizeof cases / sizeof *cases);
}
