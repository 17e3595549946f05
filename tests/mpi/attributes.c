// SPDX-License-Identifier: Apache-2.0
// Attributes of communicators and datatypes: dup, free, predefined, and deletion in MPI_Finalize.
// ranks: singleton 2
#include "check.h"

static int copies, deletes, end_order[3], ended;

static int copy_comm(MPI_Comm comm, int key, void* extra, void* in, void* out, int* flag) {
  (void)comm, (void)key, (void)extra;
  *(void**)out = (char*)in + 1;
  *flag = 1;
  ++copies;
  return MPI_SUCCESS;
}
static int delete_comm(MPI_Comm comm, int key, void* value, void* extra) {
  (void)comm, (void)key, (void)value, (void)extra;
  ++deletes;
  return MPI_SUCCESS;
}
static int refuse(MPI_Comm comm, int key, void* extra, void* in, void* out, int* flag) {
  (void)comm, (void)key, (void)extra, (void)in, (void)out, (void)flag;
  return MPI_ERR_OTHER;
}
static int copy_type(MPI_Datatype type, int key, void* extra, void* in, void* out, int* flag) {
  (void)type, (void)key, (void)extra;
  *(void**)out = in;
  *flag = 1;
  ++copies;
  return MPI_SUCCESS;
}
static int delete_type(MPI_Datatype type, int key, void* value, void* extra) {
  (void)type, (void)key, (void)value, (void)extra;
  ++deletes;
  return MPI_SUCCESS;
}
static int refuse_type(MPI_Datatype type, int key, void* extra, void* in, void* out, int* flag) {
  (void)type, (void)key, (void)extra, (void)in, (void)out, (void)flag;
  return MPI_ERR_OTHER;
}
static int at_end(MPI_Comm comm, int key, void* value, void* extra) {
  int flag = 0;
  (void)key, (void)extra;
  CHECK(comm == MPI_COMM_SELF);
  OK(MPI_Finalized(&flag));
  CHECK(!flag);
  end_order[ended++] = *(int*)value;
  return MPI_SUCCESS;
}

static void communicators(void) {
  int key, refusing, flag;
  char place[4];
  void* value;
  MPI_Comm dup;
  OK(MPI_Comm_create_keyval(copy_comm, delete_comm, &key, NULL));
  OK(MPI_Comm_get_attr(MPI_COMM_WORLD, key, &value, &flag));
  CHECK(!flag);
  OK(MPI_Comm_set_attr(MPI_COMM_WORLD, key, place));
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &dup));
  OK(MPI_Comm_get_attr(dup, key, &value, &flag));
  CHECK(flag && value == place + 1);
  OK(MPI_Comm_free(&dup));
  CHECK(copies == 1 && deletes == 1);
  OK(MPI_Comm_create_keyval(refuse, MPI_COMM_NULL_DELETE_FN, &refusing, NULL));
  OK(MPI_Comm_set_attr(MPI_COMM_WORLD, refusing, place));
  CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &dup) != MPI_SUCCESS);
  OK(MPI_Comm_delete_attr(MPI_COMM_WORLD, refusing));
  FAILS(MPI_Comm_delete_attr(MPI_COMM_WORLD, refusing), MPI_ERR_KEYVAL);
  OK(MPI_Comm_free_keyval(&refusing));
  OK(MPI_Comm_delete_attr(MPI_COMM_WORLD, key));
  OK(MPI_Comm_free_keyval(&key));
}

// A freed key remains valid while objects have attributes of the key.
static void freed_key(void) {
  int key, again, flag;
  char place[4];
  void* value;
  MPI_Comm dup;
  copies = deletes = 0;
  OK(MPI_Comm_create_keyval(copy_comm, delete_comm, &key, NULL));
  OK(MPI_Comm_set_attr(MPI_COMM_WORLD, key, place));
  again = key;
  OK(MPI_Comm_free_keyval(&again));
  CHECK_EQ(again, MPI_KEYVAL_INVALID);
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &dup));
  OK(MPI_Comm_get_attr(dup, key, &value, &flag));
  CHECK(flag && value == place + 1);
  OK(MPI_Comm_delete_attr(MPI_COMM_WORLD, key));
  again = key;
  OK(MPI_Comm_free_keyval(&again));
  OK(MPI_Comm_free(&dup));
  CHECK(copies == 1 && deletes == 2);
  FAILS(MPI_Comm_get_attr(MPI_COMM_WORLD, key, &value, &flag), MPI_ERR_KEYVAL);
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  FAILS(MPI_Comm_free_keyval(&key), MPI_ERR_KEYVAL);
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL));
}

static void types(void) {
  int key, flag;
  void* value;
  MPI_Datatype pair, dup;
  copies = deletes = 0;
  OK(MPI_Type_create_keyval(copy_type, delete_type, &key, NULL));
  OK(MPI_Type_contiguous(2, MPI_INT, &pair));
  OK(MPI_Type_set_attr(pair, key, &key));
  OK(MPI_Type_dup(pair, &dup));
  OK(MPI_Type_get_attr(dup, key, &value, &flag));
  CHECK(flag && value == &key);
  OK(MPI_Type_free(&pair));
  OK(MPI_Type_free(&dup));
  CHECK(copies == 1 && deletes == 2);
  FAILS(MPI_Comm_set_attr(MPI_COMM_WORLD, key, NULL), MPI_ERR_KEYVAL);
  OK(MPI_Type_free_keyval(&key));
  OK(MPI_Type_create_keyval(refuse_type, MPI_TYPE_NULL_DELETE_FN, &key, NULL));
  OK(MPI_Type_contiguous(2, MPI_INT, &pair));
  OK(MPI_Type_set_attr(pair, key, NULL));
  dup = MPI_INT;
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  FAILS(MPI_Type_dup(pair, &dup), MPI_ERR_OTHER);
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL));
  CHECK(dup == MPI_DATATYPE_NULL);
  OK(MPI_Type_free(&pair));
  OK(MPI_Type_free_keyval(&key));
}

static void predefined(void) {
  int* value;
  int flag;
  OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &flag));
  CHECK(flag && *value == 2147483647);
  OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, &value, &flag));
  CHECK(flag && (*value == 0 || *value == 1));
  OK(MPI_Attr_get(MPI_COMM_WORLD, MPI_IO, &value, &flag));
  CHECK(flag);
  FAILS(MPI_Comm_set_attr(MPI_COMM_WORLD, MPI_TAG_UB, &flag), MPI_ERR_KEYVAL);
}

int main(int argc, char** argv) {
  static int numbers[3] = {0, 1, 2};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  communicators();
  freed_key();
  types();
  predefined();
  for (int i = 0; i < 3; ++i) {
    int key;
    OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_end, &key, NULL));
    OK(MPI_Comm_set_attr(MPI_COMM_SELF, key, &numbers[i]));
    OK(MPI_Comm_free_keyval(&key));
  }
  MPI_Finalize();
  CHECK(ended == 3 && end_order[0] == 2 && end_order[1] == 1 && end_order[2] == 0);
  return 0;
}
