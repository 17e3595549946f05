// SPDX-License-Identifier: Apache-2.0
// Large messages from rank 0 to 1, read by RDMA: the data, and the counts of MPI_T. The argument is
// the least number of messages that are read among those of sizes(), or "any" for every count.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
enum { kHuge = 67108867, kRoom = 3000001 };
static int rank, failures, any_count;
static unsigned char *data, *in;
static const MPI_Comm world = MPI_COMM_WORLD;
static unsigned char at(int i) { return (unsigned char)(i * 7 + (i >> 13)); }
static void require(int condition, const char* what, int value) {
  if (condition) return;
  printf("rank %d: %s (%d)\n", rank, what, value);
  ++failures;
}
static void require_data(int bytes, const char* what) {
  for (int i = 0; i < bytes; ++i)
    if (in[i] != at(i)) return require(0, what, i);
  require(in[bytes] == 0, "data behind the message", bytes);
}
static MPI_T_pvar_session session;
static MPI_T_pvar_handle handle_of(const char* name, int class) {
  int index, many;
  MPI_T_pvar_handle handle;
  if (MPI_T_pvar_get_index(name, class, &index) != MPI_SUCCESS) require(0, name, class);
  MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &many);
  return handle;
}
// The messages read since the last call.
static MPI_T_pvar_handle reads;
static int reads_now(void) {
  static unsigned long before;
  unsigned long now = 0;
  MPI_T_pvar_read(session, reads, &now);
  const int more = (int)(now - before);
  before = now;
  return more;
}
static void sizes(void) {
  static const int all[] = {0, 1, 7, 4095, 65537, 131073, 1048576, 1048577, kRoom, kHuge};
  for (int i = 0; i < 10; ++i) {
    if (rank == 0) {
      (i % 2 ? MPI_Ssend : MPI_Send)(data, all[i], MPI_BYTE, 1, i, world);
      continue;
    }
    memset(in, 0, (size_t)all[i] + 1);
    const int code = MPI_Recv(in, kHuge, MPI_BYTE, 0, MPI_ANY_TAG, world, MPI_STATUS_IGNORE);
    require(code == MPI_SUCCESS, "a receive fails", code);
    require_data(all[i], "sizes");
  }
}
static void holes(void) {
  MPI_Datatype type;
  const int blocks = 500001, block = 12, every = 17;
  MPI_Type_vector(blocks, block, every, MPI_BYTE, &type);
  MPI_Type_commit(&type);
  if (rank == 0) MPI_Ssend(data, blocks * block, MPI_BYTE, 1, 0, world);
  if (rank == 1) {
    memset(in, 0xee, (size_t)blocks * every);
    const int code = MPI_Recv(in, 1, type, 0, 0, world, MPI_STATUS_IGNORE);
    require(code == MPI_SUCCESS, "a receive with holes fails", code);
    for (int i = 0; i + every <= blocks * every && failures == 0; ++i)
      require(in[i] == (i % every < block ? at(i / every * block + i % every) : 0xee), "holes", i);
  }
  MPI_Type_free(&type);
}
static void truncated(void) {
  if (rank == 0) MPI_Ssend(data, kHuge, MPI_BYTE, 1, 0, world);
  if (rank == 1) {
    memset(in, 0, kRoom + 1);
    int error;
    MPI_Error_class(MPI_Recv(in, kRoom, MPI_BYTE, 0, 0, world, MPI_STATUS_IGNORE), &error);
    require(error == MPI_ERR_TRUNCATE, "the class of a truncation", error);
    require_data(kRoom, "truncated");
  }
}
static void cancelled(void) {
  if (rank == 0) {
    MPI_Request request;
    MPI_Status status;
    int flag;
    MPI_Isend(data, kRoom, MPI_BYTE, 1, 99, world, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &flag);
    require(flag, "an unmatched send is cancelled", flag);
  }
  MPI_Barrier(world);
}
static void probed(void) {
  if (rank == 0) MPI_Ssend(data, kRoom, MPI_BYTE, 1, 0, world);
  if (rank == 1) {
    MPI_Message message;
    MPI_Status status;
    memset(in, 0, kRoom + 1);
    MPI_Mprobe(0, 0, world, &message, &status);
    MPI_Mrecv(in, kRoom, MPI_BYTE, &message, &status);
    require_data(kRoom, "probed");
  }
}
static void repeated(void) {
  MPI_Request requests[2];
  if (rank == 0) {
    MPI_Send_init(data, kRoom, MPI_BYTE, 1, 1, world, &requests[0]);
    MPI_Psend_init(data, 3, 1000000, MPI_BYTE, 1, 2, world, MPI_INFO_NULL, &requests[1]);
  } else {
    MPI_Recv_init(in, kRoom, MPI_BYTE, 0, 1, world, &requests[0]);
    MPI_Precv_init(in + kRoom + 1, 3, 1000000, MPI_BYTE, 0, 2, world, MPI_INFO_NULL, &requests[1]);
  }
  for (int round = 0; round < 3; ++round) {
    memset(in, 0, 2 * kRoom + 1);
    MPI_Startall(2, requests);
    for (int i = 0; i < 3 && rank == 0; ++i) MPI_Pready(i, requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    if (rank == 0) continue;
    require_data(kRoom, "persistent");
    require(memcmp(in + kRoom + 1, in, 1000000) == 0, "partitioned", round);
  }
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
}
static void read_as(int least, void (*step)(void), const char* what) {
  step();
  MPI_Barrier(world);
  const int now = reads_now();
  if (rank == 0) printf("%s: %d read\n", what, now);
  const int right = rank == 0 ? now >= least && (least != 0 || now == 0) : now == 0;
  require(right || any_count, what, now);
}
int main(int argc, char** argv) {
  int level;
  unsigned long registered = 1;
  MPI_T_init_thread(MPI_THREAD_SINGLE, &level);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(world, &rank);
  MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
  MPI_T_pvar_session_create(&session);
  reads = handle_of("sent_read_by_rdma", MPI_T_PVAR_CLASS_COUNTER);
  MPI_T_pvar_start(session, reads);
  data = malloc(kHuge + 1);
  in = malloc(kHuge + 1);
  for (int i = 0; i < kHuge; ++i) data[i] = at(i);
  any_count = argc > 1 && strcmp(argv[1], "any") == 0;
  read_as(argc > 1 ? atoi(argv[1]) : 4, sizes, "sizes");
  read_as(1, holes, "holes");
  read_as(1, truncated, "truncated");
  read_as(0, cancelled, "cancelled");
  read_as(1, probed, "probed");
  read_as(3, repeated, "repeated");
  MPI_T_pvar_read(session, handle_of("rdma_registered_bytes", MPI_T_PVAR_CLASS_LEVEL), &registered);
  require(registered == 0, "memory stays registered", (int)registered);
  if (failures == 0) printf("rank %d: all right\n", rank);
  MPI_Finalize();
  return failures != 0;
}
