// SPDX-License-Identifier: Apache-2.0
// longjmp out of callbacks that run outside a wait: the jump ends the call, and MPI still works.
// ranks: singleton 2 3
// mpirun: --oversubscribe
#include <setjmp.h>

#include "check.h"

static jmp_buf back;
static int key;

static void jumping_op(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)in, (void)inout, (void)count, (void)type;
  longjmp(back, 1);
}
static int jumping_copy(MPI_Comm comm, int keyval, void* extra, void* in, void* out, int* flag) {
  (void)comm, (void)keyval, (void)extra, (void)in, (void)out, (void)flag;
  longjmp(back, 1);
}
static int jumping_delete(MPI_Comm comm, int keyval, void* value, void* extra) {
  (void)comm, (void)keyval, (void)value, (void)extra;
  longjmp(back, 1);
}
static int jumping_query(void* state, MPI_Status* status) {
  (void)state, (void)status;
  longjmp(back, 1);
}
static int no_free(void* state) {
  (void)state;
  return MPI_SUCCESS;
}
static int no_cancel(void* state, int complete) {
  (void)state, (void)complete;
  return MPI_SUCCESS;
}

static MPI_Op op;
static MPI_Comm own;

static void reduce_local(void) {
  int in = 1, out = 2;
  MPI_Reduce_local(&in, &out, 1, MPI_INT, op);
}
static void copy_attribute(void) {
  MPI_Comm made;
  OK(MPI_Comm_create_keyval(jumping_copy, MPI_COMM_NULL_DELETE_FN, &key, NULL));
  OK(MPI_Comm_set_attr(own, key, NULL));
  MPI_Comm_dup(own, &made);
}
static void delete_attribute(void) {
  OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, jumping_delete, &key, NULL));
  OK(MPI_Comm_set_attr(MPI_COMM_WORLD, key, NULL));
  MPI_Comm_delete_attr(MPI_COMM_WORLD, key);
}
static void query_request(void) {
  MPI_Request request;
  OK(MPI_Grequest_start(jumping_query, no_free, no_cancel, NULL, &request));
  OK(MPI_Grequest_complete(request));
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void expect_jump(void (*call)(void), const char* what, int rank, int size) {
  volatile int jumped = 0;
  if (setjmp(back) == 0)
    call();
  else
    jumped = 1;
  if (!jumped) FAIL("%s: no jump", what);
  int one = 1, sum = 0;
  OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  CHECK(sum == size);
  const int next = (rank + 1) % size, previous = (rank + size - 1) % size;
  OK(MPI_Sendrecv(&rank, 1, MPI_INT, next, 7, &sum, 1, MPI_INT, previous, 7, MPI_COMM_WORLD,
                  MPI_STATUS_IGNORE));
  CHECK(sum == previous);
}

int main(int argc, char** argv) {
  int rank, size;
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  OK(MPI_Op_create(jumping_op, 1, &op));
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &own));
  expect_jump(reduce_local, "MPI_Reduce_local", rank, size);
  expect_jump(copy_attribute, "MPI_Comm_dup", rank, size);
  expect_jump(query_request, "MPI_Wait", rank, size);
  expect_jump(delete_attribute, "MPI_Comm_delete_attr", rank, size);
  OK(MPI_Finalize());
  return 0;
}
