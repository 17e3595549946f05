// SPDX-License-Identifier: Apache-2.0
// Random epochs against a sequential model, on all window flavors. Every rank computes all
// operations.
// ranks: 1 2 3 4
// variant: copied
//   Cross-memory attach, except for shared windows.
//   ranks: 2 3 4
//   env: TERN_TEST=rma=copied
// variant: messages
//   Messages, except for shared windows.
//   ranks: 2 3 4
//   env: TERN_TEST=rma=messages
// variant: network
//   RDMA, emulated by UCX between ranks of a host.
//   ranks: 2 3 4
//   env: TERN_TRANSPORT=ucx TERN_TEST=rma=network
#include "check.h"

static unsigned state;
static unsigned next_random(unsigned below) {
  state = state * 1664525u + 1013904223u;
  return (state >> 8) % below;
}

enum { kMost = 40000, kOps = 6 };
enum { kPut, kGet, kSum, kFetch, kKinds };

typedef struct {
  int kind, target, count, at, stride;  // the elements are at, at + stride, ...
  int value;
} Operation;

static int* model;
static int* got;
static int* expected;

// No operation overlaps a put: each rank has separate rows in every rank's memory. The upper half
// of the rows takes sums of all ranks.
static Operation draw(int of, int number, int part) {
  Operation one;
  static const int most[] = {1, 3, 20, 200, 3000};
  one.kind = (int)next_random(kKinds);
  one.target = (int)next_random((unsigned)size);
  one.stride = 1 + (int)next_random(3) * (int)next_random(2);
  one.count = 1 + (int)next_random((unsigned)most[next_random(5)]);
  one.value = (int)next_random(1000);
  const int half = part / 2, row = half / (size * kOps);
  const int room = one.kind == kSum || one.kind == kFetch ? half : row;
  if (one.count * one.stride > room) one.count = room / one.stride;
  one.at = one.kind == kSum || one.kind == kFetch
               ? half + (int)next_random((unsigned)(half - one.count * one.stride + 1))
               : (of * kOps + number) * row;
  return one;
}

static void issue(const Operation* one, int* buffer, MPI_Win win, const MPI_Aint* bases,
                  int bytes) {
  MPI_Datatype type;
  OK(MPI_Type_vector(one->count, 1, one->stride, MPI_INT, &type));
  OK(MPI_Type_commit(&type));
  const MPI_Aint disp = bases != NULL ? MPI_Aint_add(bases[one->target], one->at * sizeof(int))
                                      : one->at * (MPI_Aint)sizeof(int) / bytes;
  int* result = got + (buffer - expected);
  switch (one->kind) {
    case kPut:
      OK(MPI_Put(buffer, one->count, MPI_INT, one->target, disp, 1, type, win));
      break;
    case kGet:
      OK(MPI_Get(result, one->count, MPI_INT, one->target, disp, 1, type, win));
      break;
    case kSum:
      OK(MPI_Accumulate(buffer, one->count, MPI_INT, one->target, disp, 1, type, MPI_SUM, win));
      break;
    default:
      OK(MPI_Get_accumulate(NULL, 0, MPI_INT, result, one->count, MPI_INT, one->target, disp, 1,
                            type, MPI_NO_OP, win));
  }
  OK(MPI_Type_free(&type));
}

static void apply_to_model(const Operation* one, int part, int* found) {
  for (int i = 0; i < one->count; ++i) {
    int* place = model + (size_t)one->target * (size_t)part + one->at + i * one->stride;
    found[i] = one->kind == kPut || one->kind == kSum ? one->value + i : *place;
    if (one->kind == kPut) *place = one->value + i;
    if (one->kind == kSum) *place += one->value + i;
  }
}

static void epoch(MPI_Win win, int* mine, int part, const MPI_Aint* bases, int unit, int how) {
  Operation mine_all[kOps];
  memset(got, 0xff, sizeof(int) * kOps * 3000);
  const int sums = (int)next_random(2);
  for (int of = 0; of < size; ++of)
    for (int i = 0; i < kOps; ++i) {
      Operation one = draw(of, i, part);
      if (one.kind == kSum || one.kind == kFetch) one.kind = sums ? kSum : kFetch;
      if (of == rank) mine_all[i] = one;
      static int unused[3000];
      apply_to_model(&one, part, of == rank ? expected + i * 3000 : unused);
    }
  MPI_Group all;
  OK(MPI_Win_get_group(win, &all));
  if (how == 0) OK(MPI_Win_fence(0, win));
  if (how == 1) OK(MPI_Win_lock_all(0, win));
  if (how == 2) OK(MPI_Win_post(all, 0, win));
  if (how == 2) OK(MPI_Win_start(all, 0, win));
  for (int i = 0; i < kOps; ++i) {
    const Operation* one = mine_all + i;
    if (how == 3)
      OK(MPI_Win_lock(i % 2 == 0 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, one->target, 0, win));
    issue(one, expected + i * 3000, win, bases, unit);
    if (how == 1 && i == 2) OK(MPI_Win_flush(one->target, win));
    if (how == 1 && i == 4) OK(MPI_Win_flush_local_all(win));
    if (how == 3) OK(MPI_Win_unlock(one->target, win));
  }
  if (how == 0) OK(MPI_Win_fence(0, win));
  if (how == 1) OK(MPI_Win_unlock_all(win));
  if (how == 2) OK(MPI_Win_complete(win));
  if (how == 2) OK(MPI_Win_wait(win));
  OK(MPI_Group_free(&all));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win));
  for (int i = 0; i < part; ++i) CHECK_EQ(mine[i], model[(size_t)rank * (size_t)part + (size_t)i]);
  OK(MPI_Win_unlock(rank, win));
  for (int i = 0; i < kOps; ++i)
    for (int k = 0; k < mine_all[i].count; ++k)
      if (mine_all[i].kind == kGet || mine_all[i].kind == kFetch)
        CHECK_EQ(got[i * 3000 + k], expected[i * 3000 + k]);
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

static void epochs(int flavor, int part) {
  MPI_Win win;
  int* mine = NULL;
  MPI_Aint base, *bases = NULL;
  const MPI_Aint bytes = part * (MPI_Aint)sizeof(int);
  const int unit = flavor == MPI_WIN_FLAVOR_DYNAMIC ? 1 : 2;
  if (flavor == MPI_WIN_FLAVOR_ALLOCATE)
    OK(MPI_Win_allocate(bytes, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win));
  else if (flavor == MPI_WIN_FLAVOR_SHARED)
    OK(MPI_Win_allocate_shared(bytes, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win));
  else
    mine = malloc((size_t)bytes);
  if (flavor == MPI_WIN_FLAVOR_CREATE)
    OK(MPI_Win_create(mine, bytes, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  if (flavor == MPI_WIN_FLAVOR_DYNAMIC) {
    OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    OK(MPI_Win_attach(win, mine, bytes));
    bases = malloc((size_t)size * sizeof *bases);
    OK(MPI_Get_address(mine, &base));
    OK(MPI_Allgather(&base, 1, MPI_AINT, bases, 1, MPI_AINT, MPI_COMM_WORLD));
  }
  memset(model, 0, (size_t)size * (size_t)bytes);
  memset(mine, 0, (size_t)bytes);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  for (int i = 0; i < 12; ++i) epoch(win, mine, part, bases, unit, i % 4);
  if (bases != NULL) OK(MPI_Win_detach(win, mine));
  OK(MPI_Win_free(&win));
  if (flavor == MPI_WIN_FLAVOR_CREATE || flavor == MPI_WIN_FLAVOR_DYNAMIC) free(mine);
  free(bases);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  model = malloc((size_t)size * kMost * sizeof(int));
  got = malloc(sizeof(int) * kOps * 3000);
  expected = malloc(sizeof(int) * kOps * 3000);
  const int flavors[] = {MPI_WIN_FLAVOR_ALLOCATE, MPI_WIN_FLAVOR_SHARED, MPI_WIN_FLAVOR_CREATE,
                         MPI_WIN_FLAVOR_DYNAMIC};
  MPI_Comm host;
  int here = 0;
  OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host));
  OK(MPI_Comm_size(host, &here));
  OK(MPI_Allreduce(MPI_IN_PLACE, &here, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
  OK(MPI_Comm_free(&host));
  for (unsigned seed = 1; seed <= 3; ++seed)
    for (int i = 0; i < 4; ++i) {
      if (flavors[i] == MPI_WIN_FLAVOR_SHARED && here < size)
        continue;  // several hosts share no
                   // memory
      state = seed * 4 + (unsigned)i;
      epochs(flavors[i], seed == 1 ? 200 : kMost);
    }
  free(model);
  free(got);
  free(expected);
  return end();
}
