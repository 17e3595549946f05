// SPDX-License-Identifier: Apache-2.0
// A rank passes wrong arguments, and the error handler returns. Waiting ranks and later collectives
// of the communicator fail, but messages and copies work. If all ranks refuse a call, the
// communicator stays usable.
// ranks: 2 3 5
// timeout: 120
// variant: threads
//   With locks, and with an RTS for every message.
//   args: threads
//   env: TERN_EAGER_LIMIT=0
#include "check.h"

enum { kBlocking, kNonblocking, kPersistent, kForms, kMostInts = 65536 };
enum Kind { kAllreduce, kAlltoall, kAllgather, kReduceScatter, kBcast, kGather, kReduce, kKinds };

static int *in, *out, form;
static MPI_Comm comm;
static MPI_Request request;

static int finish(int code) {
  if (code != MPI_SUCCESS || form == kBlocking) return code;
  if (form == kPersistent) OK(MPI_Start(&request));
  code = MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (form == kPersistent) OK(MPI_Request_free(&request));
  return code;
}

#define RUN(name, i_name, ...)                                              \
  finish(form == kBlocking      ? MPI_##name(__VA_ARGS__, comm)             \
         : form == kNonblocking ? MPI_##i_name(__VA_ARGS__, comm, &request) \
                                : MPI_##name##_init(__VA_ARGS__, comm, MPI_INFO_NULL, &request))

static int run(enum Kind kind, int count, MPI_Datatype type, int root) {
  switch (kind) {
    case kAllreduce:
      return RUN(Allreduce, Iallreduce, in, out, count, type, MPI_SUM);
    case kAlltoall:
      return RUN(Alltoall, Ialltoall, in, count, type, out, count, type);
    case kAllgather:
      return RUN(Allgather, Iallgather, in, count, type, out, count, type);
    case kReduceScatter:
      return RUN(Reduce_scatter_block, Ireduce_scatter_block, in, out, count, type, MPI_SUM);
    case kBcast:
      return RUN(Bcast, Ibcast, in, count, type, root);
    case kGather:
      return RUN(Gather, Igather, in, count, type, out, count, type, root);
    default:
      return RUN(Reduce, Ireduce, in, out, count, type, MPI_SUM, root);
  }
}

static void is_over(void) {
  int sum = 0, code = MPI_SUCCESS, tries = 0, told = -1;
  for (; code == MPI_SUCCESS; ++tries) {
    CHECK(tries < 3);
    code = MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
  }
  CHECK_EQ(class_of(code), MPI_ERR_OTHER);
  CHECK(strstr(error_text(code), "takes no part") != NULL ||
        strstr(error_text(code), "took part") != NULL);
  request = MPI_REQUEST_NULL;
  FAILS(MPI_Ibarrier(comm, &request), MPI_ERR_OTHER);
  FAILS(MPI_Barrier_init(comm, MPI_INFO_NULL, &request), MPI_ERR_OTHER);
  OK(MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 0, &told, 1, MPI_INT,
                  (rank + size - 1) % size, 0, comm, MPI_STATUS_IGNORE));
  CHECK_EQ(told, (rank + size - 1) % size);
}

static void begin_on_a_copy(void) { OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm)); }

static void works(void) {
  int sum = 0;
  OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm));
  CHECK_EQ(sum, size * (size - 1) / 2);
  OK(MPI_Bcast(&sum, 1, MPI_INT, size - 1, comm));
  OK(MPI_Barrier(comm));
}

static void end_by_its_copy(void) {
  MPI_Comm copy;
  OK(MPI_Comm_dup(comm, &copy));
  OK(MPI_Comm_free(&comm));
  comm = copy;
  works();
  OK(MPI_Comm_free(&comm));
}

static int run_wrongly(enum Kind kind, int count, int how, int root) {
  return how == 0 ? run(kind, -1, MPI_INT, root) : run(kind, count, MPI_DATATYPE_NULL, root);
}

static void refuses(enum Kind kind, int count, int victim, int how, int warm) {
  const int root = (victim + 1) % size,
            needs_all = kind < kBcast || (rank == root && kind != kBcast);
  begin_on_a_copy();
  if (warm) works();
  const int code =
      rank == victim ? run_wrongly(kind, count, how, root) : run(kind, count, MPI_INT, root);
  if (rank == victim) {
    CHECK_EQ(class_of(code), how == 0 ? MPI_ERR_COUNT : MPI_ERR_TYPE);
  } else if (needs_all && class_of(code) != MPI_ERR_OTHER) {
    FAIL("kind %d, form %d, count %d: %s", kind, form, count, error_text(code));
  }
  is_over();
  end_by_its_copy();
}

static void refuses_as_root(int count, int victim) {
  begin_on_a_copy();
  const int code = rank == victim ? MPI_Bcast(in, -1, MPI_INT, victim, comm)
                                  : MPI_Bcast(in, count, MPI_INT, victim, comm);
  CHECK_EQ(class_of(code), rank == victim ? MPI_ERR_COUNT : MPI_ERR_OTHER);
  is_over();
  end_by_its_copy();
}

static void all_refuse(void) {
  begin_on_a_copy();
  for (int round = 0; round < 3; ++round) {
    works();
    for (form = kBlocking; form < kForms; ++form)
      for (int how = 0; how < 2; ++how)
        CHECK_EQ(class_of(run_wrongly((enum Kind)(round + form), 3, how, 0)),
                 how == 0 ? MPI_ERR_COUNT : MPI_ERR_TYPE);
    works();
    MPI_Request sum_request;
    int sum = 0;
    OK(MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm, &sum_request));
    OK(MPI_Wait(&sum_request, MPI_STATUS_IGNORE));
    CHECK_EQ(sum, size * (size - 1) / 2);
  }
  OK(MPI_Comm_free(&comm));
}

// If only buffers are wrong, the rank's next correct call joins the collective.
static void makes_up(int victim) {
  const int bad = rank == victim;
  int sum = 0;
  begin_on_a_copy();
  for (int round = 0; round < 3; ++round) {
    if (bad) FAILS(MPI_Allreduce(in, in, 1, MPI_INT, MPI_SUM, comm), MPI_ERR_BUFFER);
    if (bad) FAILS(MPI_Reduce(in, in, 1, MPI_INT, MPI_SUM, victim, comm), MPI_ERR_BUFFER);
    OK(MPI_Reduce(&rank, &sum, 1, MPI_INT, MPI_SUM, victim, comm));
    if (bad) CHECK_EQ(sum, size * (size - 1) / 2);
    works();
  }
  OK(MPI_Comm_free(&comm));
}

// As in MPICH, rank 0 also checks the unused result buffer.
static void all_refuse_exscan(void) {
  begin_on_a_copy();
  FAILS(MPI_Exscan(in, in, 2, MPI_INT, MPI_SUM, comm), MPI_ERR_BUFFER);
  FAILS(MPI_Iexscan(in, in, 2, MPI_INT, MPI_SUM, comm, &request), MPI_ERR_BUFFER);
  works();
  OK(MPI_Comm_free(&comm));
}

static void does_not_make_up(int victim, int how) {
  begin_on_a_copy();
  if (rank == victim) {
    FAILS(MPI_Allreduce(in, in, 1, MPI_INT, MPI_SUM, comm), MPI_ERR_BUFFER);
    if (how == 0) OK(MPI_Comm_free(&comm));
    if (how == 1) OK(MPI_Recv(out, 1, MPI_INT, (victim + 1) % size, 5, comm, MPI_STATUS_IGNORE));
  } else {
    FAILS(MPI_Allreduce(in, out, 1, MPI_INT, MPI_SUM, comm), MPI_ERR_OTHER);
    if (how == 1 && rank == (victim + 1) % size) OK(MPI_Send(in, 1, MPI_INT, victim, 5, comm));
  }
  if (comm != MPI_COMM_NULL) OK(MPI_Comm_free(&comm));
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

// Other faults fail at once. Persistent and blocking calls never match.
static void is_told_at_once(int victim, int persistent) {
  begin_on_a_copy();
  const int bad = rank == victim;
  int code;
  request = MPI_REQUEST_NULL;
  if (persistent)
    code =
        MPI_Allreduce_init(in, bad ? in : out, 9, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request);
  else
    code = MPI_Allreduce(in, bad ? NULL : out, kMostInts, MPI_INT, MPI_SUM, comm);
  if (bad || !persistent) CHECK_EQ(class_of(code), bad ? MPI_ERR_BUFFER : MPI_ERR_OTHER);
  if (!bad && persistent) {
    if (code == MPI_SUCCESS) code = MPI_Start(&request);
    if (code == MPI_SUCCESS) code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK_EQ(class_of(code), MPI_ERR_OTHER);
    if (request != MPI_REQUEST_NULL) OK(MPI_Request_free(&request));
  }
  is_over();
  end_by_its_copy();
}

static void among_others(int victim, int count) {
  enum { kAll = 24, kBad = 11 };
  MPI_Request all[kAll];
  begin_on_a_copy();
  for (int i = 0; i < kAll; ++i) {
    all[i] = MPI_REQUEST_NULL;
    const int bad = i == kBad && rank == victim;
    const int code =
        MPI_Iallreduce(in, out + i * count, bad ? -1 : count, MPI_INT, MPI_SUM, comm, &all[i]);
    if (bad || code != MPI_SUCCESS) CHECK_EQ(class_of(code), bad ? MPI_ERR_COUNT : MPI_ERR_OTHER);
  }
  for (int i = 0; i < kAll; ++i) {
    const int code = MPI_Wait(&all[i], MPI_STATUS_IGNORE);
    if (code != MPI_SUCCESS || (i >= kBad && rank != victim && all[i] != MPI_REQUEST_NULL))
      CHECK_EQ(class_of(code), MPI_ERR_OTHER);
  }
  is_over();
  end_by_its_copy();
}

static void persistent_starts(int victim) {
  MPI_Request good, bad;
  int sum = 0;
  begin_on_a_copy();
  OK(MPI_Allreduce_init(&rank, &sum, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &good));
  OK(MPI_Start(&good));
  OK(MPI_Wait(&good, MPI_STATUS_IGNORE));
  CHECK_EQ(sum, size * (size - 1) / 2);
  OK(MPI_Barrier(MPI_COMM_WORLD));  // a waiting rank would see the failure
  bad = MPI_REQUEST_NULL;
  int code =
      MPI_Bcast_init(in, rank == victim ? -1 : 1, MPI_INT, victim, comm, MPI_INFO_NULL, &bad);
  if (rank == victim) CHECK_EQ(class_of(code), MPI_ERR_COUNT);
  if (rank != victim && code == MPI_SUCCESS) {
    code = MPI_Start(&bad);
    if (code == MPI_SUCCESS) code = MPI_Wait(&bad, MPI_STATUS_IGNORE);
    CHECK_EQ(class_of(code), MPI_ERR_OTHER);
    OK(MPI_Request_free(&bad));
  }
  is_over();
  FAILS(MPI_Start(&good), MPI_ERR_OTHER);
  OK(MPI_Request_free(&good));
  end_by_its_copy();
}

// If the call synchronizes, all ranks get an error. Later calls work.
static void creating(int victim) {
  begin_on_a_copy();
  const int bad = rank == victim, all[1] = {size}, none[1] = {0}, self[1] = {rank}, one[1] = {1};
  const int wrong[1] = {-7};
  MPI_Comm made;
  int code = MPI_Comm_split(comm, bad ? -5 : 0, 0, &made);
  CHECK_EQ(class_of(code), bad ? MPI_ERR_ARG : MPI_ERR_ARG);
  code = MPI_Comm_split(comm, 0, 0, bad ? NULL : &made);
  CHECK_EQ(class_of(code), MPI_ERR_ARG);
  code = MPI_Comm_split_type(comm, bad ? 4711 : MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &made);
  CHECK_EQ(class_of(code), MPI_ERR_ARG);
  code = MPI_Comm_split_type(comm, bad ? MPI_COMM_TYPE_HW_UNGUIDED : MPI_COMM_TYPE_SHARED, 0,
                             MPI_INFO_NULL, &made);
  CHECK_EQ(class_of(code), MPI_ERR_ARG);
  code = MPI_Dist_graph_create(comm, 1, self, one, bad ? wrong : self, MPI_UNWEIGHTED,
                               MPI_INFO_NULL, 0, &made);
  CHECK_EQ(class_of(code), bad ? MPI_ERR_RANK : MPI_ERR_OTHER);
  code = MPI_Cart_create(comm, 1, bad ? none : all, none, 0, &made);
  CHECK_EQ(class_of(code), bad ? MPI_ERR_DIMS : MPI_SUCCESS);
  if (!bad) OK(MPI_Comm_free(&made));
  code = MPI_Comm_dup(comm, bad ? NULL : &made);
  CHECK_EQ(class_of(code), bad ? MPI_ERR_ARG : MPI_SUCCESS);
  if (!bad) OK(MPI_Comm_free(&made));
  OK(MPI_Comm_dup(comm, &made));
  OK(MPI_Barrier(made));
  OK(MPI_Comm_free(&made));
  OK(MPI_Comm_free(&comm));
}

static void between(int victim) {
  MPI_Comm own, inter, copy;
  begin_on_a_copy();
  OK(MPI_Comm_split(comm, rank % 2, rank, &own));
  OK(MPI_Intercomm_create(own, 0, comm, 1 - rank % 2, 3, &inter));
  OK(MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN));
  const int code = MPI_Allreduce(in, out, rank == victim ? -1 : 10, MPI_INT, MPI_SUM, inter);
  CHECK_EQ(class_of(code), rank == victim ? MPI_ERR_COUNT : MPI_ERR_OTHER);
  FAILS(MPI_Barrier(inter), MPI_ERR_OTHER);
  OK(MPI_Comm_dup(inter, &copy));
  OK(MPI_Barrier(copy));
  OK(MPI_Comm_free(&copy));
  OK(MPI_Comm_free(&inter));
  OK(MPI_Comm_free(&own));
}

static void makes_between(int victim) {
  MPI_Comm own, inter, made;
  MPI_Group group;
  begin_on_a_copy();
  OK(MPI_Comm_split(comm, rank % 2, rank, &own));
  OK(MPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN));
  const int leads = rank < 2;
  FAILS(MPI_Intercomm_create(own, 0, comm, 1 - rank % 2, leads ? -1 : 3, &inter),
        leads ? MPI_ERR_TAG : MPI_ERR_COMM);
  OK(MPI_Intercomm_create(own, 0, comm, 1 - rank % 2, 3, &inter));
  OK(MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN));
  OK(MPI_Comm_group(own, &group));
  const int code = MPI_Comm_create(inter, rank == victim ? MPI_GROUP_NULL : group, &made);
  if (rank == victim)
    CHECK_EQ(class_of(code), MPI_ERR_GROUP);
  else
    CHECK(code == MPI_SUCCESS || class_of(code) == MPI_ERR_OTHER);
  if (code == MPI_SUCCESS) OK(MPI_Comm_free(&made));
  OK(MPI_Comm_create(inter, group, &made));
  OK(MPI_Barrier(made));
  OK(MPI_Comm_free(&made));
  OK(MPI_Group_free(&group));
  OK(MPI_Comm_free(&inter));
  OK(MPI_Comm_free(&own));
  OK(MPI_Comm_free(&comm));
}

int main(int argc, char** argv) {
  static const int counts[] = {1, 300, 3000, kMostInts};
  if (argc > 1)
    begin_with_threads(&argc, &argv);
  else
    begin(&argc, &argv);
  in = (int*)calloc((size_t)(kMostInts * size), sizeof(int));
  out = (int*)calloc((size_t)(kMostInts * size), sizeof(int));
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  for (int kind = 0; kind < kKinds; ++kind)
    for (form = kBlocking; form < kForms; ++form)
      for (int c = 0; c < 4; ++c)
        refuses((enum Kind)kind, counts[c], (kind + form + c) % size, c % 2, (c + form) % 2);
  for (int c = 0; c < 4; ++c) refuses_as_root(counts[c], c % size);
  all_refuse();
  all_refuse_exscan();
  for (int victim = 0; victim < size; ++victim) {
    among_others(victim, 1);
    among_others(victim, 700);
    persistent_starts(victim);
    is_told_at_once(victim, 0);
    is_told_at_once(victim, 1);
    makes_up(victim);
    does_not_make_up(victim, victim % 2);
    creating(victim);
    between(victim);
    makes_between(victim);
  }
  free(in);
  free(out);
  return end();
}
