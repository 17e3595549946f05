// SPDX-License-Identifier: Apache-2.0
// Constants, layouts, callbacks and handles of the ABI. abi_swap.sh runs this program on another
// MPI library.
#include <stddef.h>

#include "check.h"

static void messages(void) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  int out[3] = {rank, 10 * rank, 7}, in[5] = {0}, count = -1;
  MPI_Status status;
  MPI_Sendrecv(out, 3, MPI_INT, right, 5, in, 5, MPI_INT, left, MPI_ANY_TAG, MPI_COMM_WORLD,
               &status);
  MPI_Get_count(&status, MPI_INT, &count);
  CHECK(count == 3 && in[0] == left && in[1] == 10 * left && in[2] == 7);
  CHECK(status.MPI_SOURCE == left && status.MPI_TAG == 5);

  MPI_Request requests[3];
  double value = 0.5 + rank, got = 0;
  MPI_Irecv(&got, 1, MPI_DOUBLE, MPI_ANY_SOURCE, 6, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(&value, 1, MPI_DOUBLE, right, 6, MPI_COMM_WORLD, &requests[1]);
  requests[2] = MPI_REQUEST_NULL;
  MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
  CHECK(got == 0.5 + left && requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL);
  MPI_Recv(&got, 1, MPI_DOUBLE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status);
  MPI_Get_count(&status, MPI_DOUBLE, &count);
  CHECK(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG && count == 0);
}

static void types(void) {
  int bytes = 0;
  const struct {
    MPI_Datatype type;
    int bytes;
  } sizes[] = {{MPI_CHAR, 1},
               {MPI_SHORT, 2},
               {MPI_INT, 4},
               {MPI_LONG, 8},
               {MPI_LONG_LONG, 8},
               {MPI_FLOAT, 4},
               {MPI_DOUBLE, 8},
               {MPI_LONG_DOUBLE, (int)sizeof(long double)},
               {MPI_C_BOOL, 1},
               {MPI_INT64_T, 8},
               {MPI_C_DOUBLE_COMPLEX, 16},
               {MPI_DOUBLE_INT, 12},
               {MPI_2INT, 8},
               {MPI_AINT, 8},
               {MPI_COUNT, 8},
               {MPI_OFFSET, 8},
               {MPI_BYTE, 1},
               {MPI_WCHAR, 4},
               {MPI_UINT16_T, 2}};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) {
    MPI_Type_size(sizes[i].type, &bytes);
    CHECK(bytes == sizes[i].bytes);
  }
  struct pair {
    int a;
    double b;
  } here = {rank, 2.5 * rank}, there = {-1, -1};
  MPI_Aint places[2] = {offsetof(struct pair, a), offsetof(struct pair, b)}, lb, extent;
  MPI_Datatype parts[2] = {MPI_INT, MPI_DOUBLE}, type;
  MPI_Type_create_struct(2, (int[]){1, 1}, places, parts, &type);
  MPI_Type_commit(&type);
  MPI_Type_get_extent(type, &lb, &extent);
  CHECK(lb == 0 && extent == sizeof(struct pair));
  const int other = size - 1 - rank;
  MPI_Sendrecv(&here, 1, type, other, 8, &there, 1, type, other, 8, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  CHECK(there.a == other && there.b == 2.5 * other);
  CHECK(MPI_Type_fromint(MPI_Type_toint(type)) == type && MPI_Type_toint(MPI_INT) == 521);
  MPI_Type_free(&type);
  CHECK(type == MPI_DATATYPE_NULL);
}

static int copied = 0, deleted = 0, heard = 0;
static int copy(MPI_Comm comm, int key, void* extra, void* in, void* out, int* flag) {
  (void)comm, (void)key;
  CHECK(extra == &copied);
  *(void**)out = in;
  *flag = 1;
  ++copied;
  return MPI_SUCCESS;
}
static int delete (MPI_Comm comm, int key, void* value, void* extra) {
  (void)comm, (void)key, (void)value, (void)extra;
  ++deleted;
  return MPI_SUCCESS;
}
static void hear(MPI_Comm* comm, int* code, ...) {
  int error_class = 0;
  MPI_Error_class(*code, &error_class);
  CHECK(*comm != MPI_COMM_NULL && error_class == MPI_ERR_RANK);
  ++heard;
}

static void communicators(void) {
  MPI_Comm dup, half;
  int key = MPI_KEYVAL_INVALID, flag = 0, result = -1, *tag_ub = NULL;
  void* value = NULL;
  MPI_Comm_create_keyval(copy, delete, &key, &copied);
  MPI_Comm_set_attr(MPI_COMM_WORLD, key, &size);
  MPI_Comm_dup(MPI_COMM_WORLD, &dup);
  MPI_Comm_get_attr(dup, key, &value, &flag);
  CHECK(flag && value == &size && copied == 1);
  MPI_Comm_compare(MPI_COMM_WORLD, dup, &result);
  CHECK(result == MPI_CONGRUENT);
  MPI_Errhandler handler;
  MPI_Comm_create_errhandler(hear, &handler);
  MPI_Comm_set_errhandler(dup, handler);
  MPI_Errhandler_free(&handler);
  MPI_Comm_call_errhandler(dup, MPI_ERR_RANK);  // some builds of MPICH check no arguments
  CHECK(heard == 1);
  MPI_Comm_free(&dup);
  CHECK(deleted == 1 && dup == MPI_COMM_NULL);
  MPI_Comm_delete_attr(MPI_COMM_WORLD, key);
  MPI_Comm_free_keyval(&key);
  CHECK(deleted == 2 && key == MPI_KEYVAL_INVALID);
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &tag_ub, &flag);
  CHECK(flag && *tag_ub >= 32767);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
  int half_rank = -1, half_size = 0;
  MPI_Comm_rank(half, &half_rank);
  MPI_Comm_size(half, &half_size);
  CHECK(half_size == (size + 1 - rank % 2) / 2 && half_rank == half_size - 1 - rank / 2);
  CHECK(MPI_Comm_fromint(MPI_Comm_toint(half)) == half);
  MPI_Comm_free(&half);
}

static void product(void* in, void* inout, int* len, MPI_Datatype* type) {
  CHECK(*type == MPI_INT);
  for (int i = 0; i < *len; ++i) ((int*)inout)[i] *= ((int*)in)[i];
}

static void collectives(void) {
  int sum[2] = {rank, 1}, factor = rank + 1, all = 0, factorial = 1;
  MPI_Allreduce(MPI_IN_PLACE, sum, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK(sum[0] == size * (size - 1) / 2 && sum[1] == size);
  MPI_Op op;
  MPI_Op_create(product, 1, &op);
  MPI_Allreduce(&factor, &all, 1, MPI_INT, op, MPI_COMM_WORLD);
  MPI_Op_free(&op);
  for (int i = 1; i <= size; ++i) factorial *= i;
  CHECK(all == factorial && op == MPI_OP_NULL);
  double root_value = rank == 0 ? 6.25 : 0;
  MPI_Bcast(&root_value, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  CHECK(root_value == 6.25);
  int* gathered = malloc(sizeof(int) * (size_t)size);
  MPI_Gather(&rank, 1, MPI_INT, rank == 0 ? gathered : NULL, 1,
             rank == 0 ? MPI_INT : MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD);
  for (int i = 0; rank == 0 && i < size; ++i) CHECK(gathered[i] == i);
  free(gathered);
  MPI_Barrier(MPI_COMM_WORLD);
}

static void infos(void) {
  MPI_Info info;
  int flag = 0, keys = 0, room = 8;
  char value[8];
  MPI_Info_create(&info);
  MPI_Info_set(info, "colour", "vermilion");
  MPI_Info_get_nkeys(info, &keys);
  MPI_Info_get_string(info, "colour", &room, value, &flag);
  CHECK(keys == 1 && flag && room == 10 && strcmp(value, "vermili") == 0);
  MPI_Info_free(&info);
  CHECK(info == MPI_INFO_NULL);
}

int main(int argc, char** argv) {
  int version = 0, subversion = 0, length = 0, provided = 0;
  char library[MPI_MAX_LIBRARY_VERSION_STRING];
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CHECK(provided >= MPI_THREAD_FUNNELED);
  MPI_Get_version(&version, &subversion);
  MPI_Get_library_version(library, &length);
  messages();
  types();
  communicators();
  collectives();
  infos();
  MPI_Finalize();
  if (rank == 0)
    printf("MPI %d.%d, %d ranks, library: %.40s\n", version, subversion, size, library);
  return 0;
}
