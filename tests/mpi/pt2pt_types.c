// SPDX-License-Identifier: Apache-2.0
// Derived types at both ends: layouts may differ, but the basic elements must agree.
// ranks: 1 2 3
// timeout: 120
#include <stddef.h>
#include "check.h"

struct Particle {
  double place[3];
  int kind;
  char name[5];
};

struct Layout {
  MPI_Datatype type;
  int count;
  int ints;
  size_t extent;
  int (*place)(int i);
};

static int dense(int i) { return i; }
static int strided(int i) { return i / 3 * 7 + i % 3; }
static int backwards(int i) { return 6143 - i; }
static int shuffled(int i) { return i / 4 * 10 + (int[]){6, 1, 8, 3}[i % 4]; }

static const int kInts = 6144;

static struct Layout make(int which) {
  struct Layout made = {MPI_INT, kInts, kInts, 0, dense};
  static const int lengths[] = {1, 1, 1, 1}, places[] = {6, 1, 8, 3};
  MPI_Datatype inner;
  if (which == 1) {
    OK(MPI_Type_vector(kInts / 3, 3, 7, MPI_INT, &made.type));
    made.count = 1;
    made.place = strided;
  } else if (which == 2) {
    OK(MPI_Type_vector(kInts, 1, -1, MPI_INT, &made.type));
    made.count = 1;
    made.place = backwards;
  } else if (which == 3) {
    OK(MPI_Type_indexed(4, lengths, places, MPI_INT, &inner));
    OK(MPI_Type_create_resized(inner, 0, 10 * (MPI_Aint)sizeof(int), &made.type));
    OK(MPI_Type_free(&inner));
    made.count = kInts / 4;
    made.place = shuffled;
  } else {
    OK(MPI_Type_dup(MPI_INT, &made.type));
  }
  OK(MPI_Type_commit(&made.type));
  made.extent = 0;
  for (int i = 0; i < kInts; ++i)
    if ((size_t)made.place(i) >= made.extent) made.extent = (size_t)made.place(i) + 1;
  made.extent *= sizeof(int);
  return made;
}

static int* origin(const struct Layout* layout, int* buffer) {
  return layout->place == backwards ? buffer + 6143 : buffer;
}

static void transfer(const struct Layout* from, const struct Layout* to, int tag) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  int *out = malloc(from->extent), *in = malloc(to->extent);
  char* marks = calloc(to->extent / sizeof(int), 1);
  MPI_Request request;
  MPI_Status status;
  int elements = 0;
  memset(out, 0x11, from->extent);
  memset(in, 0x77, to->extent);
  for (int i = 0; i < kInts; ++i) out[from->place(i)] = rank * 1000000 + i;
  OK(MPI_Isend(origin(from, out), from->count, from->type, right, tag, MPI_COMM_WORLD, &request));
  OK(MPI_Recv(origin(to, in), to->count, to->type, left, tag, MPI_COMM_WORLD, &status));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  check_status(&status, left, tag, to->type, to->count);
  OK(MPI_Get_elements(&status, to->type, &elements));
  CHECK_EQ(elements, kInts);
  for (int i = 0; i < kInts; ++i) {
    CHECK_EQ(in[to->place(i)], left * 1000000 + i);
    marks[to->place(i)] = 1;
  }
  for (size_t i = 0; i < to->extent / sizeof(int); ++i)
    if (!marks[i]) CHECK_EQ(in[i], 0x77777777);
  free(out);
  free(in);
  free(marks);
}

static void particles(int count) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  const int lengths[] = {3, 1, 5};
  const MPI_Aint places[] = {offsetof(struct Particle, place), offsetof(struct Particle, kind),
                             offsetof(struct Particle, name)};
  const MPI_Datatype types[] = {MPI_DOUBLE, MPI_INT, MPI_CHAR};
  MPI_Datatype plain, particle;
  OK(MPI_Type_create_struct(3, lengths, places, types, &plain));
  OK(MPI_Type_create_resized(plain, 0, sizeof(struct Particle), &particle));
  OK(MPI_Type_commit(&particle));
  struct Particle* out = calloc((size_t)count + 1, sizeof *out);
  struct Particle* in = calloc((size_t)count + 1, sizeof *in);
  for (int i = 0; i < count; ++i) {
    for (int k = 0; k < 3; ++k) out[i].place[k] = rank + i * 0.5 + k;
    out[i].kind = rank * 7 + i;
    memcpy(out[i].name, "tern", 5);
  }
  MPI_Status status;
  OK(MPI_Sendrecv(out, count, particle, right, 1, in, count + 1, particle, left, 1, MPI_COMM_WORLD,
                  &status));
  check_status(&status, left, 1, particle, count);
  for (int i = 0; i < count; ++i) {
    for (int k = 0; k < 3; ++k) CHECK(in[i].place[k] == left + i * 0.5 + k);
    CHECK_EQ(in[i].kind, left * 7 + i);
    CHECK(strcmp(in[i].name, "tern") == 0);
  }
  CHECK_EQ(in[count].kind, 0);
  free(out);
  free(in);
  OK(MPI_Type_free(&plain));
  OK(MPI_Type_free(&particle));
}

static void partial_element(void) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  const int out[7] = {0, 1, 2, 3, 4, 5, 6};
  int in[12] = {0}, count = 0, elements = 0;
  MPI_Datatype triple;
  MPI_Status status;
  OK(MPI_Type_contiguous(3, MPI_INT, &triple));
  OK(MPI_Type_commit(&triple));
  OK(MPI_Sendrecv(out, 7, MPI_INT, right, 2, in, 4, triple, left, 2, MPI_COMM_WORLD, &status));
  OK(MPI_Get_count(&status, triple, &count));
  CHECK_EQ(count, MPI_UNDEFINED);
  OK(MPI_Get_elements(&status, triple, &elements));
  CHECK_EQ(elements, 7);
  for (int i = 0; i < 12; ++i) CHECK_EQ(in[i], i < 7 ? i : 0);
  OK(MPI_Type_free(&triple));
}

static void freed_while_pending(void) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  int *out = malloc(40000 * sizeof *out), *in = calloc(40000, sizeof *in);
  MPI_Request requests[2];
  for (int i = 0; i < 40000; ++i) out[i] = rank + i;
  MPI_Datatype type;
  OK(MPI_Type_vector(20000, 1, 2, MPI_INT, &type));
  OK(MPI_Type_commit(&type));
  OK(MPI_Irecv(in, 1, type, left, 3, MPI_COMM_WORLD, &requests[0]));
  OK(MPI_Isend(out, 1, type, right, 3, MPI_COMM_WORLD, &requests[1]));
  OK(MPI_Type_free(&type));
  CHECK(type == MPI_DATATYPE_NULL);
  OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  for (int i = 0; i < 39999; ++i) CHECK_EQ(in[i], i % 2 ? 0 : left + i);
  free(out);
  free(in);
}

static void truncated_with_holes(void) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  enum { kRoom = 5000, kSent = 30000 };
  int *out = malloc(kSent * sizeof *out), *in = malloc(2 * kRoom * sizeof *in);
  MPI_Datatype type;
  MPI_Request request;
  OK(MPI_Type_vector(kRoom, 1, 2, MPI_INT, &type));
  OK(MPI_Type_commit(&type));
  for (int i = 0; i < kSent; ++i) out[i] = i;
  for (int i = 0; i < 2 * kRoom; ++i) in[i] = -1;
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  OK(MPI_Isend(out, kSent, MPI_INT, right, 4, MPI_COMM_WORLD, &request));
  FAILS(MPI_Recv(in, 1, type, left, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  for (int i = 0; i < 2 * kRoom; ++i) CHECK_EQ(in[i], i % 2 ? -1 : i / 2);
  OK(MPI_Type_free(&type));
  free(out);
  free(in);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  for (int from = 0; from < 4; ++from)
    for (int to = 0; to < 4; ++to) {
      struct Layout sent = make(from), received = make(to);
      transfer(&sent, &received, from * 4 + to);
      OK(MPI_Type_free(&sent.type));
      OK(MPI_Type_free(&received.type));
    }
  particles(0);
  particles(1);
  particles(300);
  particles(20000);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  partial_element();
  freed_while_pending();
  truncated_with_holes();
  return end();
}
