// SPDX-License-Identifier: Apache-2.0
// Collectives with a common base address of both buffers: MPI_BOTTOM with absolute types, or
// separate or interleaved data of an array. SEED=number repeats a round.
// ranks: 1 2 3 5
#include "check.h"

enum { kRounds = 60, kMost = 64, kManyInts = 5000 };
enum Kind {
  kBcast,
  kGather,
  kScatter,
  kAllgather,
  kAlltoall,
  kNeighborAllgather,
  kNeighborAlltoall,
  kReduce,
  kAllreduce,
  kReduceScatter,
  kScan,
  kExscan,
  kKinds
};
enum { kBlocking, kNonblocking, kPersistent, kForms };
enum { kEqual, kVarying, kTyped };
static const char* const kNames[] = {"bcast",
                                     "gather",
                                     "scatter",
                                     "allgather",
                                     "alltoall",
                                     "neighbor_allgather",
                                     "neighbor_alltoall",
                                     "reduce",
                                     "allreduce",
                                     "reduce_scatter",
                                     "scan",
                                     "exscan"};

struct Call {
  enum Kind kind;
  int form, sizes, root, count, inside;
};

// Integer i of block b is at start + (displs[b] + i) * step.
struct Side {
  int blocks, start, step, total;
  int counts[kMost], displs[kMost], from[kMost], to[kMost];
  MPI_Aint bytes[kMost];
  MPI_Datatype type, types[kMost];
};

static int *array, *expected, length;
static unsigned shared, own;
static MPI_Comm ring;
static MPI_Aint absolute;  // the array's address for absolute types, else 0
static MPI_Aint reduced_at;

static unsigned next_of(unsigned* state, unsigned below) {
  *state = *state * 1664525u + 1013904223u;
  return (*state >> 8) % below;
}

static int count_of(const struct Call* call, int from, int to) {
  return call->sizes == kEqual ? call->count : call->count * ((from + 2 * to) % 3);
}
static int value(int from, int to, int i) { return from * 1000003 + to * 10007 + i * 31 + 1; }
static int at(const struct Side* side, int b, int i) {
  return side->start + (side->displs[b] + i) * side->step;
}

static void add_block(struct Side* side, const struct Call* call, int from, int to) {
  const int all = call->kind == kAllgather || call->kind == kNeighborAllgather;
  side->from[side->blocks] = from;
  side->to[side->blocks] = all ? 0 : to;
  side->counts[side->blocks] = count_of(call, from, side->to[side->blocks]);
  side->total += side->counts[side->blocks++];
}

static void add_blocks(struct Side* side, const struct Call* call, int sends) {
  const int root = rank == call->root;
  switch (call->kind) {
    case kGather:
    case kScatter: {
      const int many = (call->kind == kScatter) == sends;
      if (many && !root) return;
      for (int b = 0; b < (many ? size : 1); ++b)
        add_block(side, call,
                  call->kind == kScatter ? call->root
                  : many                 ? b
                                         : rank,
                  call->kind == kGather ? call->root
                  : many                ? b
                                        : rank);
      return;
    }
    case kNeighborAllgather:
    case kNeighborAlltoall: {
      const int beside = sends ? (rank + 1) % size : (rank + size - 1) % size;
      for (int b = 0; b < (sends && call->kind == kNeighborAllgather ? 1 : 2); ++b) {
        const int with = b == 0 ? rank : beside;
        add_block(side, call, sends ? rank : with, sends ? with : rank);
      }
      return;
    }
    default:
      for (int b = 0; b < (sends && call->kind == kAllgather ? 1 : size); ++b)
        add_block(side, call, sends ? rank : b, sends ? b : rank);
  }
}

static void settle(struct Side* side, const struct Call* call) {
  int next = 0;
  for (int i = 0; i < side->blocks; ++i) {
    const int b = call->sizes == kEqual ? i : side->blocks - 1 - i;
    side->displs[b] = next;
    next += side->counts[b];
  }
}

static MPI_Datatype type_of(int start, int step) {
  const int one = 1;
  const MPI_Aint where = absolute + start * (MPI_Aint)sizeof(int);
  MPI_Datatype placed, made;
  OK(MPI_Type_create_hindexed(1, &one, &where, MPI_INT, &placed));
  OK(MPI_Type_create_resized(placed, 0, step * (MPI_Aint)sizeof(int), &made));
  OK(MPI_Type_commit(&made));
  OK(MPI_Type_free(&placed));
  return made;
}

static void make_type(struct Side* side) {
  side->type = type_of(side->start, side->step);
  for (int b = 0; b < side->blocks; ++b) {
    side->types[b] = side->type;
    side->bytes[b] = side->displs[b] * side->step * (MPI_Aint)sizeof(int);
  }
}

static void* base(void) { return absolute != 0 ? MPI_BOTTOM : (void*)array; }

#define FORMS(name, i_name, ...)                                                               \
  do {                                                                                         \
    if (call->form == kBlocking) OK(MPI_##name(__VA_ARGS__));                                  \
    if (call->form == kNonblocking) OK(MPI_##i_name(__VA_ARGS__, request));                    \
    if (call->form == kPersistent) OK(MPI_##name##_init(__VA_ARGS__, MPI_INFO_NULL, request)); \
  } while (0)

static void gathers(const struct Call* call, struct Side* out, struct Side* in,
                    MPI_Request* request) {
  const int root = call->root, sent = out->counts[0], received = in->counts[0];
  const MPI_Comm comm = call->kind == kNeighborAllgather ? ring : MPI_COMM_WORLD;
  if (call->kind == kGather && call->sizes == kEqual)
    FORMS(Gather, Igather, base(), sent, out->type, base(), received, in->type, root, comm);
  if (call->kind == kGather && call->sizes != kEqual)
    FORMS(Gatherv, Igatherv, base(), sent, out->type, base(), in->counts, in->displs, in->type,
          root, comm);
  if (call->kind == kAllgather && call->sizes == kEqual)
    FORMS(Allgather, Iallgather, base(), sent, out->type, base(), received, in->type, comm);
  if (call->kind == kAllgather && call->sizes != kEqual)
    FORMS(Allgatherv, Iallgatherv, base(), sent, out->type, base(), in->counts, in->displs,
          in->type, comm);
  if (call->kind == kNeighborAllgather && call->sizes == kEqual)
    FORMS(Neighbor_allgather, Ineighbor_allgather, base(), sent, out->type, base(), received,
          in->type, comm);
  if (call->kind == kNeighborAllgather && call->sizes != kEqual)
    FORMS(Neighbor_allgatherv, Ineighbor_allgatherv, base(), sent, out->type, base(), in->counts,
          in->displs, in->type, comm);
}

static void scatters(const struct Call* call, struct Side* out, struct Side* in,
                     MPI_Request* request) {
  const int root = call->root;
  if (call->sizes == kEqual)
    FORMS(Scatter, Iscatter, base(), out->counts[0], out->type, base(), in->counts[0], in->type,
          root, MPI_COMM_WORLD);
  else
    FORMS(Scatterv, Iscatterv, base(), out->counts, out->displs, out->type, base(), in->counts[0],
          in->type, root, MPI_COMM_WORLD);
}

static void exchanges(const struct Call* call, struct Side* out, struct Side* in,
                      MPI_Request* request) {
  if (call->sizes == kEqual)
    FORMS(Alltoall, Ialltoall, base(), out->counts[0], out->type, base(), in->counts[0], in->type,
          MPI_COMM_WORLD);
  if (call->sizes == kVarying)
    FORMS(Alltoallv, Ialltoallv, base(), out->counts, out->displs, out->type, base(), in->counts,
          in->displs, in->type, MPI_COMM_WORLD);
  for (int b = 0; b < size; ++b)
    out->displs[b] = (int)out->bytes[b], in->displs[b] = (int)in->bytes[b];
  if (call->sizes == kTyped)
    FORMS(Alltoallw, Ialltoallw, base(), out->counts, out->displs, out->types, base(), in->counts,
          in->displs, in->types, MPI_COMM_WORLD);
}

static void exchanges_beside(const struct Call* call, struct Side* out, struct Side* in,
                             MPI_Request* request) {
  if (call->sizes == kEqual)
    FORMS(Neighbor_alltoall, Ineighbor_alltoall, base(), out->counts[0], out->type, base(),
          in->counts[0], in->type, ring);
  if (call->sizes == kVarying)
    FORMS(Neighbor_alltoallv, Ineighbor_alltoallv, base(), out->counts, out->displs, out->type,
          base(), in->counts, in->displs, in->type, ring);
  if (call->sizes == kTyped)
    FORMS(Neighbor_alltoallw, Ineighbor_alltoallw, base(), out->counts, out->bytes, out->types,
          base(), in->counts, in->bytes, in->types, ring);
}

static void finish(const struct Call* call, MPI_Request* request) {
  if (call->form == kBlocking) return;
  for (int run = 0; run < 2; ++run) {
    if (call->form == kPersistent) OK(MPI_Start(request));
    if (call->form == kPersistent || run == 0) OK(MPI_Wait(request, MPI_STATUS_IGNORE));
  }
  if (call->form == kPersistent) OK(MPI_Request_free(request));
}

static void clear(void) {
  for (int i = 0; i < length; ++i) array[i] = expected[i] = -1 - i;
}

static void compare(const struct Call* call, const char* where) {
  for (int i = 0; i < length; ++i)
    if (array[i] != expected[i])
      FAIL("%s, form %d, sizes %d, root %d, count %d, %s, %s: integer %d is %d, expected %d",
           kNames[call->kind], call->form, call->sizes, call->root, call->count,
           absolute != 0 ? "absolute" : "one base", where, i, array[i], expected[i]);
}

static void move(const struct Call* call) {
  struct Side out = {0}, in = {0};
  MPI_Request request = MPI_REQUEST_NULL;
  const int between = (int)next_of(&own, 2);
  add_blocks(&out, call, 1), add_blocks(&in, call, 0);
  settle(&out, call), settle(&in, call);
  out.step = in.step = between ? 2 : 1 + (int)next_of(&own, 2);
  if (!between) in.step = 1 + (int)next_of(&own, 2);
  in.start = between ? 1 : out.total * out.step;
  make_type(&out), make_type(&in);
  clear();
  for (int b = 0; b < out.blocks; ++b)
    for (int i = 0; i < out.counts[b]; ++i)
      array[at(&out, b, i)] = expected[at(&out, b, i)] = value(out.from[b], out.to[b], i);
  for (int b = 0; b < in.blocks; ++b)
    for (int i = 0; i < in.counts[b]; ++i) expected[at(&in, b, i)] = value(in.from[b], in.to[b], i);
  if (call->kind == kScatter) scatters(call, &out, &in, &request);
  if (call->kind == kAlltoall) exchanges(call, &out, &in, &request);
  if (call->kind == kNeighborAlltoall) exchanges_beside(call, &out, &in, &request);
  gathers(call, &out, &in, &request);
  finish(call, &request);
  compare(call, between ? "between each other" : "apart");
  OK(MPI_Type_free(&out.type));
  OK(MPI_Type_free(&in.type));
}

static void broadcasts(const struct Call* call, MPI_Request* request) {
  const int start = (int)next_of(&own, 5), step = 1 + (int)next_of(&own, 2);
  MPI_Datatype type = type_of(start, step);
  clear();
  for (int i = 0; i < call->count; ++i) {
    expected[start + i * step] = value(call->root, 0, i);
    if (rank == call->root) array[start + i * step] = expected[start + i * step];
  }
  FORMS(Bcast, Ibcast, base(), call->count, type, call->root, MPI_COMM_WORLD);
  finish(call, request);
  compare(call, "one buffer");
  OK(MPI_Type_free(&type));
}

static void add(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  const int* const from = (const int*)((size_t)in + (size_t)reduced_at);
  int* const to = (int*)((size_t)inout + (size_t)reduced_at);
  for (int i = 0; i < *count; ++i) to[i] = (int)((unsigned)from[i] + (unsigned)to[i]);
}
static int sum(int last, int block, int i) {
  unsigned all = 0;
  for (int r = 0; r <= last; ++r) all += (unsigned)value(r, block, i);
  return (int)all;
}

static void start_reduction(const struct Call* call, const void* in, void* out, MPI_Datatype type,
                            MPI_Op op, MPI_Request* request) {
  int counts[kMost];
  for (int b = 0; b < size; ++b) counts[b] = count_of(call, 0, b);
  if (call->kind == kReduce)
    FORMS(Reduce, Ireduce, in, out, call->count, type, op, call->root, MPI_COMM_WORLD);
  if (call->kind == kAllreduce)
    FORMS(Allreduce, Iallreduce, in, out, call->count, type, op, MPI_COMM_WORLD);
  if (call->kind == kScan) FORMS(Scan, Iscan, in, out, call->count, type, op, MPI_COMM_WORLD);
  if (call->kind == kExscan) FORMS(Exscan, Iexscan, in, out, call->count, type, op, MPI_COMM_WORLD);
  if (call->kind == kReduceScatter && call->sizes == kEqual)
    FORMS(Reduce_scatter_block, Ireduce_scatter_block, in, out, call->count, type, op,
          MPI_COMM_WORLD);
  if (call->kind == kReduceScatter && call->sizes != kEqual)
    FORMS(Reduce_scatter, Ireduce_scatter, in, out, counts, type, op, MPI_COMM_WORLD);
}

static int result(const struct Call* call, int b, int i) {
  if (call->kind == kScan) return sum(rank, b, i);
  if (call->kind == kExscan) return sum(rank - 1, b, i);
  return sum(size - 1, b, i);
}

// The type's data starts behind both addresses. Bytes in front of the data must not change.
static void reduces(struct Call* call) {
  const int start = 3, scatters = call->kind == kReduceScatter;
  const int leaf = call->kind == kReduce && rank != call->root;
  const int inside = absolute != 0 || (call->inside && call->form != kPersistent);
  if (absolute != 0 && call->form == kPersistent) call->form = kNonblocking;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Datatype type = type_of(start, 1);
  MPI_Op op;
  OK(MPI_Op_create(add, 0, &op));
  reduced_at = absolute + start * (MPI_Aint)sizeof(int);
  int total = 0;
  for (int b = 0; b < (scatters ? size : 1); ++b)
    total += scatters ? count_of(call, 0, b) : call->count;
  clear();
  for (int b = 0, k = start; b < (scatters ? size : 1); ++b)
    for (int i = 0; i < (scatters ? count_of(call, 0, b) : call->count); ++i, ++k)
      array[k] = expected[k] = value(rank, b, i);
  const int apart = inside || leaf ? 0 : total + 5, own_block = scatters ? rank : 0;
  const int results = leaf || (call->kind == kExscan && rank == 0) ? 0
                      : scatters                                   ? count_of(call, 0, rank)
                                                                   : call->count;
  for (int i = 0; i < results; ++i) expected[start + apart + i] = result(call, own_block, i);
  char* const at_base = (char*)base();
  start_reduction(call, inside && !leaf ? MPI_IN_PLACE : at_base,
                  leaf     ? at_base
                  : inside ? at_base
                           : (char*)(array + apart),
                  type, op, &request);
  finish(call, &request);
  // In place, reduce-scatter defines only the rank's own block. Rank 0's exscan result is
  // undefined.
  if (inside && scatters)
    for (int i = results; i < total; ++i) array[start + i] = expected[start + i];
  compare(call, inside ? "in place" : "apart");
  OK(MPI_Op_free(&op));
  OK(MPI_Type_free(&type));
}

static void make_ring(void) {
  const int sources[2] = {rank, (rank + size - 1) % size}, ends[2] = {rank, (rank + 1) % size};
  OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, sources, MPI_UNWEIGHTED, 2, ends,
                                    MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &ring));
}

static void round_of(unsigned seed) {
  static const int counts[] = {1, 3, 40, 500, kManyInts};
  shared = seed * 2654435761u;
  for (int kind = 0; kind < kKinds; ++kind) {
    struct Call call = {(enum Kind)kind,
                        (int)next_of(&shared, kForms),
                        (int)next_of(&shared, 3),
                        0,
                        counts[next_of(&shared, 5)],
                        0};
    call.root = (int)next_of(&shared, (unsigned)size);
    call.inside = (int)next_of(&shared, 2);
    const int as_absolute = (int)next_of(&shared, 2);
    if (kind != kReduceScatter && call.sizes == kTyped && kind != kAlltoall &&
        kind != kNeighborAlltoall)
      call.sizes = kVarying;
    own = seed * 40503u + (unsigned)rank * 7919u + (unsigned)kind;
    MPI_Request request = MPI_REQUEST_NULL;
    absolute = 0;
    if (as_absolute) OK(MPI_Get_address(array, &absolute));
    if (kind == kBcast) broadcasts(&call, &request);
    if (kind > kBcast && kind < kReduce) move(&call);
    if (kind >= kReduce) reduces(&call);
  }
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  const char* const only = getenv("SEED");
  length = 8 * kManyInts * size + 64;
  array = (int*)malloc(sizeof(int) * (size_t)length);
  expected = (int*)malloc(sizeof(int) * (size_t)length);
  CHECK(array != NULL && expected != NULL);
  make_ring();
  for (unsigned seed = 1; seed <= kRounds; ++seed) {
    if (only == NULL || (unsigned)atoi(only) == seed) round_of(seed);
  }
  OK(MPI_Comm_free(&ring));
  free(array);
  free(expected);
  return end();
}
