// SPDX-License-Identifier: Apache-2.0
// Non-commutative user operations keep rank order. Float sums have equal bits on all ranks and in
// all runs.
// ranks: 1 2 3 4 5 7 8
// timeout: 120
#include "check.h"

// x -> a x + b modulo a prime. Composition does not commute.
typedef struct {
  int a, unused, b;
} Map;
enum { kPrime = 10007 };

static Map map_of(int from, int i) {
  return (Map){(from * 31 + i * 7 + 2) % kPrime, -5, (from + i) % kPrime};
}

static Map composed(Map f, Map g) {
  return (Map){(int)((long long)f.a * g.a % kPrime), -5,
               (int)(((long long)f.a * g.b + f.b) % kPrime)};
}

static MPI_Datatype map_type;
static int calls;

static void compose(void* in, void* inout, int* count, MPI_Datatype* type) {
  ++calls;
  CHECK(*type == map_type);
  for (int i = 0; i < *count; ++i) ((Map*)inout)[i] = composed(((Map*)in)[i], ((Map*)inout)[i]);
}

static Map expected(int end, int i) {
  Map sum = map_of(0, i);
  for (int r = 1; r < end; ++r) sum = composed(sum, map_of(r, i));
  return sum;
}

static void check_maps(const Map* found, int first, int count, int end, const char* what) {
  for (int i = 0; i < count; ++i) {
    const Map wanted = expected(end, first + i);
    if (found[i].a != wanted.a || found[i].b != wanted.b)
      FAIL("%s on %d ranks: element %d is (%d, %d), expected (%d, %d)", what, size, i, found[i].a,
           found[i].b, wanted.a, wanted.b);
  }
}

static void ordered(MPI_Op op, int n) {
  Map* in = malloc(sizeof(Map) * (size_t)(n * size + 1));
  Map* out = malloc(sizeof(Map) * (size_t)(n * size + 1));
  for (int i = 0; i < n * size; ++i) in[i] = map_of(rank, i);
  for (int root = 0; root < size; ++root) {
    OK(MPI_Reduce(in, out, n, map_type, op, root, MPI_COMM_WORLD));
    if (rank == root) check_maps(out, 0, n, size, "reduce");
  }
  OK(MPI_Allreduce(in, out, n, map_type, op, MPI_COMM_WORLD));
  check_maps(out, 0, n, size, "allreduce");
  OK(MPI_Scan(in, out, n, map_type, op, MPI_COMM_WORLD));
  check_maps(out, 0, n, rank + 1, "scan");
  OK(MPI_Exscan(in, out, n, map_type, op, MPI_COMM_WORLD));
  if (rank > 0) check_maps(out, 0, n, rank, "exscan");
  OK(MPI_Reduce_scatter_block(in, out, n, map_type, op, MPI_COMM_WORLD));
  check_maps(out, n * rank, n, size, "reduce_scatter_block");
  OK(MPI_Allreduce(MPI_IN_PLACE, in, n, map_type, op, MPI_COMM_WORLD));
  check_maps(in, 0, n, size, "allreduce in place");
  for (int i = 0; i < n * size; ++i) in[i] = map_of(rank, i);
  OK(MPI_Reduce_scatter_block(MPI_IN_PLACE, in, n, map_type, op, MPI_COMM_WORLD));
  check_maps(in, n * rank, n, size, "reduce_scatter_block in place");
  free(in);
  free(out);
}

static void bitwise(int n) {
  float* in = malloc(sizeof(float) * (size_t)n);
  float* out = malloc(sizeof(float) * (size_t)n);
  float* again = malloc(sizeof(float) * (size_t)n);
  float* zero = malloc(sizeof(float) * (size_t)n);
  for (int i = 0; i < n; ++i) in[i] = 1.0f / (float)(1 + (i * 37 + rank * 101) % 1009);
  OK(MPI_Allreduce(in, out, n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD));
  OK(MPI_Allreduce(in, again, n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD));
  CHECK(memcmp(out, again, sizeof(float) * (size_t)n) == 0);
  memcpy(zero, out, sizeof(float) * (size_t)n);
  OK(MPI_Bcast(zero, n, MPI_FLOAT, 0, MPI_COMM_WORLD));
  CHECK(memcmp(out, zero, sizeof(float) * (size_t)n) == 0);
  free(in);
  free(out);
  free(again);
  free(zero);
}

static void errors(void) {
  int one = 1, two = 2;
  double real = 1;
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  FAILS(MPI_Allreduce(&real, &real + 0, 1, MPI_DOUBLE, MPI_BAND, MPI_COMM_WORLD), MPI_ERR_OP);
  int* ones = calloc((size_t)size, sizeof *ones);
  for (int i = 0; i < size; ++i) ones[i] = 1;
  FAILS(MPI_Reduce_scatter(&ones[0], &ones[0], ones, MPI_INT, MPI_SUM, MPI_COMM_WORLD),
        MPI_ERR_BUFFER);
  FAILS(MPI_Allgather(&ones[rank], 1, MPI_INT, ones, 1, MPI_INT, MPI_COMM_WORLD), MPI_ERR_BUFFER);
  FAILS(MPI_Alltoall(ones, 1, MPI_INT, ones, 1, MPI_INT, MPI_COMM_WORLD), MPI_ERR_BUFFER);
  // MPI_COMM_SELF, because a call refused by some ranks ends the collectives (coll_refused).
  FAILS(MPI_Gather(ones, 1, MPI_INT, ones, 1, MPI_INT, 0, MPI_COMM_SELF), MPI_ERR_BUFFER);
  FAILS(MPI_Scatter(ones, 1, MPI_INT, ones, 1, MPI_INT, 0, MPI_COMM_SELF), MPI_ERR_BUFFER);
  free(ones);
  FAILS(MPI_Allreduce(&one, &one, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD), MPI_ERR_BUFFER);
  FAILS(MPI_Reduce_local(&one, &one, 1, MPI_INT, MPI_SUM), MPI_ERR_BUFFER);
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL));
  FAILS(MPI_Bcast(&one, 1, MPI_INT, size, MPI_COMM_WORLD), MPI_ERR_ROOT);
  FAILS(MPI_Bcast(&one, -1, MPI_INT, 0, MPI_COMM_WORLD), MPI_ERR_COUNT);
  FAILS(MPI_Allgather(&one, 1, MPI_INT, &two, 2, MPI_INT, MPI_COMM_WORLD), MPI_ERR_COUNT);
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
}

static void add_at(void* in, void* inout, int* count, MPI_Datatype* type) {
  MPI_Aint lb, extent;
  OK(MPI_Type_get_true_extent(*type, &lb, &extent));
  CHECK_EQ(extent, (long)sizeof(int));
  CHECK_EQ(*count, 1);
  *(int*)((char*)inout + lb) += *(int*)((char*)in + lb);
}

// MPI_BOTTOM is a null pointer. Outside the root, recvbuf may equal sendbuf.
static void from_bottom(void) {
  int value = rank + 1, sum[2] = {0};
  const int one = 1;
  MPI_Aint place;
  MPI_Datatype type;
  MPI_Op op;
  OK(MPI_Get_address(&value, &place));
  OK(MPI_Type_create_hindexed(1, &one, &place, MPI_INT, &type));
  OK(MPI_Type_commit(&type));
  OK(MPI_Op_create(add_at, 1, &op));
  if (rank == 0)
    OK(MPI_Reduce(MPI_IN_PLACE, MPI_BOTTOM, 1, type, op, 0, MPI_COMM_WORLD));
  else
    OK(MPI_Reduce(MPI_BOTTOM, NULL, 1, type, op, 0, MPI_COMM_WORLD));
  CHECK_EQ(value, rank == 0 ? size * (size + 1) / 2 : rank + 1);
  if (size == 1) OK(MPI_Gather(MPI_BOTTOM, 1, type, sum, 1, MPI_INT, 0, MPI_COMM_WORLD));
  OK(MPI_Op_free(&op));
  OK(MPI_Type_free(&type));
}

int main(int argc, char** argv) {
  static const int counts[] = {0, 1, 7, 500, 9000, 100000};
  static const int lengths[] = {1, 1}, places[] = {0, 2};
  MPI_Datatype indexed;
  MPI_Op op;
  begin(&argc, &argv);
  OK(MPI_Type_indexed(2, lengths, places, MPI_INT, &indexed));
  OK(MPI_Type_create_resized(indexed, 0, sizeof(Map), &map_type));
  OK(MPI_Type_commit(&map_type));
  OK(MPI_Op_create(compose, 0, &op));
  for (size_t c = 0; c < sizeof counts / sizeof counts[0]; ++c) {
    ordered(op, counts[c]);
    bitwise(counts[c] + 1);
  }
  CHECK(size == 1 || calls > 0);
  errors();
  from_bottom();
  OK(MPI_Op_free(&op));
  OK(MPI_Type_free(&map_type));
  OK(MPI_Type_free(&indexed));
  return end();
}
