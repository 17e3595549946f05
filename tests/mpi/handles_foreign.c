// SPDX-License-Identifier: Apache-2.0
// Rank 0 sends handles to rank 1: each handle gives an error of its class, or names an object of
// rank 1 by chance.
// ranks: 2
#include <stdint.h>

#include "check.h"

enum { kEach = 40 };

struct Words {
  MPI_Comm comm[kEach];
  MPI_Datatype type[kEach];
  MPI_Group group[kEach];
  MPI_Op op[kEach];
  MPI_Info info[kEach];
  MPI_Errhandler errhandler[kEach];
  MPI_Request request[kEach];
  MPI_Message message[kEach];
};

static int unknown, known;

static void judge(int code, int error_class) {
  if (code == MPI_SUCCESS) {
    ++known;
    return;
  }
  CHECK_EQ(class_of(code), error_class);
  ++unknown;
}

static void add(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)in;
  (void)inout;
  (void)count;
  (void)type;
}
static void hear(MPI_Comm* comm, int* code, ...) {
  (void)comm;
  (void)code;
}

static void make(struct Words* words, int count) {
  static int data;
  for (int i = 0; i < count; ++i) {
    OK(MPI_Comm_dup(MPI_COMM_SELF, &words->comm[i]));
    OK(MPI_Type_contiguous(i + 1, MPI_INT, &words->type[i]));
    OK(MPI_Comm_group(MPI_COMM_WORLD, &words->group[i]));
    OK(MPI_Op_create(add, 1, &words->op[i]));
    OK(MPI_Info_create(&words->info[i]));
    OK(MPI_Comm_create_errhandler(hear, &words->errhandler[i]));
    OK(MPI_Send_init(&data, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &words->request[i]));
    OK(MPI_Send(&data, 1, MPI_INT, 0, 5, words->comm[i]));
    OK(MPI_Mprobe(0, 5, words->comm[i], &words->message[i], MPI_STATUS_IGNORE));
  }
}

static void use(const struct Words* theirs) {
  int got, flag;
  MPI_Comm made;
  MPI_Status status;
  for (int i = 0; i < kEach; ++i) {
    judge(MPI_Comm_size(theirs->comm[i], &got), MPI_ERR_COMM);
    judge(MPI_Type_size(theirs->type[i], &got), MPI_ERR_TYPE);
    judge(MPI_Group_size(theirs->group[i], &got), MPI_ERR_GROUP);
    judge(MPI_Op_commutative(theirs->op[i], &got), MPI_ERR_OP);
    judge(MPI_Info_get_nkeys(theirs->info[i], &got), MPI_ERR_INFO);
    judge(MPI_Request_get_status(theirs->request[i], &flag, &status), MPI_ERR_REQUEST);
    judge(MPI_Send(&got, 1, theirs->type[i], MPI_PROC_NULL, 0, MPI_COMM_SELF), MPI_ERR_TYPE);
    if (MPI_Comm_size(theirs->comm[i], &got) == MPI_SUCCESS) continue;
    judge(MPI_Comm_dup(theirs->comm[i], &made), MPI_ERR_COMM);
    MPI_Message message = theirs->message[i];
    if (i >= 2) judge(MPI_Mrecv(&got, 1, MPI_INT, &message, &status), MPI_ERR_REQUEST);
  }
}

static void drop(struct Words* words, int count) {
  int data;
  for (int i = 0; i < count; ++i) {
    OK(MPI_Mrecv(&data, 1, MPI_INT, &words->message[i], MPI_STATUS_IGNORE));
    OK(MPI_Comm_free(&words->comm[i]));
    OK(MPI_Type_free(&words->type[i]));
    OK(MPI_Group_free(&words->group[i]));
    OK(MPI_Op_free(&words->op[i]));
    OK(MPI_Info_free(&words->info[i]));
    OK(MPI_Errhandler_free(&words->errhandler[i]));
    OK(MPI_Request_free(&words->request[i]));
  }
}

int main(int argc, char** argv) {
  static struct Words mine, theirs;
  begin(&argc, &argv);
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  const int count = rank == 0 ? kEach : 2;
  make(&mine, count);
  if (rank == 0) {
    OK(MPI_Send(&mine, sizeof mine, MPI_BYTE, 1, 1, MPI_COMM_WORLD));
  } else {
    OK(MPI_Recv(&theirs, sizeof theirs, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    use(&theirs);
    CHECK(unknown > 4 * kEach);
  }
  drop(&mine, count);
  return end();
}
