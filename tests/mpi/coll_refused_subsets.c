// SPDX-License-Identifier: Apache-2.0
// Random subsets of ranks pass wrong arguments to collectives: every call ends, messages arrive,
// and a copy of the communicator works. Argument 1 is the seed; argument 2 prints every call.
//
// ranks: 2 3 4
// full-ranks: 5 7
// timeout: 120
// waits: yes
#include "check.h"

enum { kInts = 64, kMost = 8 };
enum { kBlocking, kNonblocking, kPersistent, kForms };
enum { kRight, kCount, kType, kRoot, kOp, kAliased, kNull, kFaults };
enum {
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
  kGatherv,
  kAlltoallv,
  kKinds
};

static int in[kInts * kMost], out[kInts * kMost], counts[kMost], displs[kMost];
static MPI_Comm comm;
static unsigned long long state;

static unsigned below(unsigned n) {  // equal on all ranks
  state = state * 6364136223846793005ull + 1442695040888963407ull;
  return (unsigned)(state >> 33) % n;
}

static int finish(int code, int form, MPI_Request* request) {
  if (code != MPI_SUCCESS || form == kBlocking) return code;
  if (form == kPersistent) code = MPI_Start(request);
  if (code == MPI_SUCCESS) code = MPI_Wait(request, MPI_STATUS_IGNORE);
  if (form == kPersistent) MPI_Request_free(request);
  return code;
}

#define RUN(name, i_name, ...)                                                             \
  finish(form == kBlocking      ? MPI_##name(__VA_ARGS__)                                  \
         : form == kNonblocking ? MPI_##i_name(__VA_ARGS__, &request)                      \
                                : MPI_##name##_init(__VA_ARGS__, MPI_INFO_NULL, &request), \
         form, &request)

static int call(int kind, int form, int fault, int root) {
  MPI_Request request = MPI_REQUEST_NULL;
  const int n = fault == kCount ? -1 : 4;
  const MPI_Datatype type = fault == kType ? MPI_DATATYPE_NULL : MPI_INT;
  const MPI_Op op = fault == kOp ? MPI_OP_NULL : MPI_SUM;
  int* const to = fault == kAliased ? in : fault == kNull ? NULL : out;
  int* const sizes = fault == kNull ? NULL : counts;
  if (fault == kRoot) root = size + 5;
  if (fault == kCount) counts[size - 1] = -1;
  int code = MPI_SUCCESS;
  switch (kind) {
    case kBarrier:
      code = form == kBlocking      ? MPI_Barrier(comm)
             : form == kNonblocking ? MPI_Ibarrier(comm, &request)
                                    : MPI_Barrier_init(comm, MPI_INFO_NULL, &request);
      code = finish(code, form, &request);
      break;
    case kBcast:
      code = RUN(Bcast, Ibcast, fault == kNull ? NULL : in, n, type, root, comm);
      break;
    case kGather:
      code = RUN(Gather, Igather, in, n, type, to, n, type, root, comm);
      break;
    case kScatter:
      code = RUN(Scatter, Iscatter, in, n, type, to, n, type, root, comm);
      break;
    case kAllgather:
      code = RUN(Allgather, Iallgather, in, n, type, to, n, type, comm);
      break;
    case kAlltoall:
      code = RUN(Alltoall, Ialltoall, in, n, type, to, n, type, comm);
      break;
    case kReduce:
      code = RUN(Reduce, Ireduce, in, to, n, type, op, root, comm);
      break;
    case kAllreduce:
      code = RUN(Allreduce, Iallreduce, in, to, n, type, op, comm);
      break;
    case kReduceScatter:
      code = RUN(Reduce_scatter_block, Ireduce_scatter_block, in, to, n, type, op, comm);
      break;
    case kScan:
      code = RUN(Scan, Iscan, in, to, n, type, op, comm);
      break;
    case kExscan:
      code = RUN(Exscan, Iexscan, in, to, n, type, op, comm);
      break;
    case kGatherv:
      code = RUN(Gatherv, Igatherv, in, n, type, to, sizes, displs, type, root, comm);
      break;
    default:
      code = RUN(Alltoallv, Ialltoallv, in, sizes, displs, type, to, sizes, displs, type, comm);
      break;
  }
  counts[size - 1] = 4;
  return code;
}

static void fill_both(void) {
  for (int i = 0; i < kInts * kMost; ++i) {
    in[i] = 100 * rank + i;
    out[i] = -1;
  }
}

static void messages_work(void) {
  int told = -1;
  OK(MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 7, &told, 1, MPI_INT,
                  (rank + size - 1) % size, 7, comm, MPI_STATUS_IGNORE));
  CHECK_EQ(told, (rank + size - 1) % size);
}

static void a_copy_works(void) {
  MPI_Comm copy;
  OK(MPI_Comm_dup(comm, &copy));
  int sum = 0;
  OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, copy));
  CHECK_EQ(sum, size * (size - 1) / 2);
  OK(MPI_Comm_free(&copy));
}

static int verbose;
#define say(...)                     \
  do {                               \
    if (verbose) {                   \
      fprintf(stderr, "%d: ", rank); \
      fprintf(stderr, __VA_ARGS__);  \
      fprintf(stderr, "\n");         \
    }                                \
  } while (0)

static void one(unsigned wrong) {
  const int kind = (int)below(kKinds), form = (int)below(kForms), root = (int)below((unsigned)size);
  const int fault = 1 + (int)below(kFaults - 1), others = (int)below(4);
  say("wrong %u: kind %d, form %d, fault %d, root %d", wrong, kind, form, fault, root);
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  fill_both();
  const int mine = wrong >> rank & 1;
  const int code = call(kind, form, mine ? fault : kRight, root);
  say("  code %s", error_text(code));
  if (wrong == 0) CHECK_EQ(code, MPI_SUCCESS);
  for (int i = 0; i < others; ++i) {
    fill_both();
    const int next = (int)below(kKinds), next_form = (int)below(kForms);
    const int next_fault = 1 + (int)below(kFaults - 1);
    const unsigned again = wrong != 0 && below(4) == 0 ? below(1u << size) : 0;
    say("  then kind %d, form %d", next, next_form);
    const int later =
        call(next, next_form, again >> rank & 1 ? next_fault : kRight, (int)below((unsigned)size));
    say("  later %s", error_text(later));
    if (wrong == 0) {
      CHECK_EQ(later, MPI_SUCCESS);
      if (next == kAllreduce) CHECK_EQ(out[1], 100 * (size * (size - 1) / 2) + size);
    }
  }
  messages_work();
  a_copy_works();
  OK(MPI_Comm_free(&comm));
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  verbose = argc > 2;
  state = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
  for (int i = 0; i < kMost; ++i) {
    counts[i] = 4;
    displs[i] = 4 * i;
  }
  const char* full = getenv("FULL");
  const int rounds = full != NULL && *full != '\0' ? 100 : 5;
  for (int round = 0; round < rounds; ++round)
    for (unsigned wrong = 0; wrong < 1u << size; ++wrong) one(wrong);
  return end();
}
