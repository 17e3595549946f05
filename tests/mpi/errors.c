// SPDX-License-Identifier: Apache-2.0
// Wrong arguments return the right class, and a text with argument, value and valid range.
// ranks: singleton 2
#include "says.h"

static void point_to_point(void) {
  int value = 0;
  char ranks[64];
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Status status;
  snprintf(ranks, sizeof ranks, "dest is %d, but MPI_COMM_WORLD has ranks 0..%d (MPI_ERR_RANK)",
           size, size - 1);
  SAYS(Send, (&value, 1, MPI_INT, size, 0, MPI_COMM_WORLD), ERR_RANK, ranks);
  SAYS(Send, (&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD), ERR_RANK,
       "MPI_ANY_SOURCE is for receives");
  SAYS(Send, (&value, -3, MPI_INT, 0, 0, MPI_COMM_WORLD), ERR_COUNT, "count is -3");
  SAYS(Send_c, (&value, -3, MPI_INT, 0, 0, MPI_COMM_WORLD), ERR_COUNT, "count is -3");
  SAYS(Send, (&value, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD), ERR_TAG, "tag is -2");
  SAYS(Recv, (&value, 1, MPI_INT, 0, -7, MPI_COMM_WORLD, &status), ERR_TAG, "tag is -7");
  SAYS(Recv, (&value, 1, MPI_INT, -9, 0, MPI_COMM_WORLD, &status), ERR_RANK, "source is -9");
  SAYS(Send, (NULL, 1, MPI_INT, 0, 0, MPI_COMM_WORLD), ERR_BUFFER,
       "buf is a null pointer, but the count is 1");
  SAYS(Isend, (MPI_IN_PLACE, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &request), ERR_BUFFER,
       "MPI_IN_PLACE");
  SAYS(Isend, (&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, NULL), ERR_ARG,
       "request is a null pointer");
  SAYS(Send, (&value, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD), ERR_TYPE, "MPI_DATATYPE_NULL");
  SAYS(Send, (&value, 1, MPI_INT, 0, 0, MPI_COMM_NULL), ERR_COMM,
       "comm is MPI_COMM_NULL, but a communicator");
  SAYS(Start, (&request), ERR_REQUEST, "MPI_REQUEST_NULL");
  SAYS(Allreduce, (MPI_IN_PLACE, &value, 1, MPI_INT, MPI_OP_NULL, MPI_COMM_WORLD), ERR_OP,
       "op is MPI_OP_NULL, but an operation is needed");
  OK(MPI_Send(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD));
  OK(MPI_Wait(&request, &status));
}

static void types(void) {
  MPI_Datatype pair;
  int values[4] = {0}, bytes = -1;
  OK(MPI_Type_contiguous(2, MPI_INT, &pair));
  SAYS(Send, (values, 1, pair, 0, 0, MPI_COMM_WORLD), ERR_TYPE, "call MPI_Type_commit first");
  OK(MPI_Type_size(pair, &bytes));
  CHECK_EQ(bytes, 8);
  OK(MPI_Type_free(&pair));
  SAYS(Type_free, (&pair), ERR_TYPE, "MPI_DATATYPE_NULL");
  SAYS(Type_size, (MPI_INT, NULL), ERR_ARG, "size is a null pointer");
}

static void collectives(void) {
  int value = 0;
  SAYS(Bcast, (&value, 1, MPI_INT, size, MPI_COMM_WORLD), ERR_ROOT, "root is");
  SAYS(Bcast, (&value, 1, MPI_INT, MPI_ROOT, MPI_COMM_WORLD), ERR_ROOT, "for inter-communicators");
  SAYS(Allreduce, (MPI_IN_PLACE, &value, 1, MPI_INT, MPI_REPLACE, MPI_COMM_WORLD), ERR_OP,
       "one-sided");
  SAYS(Allreduce, (MPI_IN_PLACE, &value, 1, MPI_INT, MPI_OP_NULL, MPI_COMM_WORLD), ERR_OP,
       "MPI_OP_NULL");
  SAYS(Allreduce, (MPI_IN_PLACE, NULL, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD), ERR_BUFFER,
       "recvbuf is a null");
}

// Errors without an object go to MPI_COMM_SELF. Unsupported functions name themselves.
static void without_object(void) {
  int flag = 0, key = MPI_KEYVAL_INVALID;
  void* value = NULL;
  const char* port = "x";
  MPI_File file = MPI_FILE_NULL;
  MPI_Comm made = MPI_COMM_NULL;
  SAYS(Info_set, (MPI_INFO_NULL, "key", "value"), ERR_INFO, "MPI_INFO_NULL");
  SAYS(Info_set, (MPI_INFO_ENV, "key", "value"), ERR_INFO, "MPI_INFO_ENV cannot be changed");
  SAYS(Comm_get_attr, (MPI_COMM_WORLD, MPI_KEYVAL_INVALID, &value, &flag), ERR_KEYVAL,
       "MPI_KEYVAL_INVALID");
  SAYS(Comm_free_keyval, (&key), ERR_KEYVAL, "MPI_KEYVAL_INVALID");
  // Without a file, MPI_FILE_NULL's handler returns the error.
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL));
  SAYS(File_open, (MPI_COMM_WORLD, "no/such/file", MPI_MODE_RDONLY, MPI_INFO_NULL, &file),
       ERR_NO_SUCH_FILE, "cannot open no/such/file: No such file or directory");
  FAILS(MPI_File_delete("no/such/file", MPI_INFO_NULL), MPI_ERR_NO_SUCH_FILE);
  let_errors_return();
  SAYS(Comm_spawn, ("x", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &made, NULL),
       ERR_SPAWN,
       getenv("TERN_BOOT_FD") != NULL ? "cannot start x: no such program in PATH"
                                      : "the ranks ended before MPI_Init");
  FAILS(MPI_Close_port(port), MPI_ERR_PORT);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  point_to_point();
  types();
  collectives();
  without_object();
  MPI_Finalize();
  return 0;
}
