// SPDX-License-Identifier: Apache-2.0
// Collectives that move data: every root, counts around thresholds, in place, types with holes that
// differ at both ends.
// ranks: 1 2 3 4 5 8
// timeout: 180
#include "check.h"

enum { kInts = 3 };
struct Kind {
  MPI_Datatype type;
  int per_element;
  int stride;
  int places[kInts];
};
static struct Kind kinds[3];

static void make_kinds(void) {
  static const int lengths[] = {1, 2}, places[] = {4, 0};
  MPI_Datatype indexed;
  kinds[0] = (struct Kind){MPI_INT, kInts, kInts, {0, 1, 2}};
  OK(MPI_Type_indexed(2, lengths, places, MPI_INT, &indexed));
  OK(MPI_Type_create_resized(indexed, 0, 6 * (int)sizeof(int), &kinds[1].type));
  OK(MPI_Type_free(&indexed));
  kinds[1].per_element = 1;
  kinds[1].stride = 6;
  memcpy(kinds[1].places, (int[]){4, 0, 1}, sizeof kinds[1].places);
  OK(MPI_Type_contiguous(kInts, MPI_INT, &kinds[2].type));
  kinds[2].per_element = 1;
  kinds[2].stride = kInts;
  memcpy(kinds[2].places, (int[]){0, 1, 2}, sizeof kinds[2].places);
  OK(MPI_Type_commit(&kinds[1].type));
  OK(MPI_Type_commit(&kinds[2].type));
}

static int value(int from, int to, int i, int part) {
  return from * 1000003 + to * 10007 + i * 31 + part;
}

static int* space(const struct Kind* kind, long elements) {
  const size_t ints = (size_t)(elements * kind->stride) + 8;
  int* made = malloc(ints * sizeof(int));
  for (size_t i = 0; i < ints; ++i) made[i] = -7;
  return made;
}

static void put(int* at, const struct Kind* kind, long place, int count, int from, int to) {
  for (int i = 0; i < count; ++i)
    for (int part = 0; part < kInts; ++part)
      at[(place + i) * kind->stride + kind->places[part]] = value(from, to, i, part);
}

static void expect(const int* at, const struct Kind* kind, long place, int count, int from, int to,
                   const char* what) {
  for (int i = 0; i < count; ++i)
    for (int part = 0; part < kInts; ++part) {
      const int found = at[(place + i) * kind->stride + kind->places[part]];
      if (found != value(from, to, i, part))
        FAIL("%s on %d ranks: element %d of %d from rank %d, part %d is %d, expected %d", what,
             size, i, count, from, part, found, value(from, to, i, part));
    }
}

static void expect_holes(const int* at, const struct Kind* kind, long elements) {
  if (kind->stride == kInts) return;
  for (long i = 0; i < elements; ++i) {
    CHECK_EQ(at[i * kind->stride + 2], -7);
    CHECK_EQ(at[i * kind->stride + 3], -7);
    CHECK_EQ(at[i * kind->stride + 5], -7);
  }
}

static int nonblocking;
static MPI_Request pending;
#define DO(Name, name, ...)                      \
  do {                                           \
    if (nonblocking) {                           \
      OK(MPI_I##name(__VA_ARGS__, &pending));    \
      OK(MPI_Wait(&pending, MPI_STATUS_IGNORE)); \
    } else {                                     \
      OK(MPI_##Name(__VA_ARGS__));               \
    }                                            \
  } while (0)

static void bcast(const struct Kind* kind, int n, int root) {
  int* data = space(kind, n);
  if (rank == root) put(data, kind, 0, n, root, 0);
  DO(Bcast, bcast, data, n * kind->per_element, kind->type, root, MPI_COMM_WORLD);
  expect(data, kind, 0, n, root, 0, "bcast");
  expect_holes(data, kind, n);
  free(data);
}

static void gather(const struct Kind* mine, const struct Kind* theirs, int n, int root,
                   int in_place) {
  int* in = space(mine, n);
  int* out = space(theirs, (long)n * size);
  const int here = in_place && rank == root;
  if (here)
    put(out, theirs, (long)n * rank, n, rank, 0);
  else
    put(in, mine, 0, n, rank, 0);
  DO(Gather, gather, here ? MPI_IN_PLACE : in, n * mine->per_element, mine->type,
     rank == root ? out : NULL, n * theirs->per_element, theirs->type, root, MPI_COMM_WORLD);
  if (rank == root) {
    for (int r = 0; r < size; ++r) expect(out, theirs, (long)n * r, n, r, 0, "gather");
    expect_holes(out, theirs, (long)n * size);
  }
  free(in);
  free(out);
}

static void scatter(const struct Kind* mine, const struct Kind* theirs, int n, int root,
                    int in_place) {
  int* in = space(mine, (long)n * size);
  int* out = space(theirs, n);
  const int here = in_place && rank == root;
  if (rank == root)
    for (int r = 0; r < size; ++r) put(in, mine, (long)n * r, n, root, r);
  DO(Scatter, scatter, rank == root ? in : NULL, n * mine->per_element, mine->type,
     here ? MPI_IN_PLACE : out, n * theirs->per_element, theirs->type, root, MPI_COMM_WORLD);
  if (!here) {
    expect(out, theirs, 0, n, root, rank, "scatter");
    expect_holes(out, theirs, n);
  }
  free(in);
  free(out);
}

static void allgather(const struct Kind* mine, const struct Kind* theirs, int n, int in_place) {
  int* in = space(mine, n);
  int* out = space(theirs, (long)n * size);
  if (in_place)
    put(out, theirs, (long)n * rank, n, rank, 0);
  else
    put(in, mine, 0, n, rank, 0);
  DO(Allgather, allgather, in_place ? MPI_IN_PLACE : in, n * mine->per_element, mine->type, out,
     n * theirs->per_element, theirs->type, MPI_COMM_WORLD);
  for (int r = 0; r < size; ++r) expect(out, theirs, (long)n * r, n, r, 0, "allgather");
  expect_holes(out, theirs, (long)n * size);
  free(in);
  free(out);
}

static void alltoall(const struct Kind* mine, const struct Kind* theirs, int n, int in_place) {
  int* in = space(mine, (long)n * size);
  int* out = space(theirs, (long)n * size);
  for (int r = 0; r < size; ++r)
    put(in_place ? out : in, in_place ? theirs : mine, (long)n * r, n, rank, r);
  DO(Alltoall, alltoall, in_place ? MPI_IN_PLACE : in, n * mine->per_element, mine->type, out,
     n * theirs->per_element, theirs->type, MPI_COMM_WORLD);
  for (int r = 0; r < size; ++r) expect(out, theirs, (long)n * r, n, r, rank, "alltoall");
  expect_holes(out, theirs, (long)n * size);
  free(in);
  free(out);
}

static int sizes_of(const struct Kind* kind, int n, int symmetric, int* counts, int* displs,
                    int sends, long* places) {
  long at = 0;
  for (int r = 0; r < size; ++r) {
    const int from = sends ? rank : r, to = sends ? r : rank;
    const int elements = symmetric ? (n + from + to) % 5 : (n + 2 * from + to) % 5;
    places[r] = at;
    counts[r] = elements * kind->per_element;
    displs[r] = (int)at * kind->per_element;
    at += elements + 1;
  }
  return (int)at;
}

static void alltoallv(const struct Kind* mine, const struct Kind* theirs, int n, int in_place) {
  int scounts[64], sdispls[64], rcounts[64], rdispls[64];
  long splaces[64], rplaces[64];
  const int sent = sizes_of(mine, n, in_place, scounts, sdispls, 1, splaces);
  const int received = sizes_of(theirs, n, in_place, rcounts, rdispls, 0, rplaces);
  int* in = space(mine, sent);
  int* out = space(theirs, received);
  for (int r = 0; r < size; ++r)
    if (in_place)
      put(out, theirs, rplaces[r], rcounts[r] / theirs->per_element, rank, r);
    else
      put(in, mine, splaces[r], scounts[r] / mine->per_element, rank, r);
  DO(Alltoallv, alltoallv, in_place ? MPI_IN_PLACE : in, scounts, sdispls, mine->type, out, rcounts,
     rdispls, theirs->type, MPI_COMM_WORLD);
  for (int r = 0; r < size; ++r)
    expect(out, theirs, rplaces[r], rcounts[r] / theirs->per_element, r, rank, "alltoallv");
  free(in);
  free(out);
}

static void rooted_v(const struct Kind* mine, const struct Kind* theirs, int n, int root) {
  int counts[64], displs[64];
  long at = 0;
  for (int r = 0; r < size; ++r) {
    counts[r] = (n + r) % 6 * theirs->per_element;
    displs[r] = (int)at * theirs->per_element;
    at += (n + r) % 6 + 2;
  }
  const int own = (n + rank) % 6;
  int* small = space(mine, own);
  int* large = space(theirs, at);
  put(small, mine, 0, own, rank, 0);
  DO(Gatherv, gatherv, small, own * mine->per_element, mine->type, large, counts, displs,
     theirs->type, root, MPI_COMM_WORLD);
  for (int r = 0; r < size && rank == root; ++r)
    expect(large, theirs, displs[r] / theirs->per_element, (n + r) % 6, r, 0, "gatherv");

  put(small, mine, 0, own, -1, -1);
  DO(Scatterv, scatterv, large, counts, displs, theirs->type, small, own * mine->per_element,
     mine->type, root, MPI_COMM_WORLD);
  expect(small, mine, 0, own, rank, 0, "scatterv");

  for (int r = 0; r < size; ++r)
    put(large, theirs, displs[r] / theirs->per_element, (n + r) % 6, -1, -1);
  DO(Allgatherv, allgatherv, small, own * mine->per_element, mine->type, large, counts, displs,
     theirs->type, MPI_COMM_WORLD);
  for (int r = 0; r < size; ++r)
    expect(large, theirs, displs[r] / theirs->per_element, (n + r) % 6, r, 0, "allgatherv");
  free(small);
  free(large);
}

static void all_with(const struct Kind* mine, const struct Kind* theirs, int n) {
  for (int root = 0; root < size; ++root) {
    bcast(rank % 2 == 0 ? mine : theirs, n, root);
    for (int in_place = 0; in_place < 2; ++in_place) {
      gather(mine, theirs, n, root, in_place);
      scatter(mine, theirs, n, root, in_place);
    }
    if (n < 100) rooted_v(mine, theirs, n, root);
  }
  for (int in_place = 0; in_place < 2; ++in_place) {
    allgather(mine, theirs, n, in_place);
    alltoall(mine, theirs, n, in_place);
    if (n < 100) alltoallv(mine, theirs, n, in_place);
  }
}

int main(int argc, char** argv) {
  static const int counts[] = {0, 1, 2, 17, 90, 400, 5000, 60000};
  begin(&argc, &argv);
  make_kinds();
  for (size_t c = 0; c < sizeof counts / sizeof counts[0]; ++c)
    for (int a = 0; a < 3; ++a)
      for (int b = 0; b < 3; ++b) {
        if (counts[c] > 1000 && (a + 2 * b) % 3 != 0) continue;
        nonblocking = (a + b + (int)c) % 2;
        all_with(&kinds[a], &kinds[b], counts[c]);
        OK(MPI_Barrier(MPI_COMM_WORLD));
      }
  OK(MPI_Type_free(&kinds[1].type));
  OK(MPI_Type_free(&kinds[2].type));
  return end();
}
