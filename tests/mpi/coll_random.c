// SPDX-License-Identifier: Apache-2.0
// Random collectives and messages on overlapping, short-lived communicators. The test takes up to 3
// seconds, or a minute with --full.
// ranks: 1 2 3 5 8
// timeout: 120
#include "check.h"

enum { kComms = 6, kMany = 16, kMostCount = 5000 };

static unsigned shared_state = 99, own_state;
static unsigned next_of(unsigned* state) {
  *state = *state * 1664525u + 1013904223u;
  return *state >> 8;
}
static unsigned shared_random(void) { return next_of(&shared_state); }  // equal on all ranks

static MPI_Comm comms[kComms];

static void make_comm(int i) {
  const unsigned how = shared_random(), salt = shared_random();
  int color = 0;
  if (comms[i] != MPI_COMM_NULL && comms[i] != MPI_COMM_WORLD) OK(MPI_Comm_free(&comms[i]));
  if (how % 3 == 0) color = (int)((unsigned)rank % 2);
  if (how % 3 == 1) color = (int)(((unsigned)rank * 2654435761u + salt) >> 30);
  const int key = how % 5 == 0 ? -rank : rank;
  OK(MPI_Comm_split(MPI_COMM_WORLD, color == 3 ? MPI_UNDEFINED : color, key, &comms[i]));
}

enum Kind {
  kBarrier,
  kBcast,
  kGather,
  kScatter,
  kAllgather,
  kAlltoall,
  kReduce,
  kAllreduce,
  kReduceScatter,
  kScan,
  kExscan,
  kMessage,
  kKinds
};
struct Started {
  enum Kind kind;
  int count, root, me, n;
  long *in, *out;
};

static long value(int from, long i) { return from * 1000003L + i * 17; }

static void start(struct Started* op, MPI_Comm comm, int tag, MPI_Request* requests) {
  OK(MPI_Comm_rank(comm, &op->me));
  OK(MPI_Comm_size(comm, &op->n));
  op->root %= op->n;
  const long most = (long)op->count * op->n;
  op->in = malloc(sizeof(long) * (size_t)(most + 1));
  op->out = malloc(sizeof(long) * (size_t)(most + 1));
  for (long i = 0; i < most; ++i) op->in[i] = value(op->me, i);
  const int c = op->count, root = op->root, next = (op->me + 1) % op->n;
  const int before = (op->me + op->n - 1) % op->n;
  MPI_Request* r = &requests[0];
  const MPI_Datatype t = MPI_LONG;
  if (op->kind == kBcast) memcpy(op->out, op->in, sizeof(long) * (size_t)most);
  switch (op->kind) {
    case kBarrier:
      OK(MPI_Ibarrier(comm, r));
      break;
    case kBcast:
      OK(MPI_Ibcast(op->out, c, t, root, comm, r));
      break;
    case kGather:
      OK(MPI_Igather(op->in, c, t, op->out, c, t, root, comm, r));
      break;
    case kScatter:
      OK(MPI_Iscatter(op->in, c, t, op->out, c, t, root, comm, r));
      break;
    case kAllgather:
      OK(MPI_Iallgather(op->in, c, t, op->out, c, t, comm, r));
      break;
    case kAlltoall:
      OK(MPI_Ialltoall(op->in, c, t, op->out, c, t, comm, r));
      break;
    case kReduce:
      OK(MPI_Ireduce(op->in, op->out, c, t, MPI_SUM, root, comm, r));
      break;
    case kAllreduce:
      OK(MPI_Iallreduce(op->in, op->out, c, t, MPI_SUM, comm, r));
      break;
    case kReduceScatter:
      OK(MPI_Ireduce_scatter_block(op->in, op->out, c, t, MPI_SUM, comm, r));
      break;
    case kScan:
      OK(MPI_Iscan(op->in, op->out, c, t, MPI_SUM, comm, r));
      break;
    case kExscan:
      OK(MPI_Iexscan(op->in, op->out, c, t, MPI_SUM, comm, r));
      break;
    case kMessage:
      OK(MPI_Irecv(op->out, c, t, before, tag, comm, &requests[1]));
      OK(MPI_Isend(op->in, c, t, next, tag, comm, r));
      break;
    case kKinds:
      break;
  }
}

static long sum(int ranks, long i) { return ranks * (ranks - 1L) / 2 * 1000003L + ranks * i * 17; }

static void expect_blocks(const struct Started* op, int blocks, int place) {
  for (int b = 0; b < blocks; ++b)
    for (long i = 0; i < op->count; ++i)
      CHECK_EQ(op->out[b * (long)op->count + i], value(b, place * (long)op->count + i));
}

static void verify(struct Started* op) {
  const int c = op->count, n = op->n, at_root = op->me == op->root;
  for (long i = 0; i < c; ++i) {
    if (op->kind == kBcast) CHECK_EQ(op->out[i], value(op->root, i));
    if (op->kind == kScatter) CHECK_EQ(op->out[i], value(op->root, (long)op->me * c + i));
    if (op->kind == kAllreduce || (op->kind == kReduce && at_root)) CHECK_EQ(op->out[i], sum(n, i));
    if (op->kind == kReduceScatter) CHECK_EQ(op->out[i], sum(n, (long)op->me * c + i));
    if (op->kind == kScan) CHECK_EQ(op->out[i], sum(op->me + 1, i));
    if (op->kind == kExscan && op->me > 0) CHECK_EQ(op->out[i], sum(op->me, i));
    if (op->kind == kMessage) CHECK_EQ(op->out[i], value((op->me + n - 1) % n, i));
  }
  if (op->kind == kAllgather || (op->kind == kGather && at_root)) expect_blocks(op, n, 0);
  if (op->kind == kAlltoall) expect_blocks(op, n, op->me);
  free(op->in);
  free(op->out);
}

static void round_of_many(void) {
  struct Started ops[kMany];
  MPI_Request requests[2 * kMany];
  int alive[kMany], left = 0;
  for (int i = 0; i < kMany; ++i) {
    const unsigned r = shared_random();
    const int size_class = (int)(shared_random() % 4);
    const MPI_Comm comm = comms[shared_random() % kComms];
    ops[i].kind = (enum Kind)(r % kKinds);
    ops[i].count = (int)(shared_random() % (size_class == 0 ? kMostCount : 40));
    ops[i].root = (int)(shared_random() % 64);
    requests[2 * i] = requests[2 * i + 1] = MPI_REQUEST_NULL;
    if (comm == MPI_COMM_NULL) continue;
    start(&ops[i], comm, i, &requests[2 * i]);
    alive[left++] = i;
  }
  while (left > 0) {
    const int pick = (int)(next_of(&own_state) % (unsigned)left), i = alive[pick];
    int done = 1;
    if (next_of(&own_state) % 3 == 0)
      OK(MPI_Testall(2, &requests[2 * i], &done, MPI_STATUSES_IGNORE));
    else
      OK(MPI_Waitall(2, &requests[2 * i], MPI_STATUSES_IGNORE));
    if (!done) continue;
    verify(&ops[i]);
    alive[pick] = alive[--left];
  }
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  const char* full = getenv("FULL");
  const int longer = full != NULL && *full != '\0';
  const double most = longer ? 60 : 3, began = MPI_Wtime();
  own_state = 7 + (unsigned)rank;
  for (int i = 0; i < kComms; ++i) comms[i] = i == 0 ? MPI_COMM_WORLD : MPI_COMM_NULL;
  for (int i = 1; i < kComms; ++i) make_comm(i);
  for (int round = 0, on = 1; on; ++round) {
    round_of_many();
    if (round % 5 == 4) make_comm(1 + (int)(shared_random() % (kComms - 1)));
    on = MPI_Wtime() - began < most && (longer || round < 400);
    OK(MPI_Bcast(&on, 1, MPI_INT, 0, MPI_COMM_WORLD));
  }
  for (int i = 1; i < kComms; ++i)
    if (comms[i] != MPI_COMM_NULL) OK(MPI_Comm_free(&comms[i]));
  return end();
}
