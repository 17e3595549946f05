// SPDX-License-Identifier: Apache-2.0
// MPI_Alltoallw: a type per block (holes, negative lower bounds, reversed), zero counts, in place,
// int and large counts.
// ranks: 1 2 3 4 5 7 8
#include "check.h"

enum { kInts = 3, kKinds = 4, kMost = 5, kSpan = 512 };

static MPI_Datatype kinds[kKinds];

static void make_kinds(void) {
  static const int lengths[] = {1, 2}, holes[] = {4, 0}, below[] = {-5, -2};
  MPI_Datatype made;
  OK(MPI_Type_contiguous(kInts, MPI_INT, &kinds[0]));
  OK(MPI_Type_indexed(2, lengths, holes, MPI_INT, &made));
  OK(MPI_Type_create_resized(made, 0, 6 * (int)sizeof(int), &kinds[1]));
  OK(MPI_Type_free(&made));
  OK(MPI_Type_indexed(2, lengths, below, MPI_INT, &kinds[2]));
  OK(MPI_Type_create_resized(kinds[0], 0, -4 * (MPI_Aint)sizeof(int), &kinds[3]));
  for (int i = 0; i < kKinds; ++i) OK(MPI_Type_commit(&kinds[i]));
}

struct Side {
  int peers;
  int counts[16], displs[16];
  MPI_Count counts_c[16];
  MPI_Aint displs_c[16];
  MPI_Datatype types[16];
  int* memory;
};

static int elements(int from, int to, int even) {
  return even ? (from + to) % kMost : (2 * from + 3 * to) % kMost;
}
static int value(int from, int to, int i) { return from * 1000003 + to * 10007 + i * 31; }

static void lay_out(struct Side* side, int peers, int mine, int sends, int even) {
  side->peers = peers;
  side->memory = malloc(sizeof(int) * kSpan * (size_t)(peers + 1));
  for (int i = 0; i < kSpan * (peers + 1); ++i) side->memory[i] = -7;
  for (int p = 0; p < peers; ++p) {
    side->counts[p] = sends ? elements(mine, p, even) : elements(p, mine, even);
    side->displs[p] = (int)sizeof(int) * (kSpan * p + kSpan / 2);
    side->types[p] = kinds[(sends ? 3 * mine + p : mine + 2 * p) % kKinds];
    side->counts_c[p] = side->counts[p];
    side->displs_c[p] = side->displs[p];
  }
}

static void* block_of(const struct Side* side, int p) {
  return (char*)side->memory + side->displs[p];
}

static void fill_block(const struct Side* side, int p, int from, int to) {
  int flat[kInts * kMost], at = 0;
  for (int i = 0; i < kInts * kMost; ++i) flat[i] = value(from, to, i);
  OK(MPI_Unpack(flat, (int)sizeof flat, &at, block_of(side, p), side->counts[p], side->types[p],
                MPI_COMM_SELF));
}

static void expect_block(const struct Side* side, int p, int from, int to, const char* what) {
  int flat[kInts * kMost], at = 0;
  OK(MPI_Pack(block_of(side, p), side->counts[p], side->types[p], flat, (int)sizeof flat, &at,
              MPI_COMM_SELF));
  for (int i = 0; i < kInts * side->counts[p]; ++i)
    if (flat[i] != value(from, to, i))
      FAIL("%s: int %d of the block from %d is %d, expected %d", what, i, from, flat[i],
           value(from, to, i));
}

static void expect_untouched(const struct Side* side) {
  int covered = 0, changed = 0;
  for (int p = 0; p < side->peers; ++p) covered += kInts * side->counts[p];
  for (int i = 0; i < kSpan * (side->peers + 1); ++i) changed += side->memory[i] != -7;
  CHECK_EQ(changed, covered);
}

enum Form { kBlocking, kNonblocking, kPersistent, kForms };
static const char* const kFormNames[] = {"blocking", "nonblocking", "persistent"};

static void exchange(enum Form form, int large, struct Side* out, struct Side* in, MPI_Comm comm) {
  const void* from = out == NULL ? MPI_IN_PLACE : out->memory;
  const struct Side* s = out == NULL ? in : out;
  MPI_Request request;
#define INTS \
  from, s->counts, s->displs, s->types, in->memory, in->counts, in->displs, in->types, comm
#define LARGE \
  from, s->counts_c, s->displs_c, s->types, in->memory, in->counts_c, in->displs_c, in->types, comm
  if (form == kBlocking) {
    OK(large ? MPI_Alltoallw_c(LARGE) : MPI_Alltoallw(INTS));
    return;
  }
  if (form == kNonblocking) {
    OK(large ? MPI_Ialltoallw_c(LARGE, &request) : MPI_Ialltoallw(INTS, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    return;
  }
  OK(large ? MPI_Alltoallw_init_c(LARGE, MPI_INFO_NULL, &request)
           : MPI_Alltoallw_init(INTS, MPI_INFO_NULL, &request));
  for (int round = 0; round < (out == NULL ? 1 : 3); ++round) {
    OK(MPI_Start(&request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  }
  OK(MPI_Request_free(&request));
}

// In place, counts and types are equal in both directions.
static void check(MPI_Comm comm, int mine, int peers, enum Form form, int large, int in_place) {
  struct Side out, in;
  const int base = peers == size ? 0 : 100;
  lay_out(&in, peers, mine, 0, in_place);
  lay_out(&out, peers, mine, 1, in_place);
  for (int p = 0; p < peers; ++p) fill_block(in_place ? &in : &out, p, base + mine, p);
  exchange(form, large, in_place ? NULL : &out, &in, comm);
  for (int p = 0; p < peers; ++p) expect_block(&in, p, base + p, mine, kFormNames[form]);
  expect_untouched(&in);
  free(in.memory);
  free(out.memory);
}

static void between_groups(enum Form form, int large) {
  MPI_Comm half, between;
  const int side = rank % 2;
  int mine, peers;
  if (size < 2) return;
  OK(MPI_Comm_split(MPI_COMM_WORLD, side, rank, &half));
  OK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - side, 3, &between));
  OK(MPI_Comm_rank(between, &mine));
  OK(MPI_Comm_remote_size(between, &peers));
  check(between, mine, peers, form, large, 0);
  OK(MPI_Comm_free(&between));
  OK(MPI_Comm_free(&half));
}

static void errors(void) {
  struct Side out, in;
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  lay_out(&in, size, rank, 0, 1);
  lay_out(&out, size, rank, 1, 1);
  in.counts[size - 1] = -1;
  FAILS(MPI_Alltoallw(out.memory, out.counts, out.displs, out.types, in.memory, in.counts,
                      in.displs, in.types, MPI_COMM_WORLD),
        MPI_ERR_COUNT);
  in.counts[size - 1] = out.counts[size - 1];
  in.types[0] = MPI_DATATYPE_NULL;
  in.counts[0] = 1;
  FAILS(MPI_Alltoallw(out.memory, out.counts, out.displs, out.types, in.memory, in.counts,
                      in.displs, in.types, MPI_COMM_WORLD),
        MPI_ERR_TYPE);
  FAILS(MPI_Alltoallw(out.memory, NULL, out.displs, out.types, in.memory, in.counts, in.displs,
                      in.types, MPI_COMM_WORLD),
        MPI_ERR_ARG);
  FAILS(MPI_Alltoallv(out.memory, out.counts, NULL, MPI_INT, in.memory, in.counts, in.displs,
                      MPI_INT, MPI_COMM_WORLD),
        MPI_ERR_ARG);
  free(in.memory);
  free(out.memory);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  make_kinds();
  for (int form = 0; form < kForms; ++form)
    for (int large = 0; large < 2; ++large) {
      check(MPI_COMM_WORLD, rank, size, (enum Form)form, large, 0);
      check(MPI_COMM_WORLD, rank, size, (enum Form)form, large, 1);
      between_groups((enum Form)form, large);
    }
  errors();
  for (int i = 0; i < kKinds; ++i) OK(MPI_Type_free(&kinds[i]));
  return end();
}
