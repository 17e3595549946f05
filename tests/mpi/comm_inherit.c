// SPDX-License-Identifier: Apache-2.0
// A new communicator inherits the error handler, and with dup the attributes. MPI_Comm_free calls
// delete callbacks even with pending operations.
// ranks: 1 2 4
#include "check.h"

static int copies, deletes, heard, refuse;

static int copy(MPI_Comm old, int key, void* extra, void* in, void* out, int* flag) {
  (void)old, (void)key;
  ++copies;
  if (refuse) return MPI_ERR_OTHER;
  CHECK(extra == &copies);
  *(void**)out = (char*)in + 1;
  *flag = 1;
  return MPI_SUCCESS;
}

static int erase(MPI_Comm comm, int key, void* value, void* extra) {
  (void)comm, (void)key, (void)value, (void)extra;
  ++deletes;
  return MPI_SUCCESS;
}

static void hear(MPI_Comm* comm, int* code, ...) {
  (void)comm;
  CHECK_EQ(class_of(*code), MPI_ERR_RANK);
  ++heard;
}

static void check_inherits(MPI_Comm* comm) {
  const int before = heard;
  if (*comm == MPI_COMM_NULL) return;
  FAILS(MPI_Send(NULL, 0, MPI_BYTE, 4711, 0, *comm), MPI_ERR_RANK);
  CHECK_EQ(heard, before + 1);
  OK(MPI_Comm_free(comm));
}

static void handlers(void) {
  MPI_Comm parent, child;
  MPI_Errhandler handler;
  MPI_Group group;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &parent));
  OK(MPI_Comm_create_errhandler(hear, &handler));
  OK(MPI_Comm_set_errhandler(parent, handler));
  OK(MPI_Errhandler_free(&handler));
  OK(MPI_Comm_group(parent, &group));
  OK(MPI_Comm_dup(parent, &child));
  check_inherits(&child);
  OK(MPI_Comm_split(parent, rank % 2, 0, &child));
  check_inherits(&child);
  OK(MPI_Comm_create(parent, group, &child));
  check_inherits(&child);
  OK(MPI_Comm_create_group(parent, group, 3, &child));
  check_inherits(&child);
  OK(MPI_Comm_dup(parent, &child));
  OK(MPI_Comm_free(&parent));
  check_inherits(&child);
  OK(MPI_Group_free(&group));
}

static void attributes(void) {
  MPI_Comm parent, child;
  int key = MPI_KEYVAL_INVALID, flag = 0;
  char cells[3];
  void* value = NULL;
  copies = deletes = 0;
  OK(MPI_Comm_create_keyval(copy, erase, &key, &copies));
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &parent));
  OK(MPI_Comm_set_attr(parent, key, &cells[0]));
  OK(MPI_Comm_dup(parent, &child));
  CHECK_EQ(copies, 1);
  OK(MPI_Comm_get_attr(child, key, &value, &flag));
  CHECK(flag && value == &cells[1]);
  OK(MPI_Comm_free(&child));
  CHECK_EQ(deletes, 1);
  OK(MPI_Comm_split(parent, 0, rank, &child));
  OK(MPI_Comm_get_attr(child, key, &value, &flag));
  CHECK(!flag && copies == 1);
  OK(MPI_Comm_free(&child));
  CHECK_EQ(deletes, 1);
  refuse = 1;  // a failing copy callback fails dup; dup deletes the copies
  OK(MPI_Comm_set_errhandler(parent, MPI_ERRORS_RETURN));
  CHECK(MPI_Comm_dup(parent, &child) != MPI_SUCCESS);
  refuse = 0;
  OK(MPI_Comm_dup(parent, &child));
  OK(MPI_Comm_free(&child));
  OK(MPI_Comm_free_keyval(&key));
  const int before = deletes;
  OK(MPI_Comm_free(&parent));
  CHECK_EQ(deletes, before + 1);
}

static void deleted_while_pending(void) {
  MPI_Comm comm;
  MPI_Request requests[2];
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  int key = MPI_KEYVAL_INVALID, in = -1;
  OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, erase, &key, NULL));
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  OK(MPI_Comm_set_attr(comm, key, NULL));
  OK(MPI_Irecv(&in, 1, MPI_INT, left, 0, comm, &requests[0]));
  OK(MPI_Issend(&rank, 1, MPI_INT, right, 0, comm, &requests[1]));
  deletes = 0;
  OK(MPI_Comm_free(&comm));
  CHECK_EQ(deletes, 1);
  OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  CHECK_EQ(in, left);
  CHECK_EQ(deletes, 1);
  OK(MPI_Comm_free_keyval(&key));
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  handlers();
  attributes();
  deleted_while_pending();
  return end();
}
