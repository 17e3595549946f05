// SPDX-License-Identifier: Apache-2.0
// Neighborhood collectives in all forms, on grids (edges, periods of one and two), graphs and
// distributed graphs with repeated edges.
// ranks: 1 2 3 4 8
#include "check.h"

enum { kMost = 64, kBlock = 3 };
static MPI_Comm comm;
static int me, in, out, sources[kMost], destinations[kMost], grid;

static int value(int from, int to, int i) { return 10000 * from + 10 * to + i; }

// number_there() is this rank's number in the neighbor list of source i.
static int number_there(int i) {
  if (grid) return i ^ 1;  // opposite direction
  int before = 0, seen = 0;
  for (int j = 0; j < i; ++j) before += sources[j] == sources[i];
  // All graphs here have equal edges at every rank: +1, +1, -1.
  const int shifts[] = {1, 1, size - 1};
  for (int j = 0; j < 3; ++j)
    if ((sources[i] + shifts[j]) % size == me && seen++ == before) return j;
  FAIL("source %d has no edge to me", i);
}

static int send_block[kMost * kBlock], receive_block[kMost * kBlock];
static int counts_out[kMost], counts_in[kMost], displs_out[kMost], displs_in[kMost];
static MPI_Aint bytes_out[kMost], bytes_in[kMost];
static MPI_Datatype types_out[kMost], types_in[kMost];

static void prepare(void) {
  for (int i = 0; i < out; ++i)
    for (int k = 0; k < kBlock; ++k) send_block[i * kBlock + k] = value(me, i, k);
  memset(receive_block, -1, sizeof receive_block);
  for (int i = 0; i < out; ++i) {
    counts_out[i] = 1 + i % kBlock;
    displs_out[i] = i * kBlock;
    bytes_out[i] = (MPI_Aint)sizeof(int) * i * kBlock;
    types_out[i] = MPI_INT;
  }
  for (int i = 0; i < in; ++i) {
    const int gap = sources[i] == MPI_PROC_NULL ? 0 : number_there(i) % kBlock;
    counts_in[i] = 1 + gap;
    displs_in[i] = (in - 1 - i) * kBlock;
    bytes_in[i] = (MPI_Aint)sizeof(int) * displs_in[i];
    types_in[i] = MPI_INT;
  }
}

static void check_block(int i, const int* block, int number, int count) {
  for (int k = 0; k < kBlock; ++k) {
    const int none = sources[i] == MPI_PROC_NULL || k >= count;
    CHECK_EQ(block[k], none ? -1 : value(sources[i], number, k));
  }
}

enum Operation { kAllgather, kAllgatherv, kAlltoall, kAlltoallv, kAlltoallw, kOperations };

static void check_result(int operation) {
  for (int i = 0; i < in; ++i) {
    const int there = sources[i] == MPI_PROC_NULL ? 0 : number_there(i);
    if (operation == kAllgather)
      check_block(i, receive_block + i * kBlock, 0, kBlock);
    else if (operation == kAllgatherv)
      check_block(i, receive_block + displs_in[i], 0, kBlock);
    else if (operation == kAlltoall)
      check_block(i, receive_block + i * kBlock, there, kBlock);
    else
      check_block(i, receive_block + displs_in[i], there, counts_in[i]);
  }
}

static void blocking(int operation) {
  prepare();
  int full[kMost];
  for (int i = 0; i < in; ++i) full[i] = kBlock;
  switch (operation) {
    case kAllgather:
      OK(MPI_Neighbor_allgather(send_block, kBlock, MPI_INT, receive_block, kBlock, MPI_INT, comm));
      break;
    case kAllgatherv:
      OK(MPI_Neighbor_allgatherv(send_block, kBlock, MPI_INT, receive_block, full, displs_in,
                                 MPI_INT, comm));
      break;
    case kAlltoall:
      OK(MPI_Neighbor_alltoall_c(send_block, kBlock, MPI_INT, receive_block, kBlock, MPI_INT,
                                 comm));
      break;
    case kAlltoallv:
      OK(MPI_Neighbor_alltoallv(send_block, counts_out, displs_out, MPI_INT, receive_block,
                                counts_in, displs_in, MPI_INT, comm));
      break;
    default:
      OK(MPI_Neighbor_alltoallw(send_block, counts_out, bytes_out, types_out, receive_block,
                                counts_in, bytes_in, types_in, comm));
  }
  check_result(operation);
}

static void nonblocking(int operation) {
  MPI_Request request = MPI_REQUEST_NULL;
  prepare();
  static int full[kMost];
  for (int i = 0; i < in; ++i) full[i] = kBlock;
  switch (operation) {
    case kAllgather:
      OK(MPI_Ineighbor_allgather(send_block, kBlock, MPI_INT, receive_block, kBlock, MPI_INT, comm,
                                 &request));
      break;
    case kAllgatherv:
      OK(MPI_Ineighbor_allgatherv(send_block, kBlock, MPI_INT, receive_block, full, displs_in,
                                  MPI_INT, comm, &request));
      break;
    case kAlltoall:
      OK(MPI_Ineighbor_alltoall(send_block, kBlock, MPI_INT, receive_block, kBlock, MPI_INT, comm,
                                &request));
      break;
    case kAlltoallv:
      OK(MPI_Ineighbor_alltoallv(send_block, counts_out, displs_out, MPI_INT, receive_block,
                                 counts_in, displs_in, MPI_INT, comm, &request));
      break;
    default:
      OK(MPI_Ineighbor_alltoallw(send_block, counts_out, bytes_out, types_out, receive_block,
                                 counts_in, bytes_in, types_in, comm, &request));
  }
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK(request == MPI_REQUEST_NULL);
  check_result(operation);
}

static void make_persistent(int operation, MPI_Request* request) {
  static int full[kMost];
  for (int i = 0; i < in; ++i) full[i] = kBlock;
  switch (operation) {
    case kAllgather:
      OK(MPI_Neighbor_allgather_init(send_block, kBlock, MPI_INT, receive_block, kBlock, MPI_INT,
                                     comm, MPI_INFO_NULL, request));
      break;
    case kAllgatherv:
      OK(MPI_Neighbor_allgatherv_init(send_block, kBlock, MPI_INT, receive_block, full, displs_in,
                                      MPI_INT, comm, MPI_INFO_NULL, request));
      break;
    case kAlltoall:
      OK(MPI_Neighbor_alltoall_init(send_block, kBlock, MPI_INT, receive_block, kBlock, MPI_INT,
                                    comm, MPI_INFO_NULL, request));
      break;
    case kAlltoallv:
      OK(MPI_Neighbor_alltoallv_init(send_block, counts_out, displs_out, MPI_INT, receive_block,
                                     counts_in, displs_in, MPI_INT, comm, MPI_INFO_NULL, request));
      break;
    default:
      OK(MPI_Neighbor_alltoallw_init(send_block, counts_out, bytes_out, types_out, receive_block,
                                     counts_in, bytes_in, types_in, comm, MPI_INFO_NULL, request));
  }
}

static void persistent(int operation) {
  MPI_Request request;
  prepare();
  make_persistent(operation, &request);
  for (int round = 0; round < 3; ++round) {
    prepare();
    OK(MPI_Start(&request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(request != MPI_REQUEST_NULL);
    check_result(operation);
  }
  OK(MPI_Request_free(&request));
}

// Ranks start the calls in different orders, after the program freed types and communicator.
static void any_order(void) {
  int from[2] = {me, -me - 5}, to[2][kMost];
  MPI_Request requests[2];
  MPI_Comm copy;
  MPI_Datatype type;
  memset(to, -1, sizeof to);
  OK(MPI_Comm_dup(comm, &copy));
  OK(MPI_Type_contiguous(1, MPI_INT, &type));
  OK(MPI_Type_commit(&type));
  for (int i = 0; i < 2; ++i)
    OK(MPI_Neighbor_allgather_init(&from[i], 1, type, to[i], 1, type, copy, MPI_INFO_NULL,
                                   &requests[i]));
  OK(MPI_Type_free(&type));
  OK(MPI_Comm_free(&copy));
  const int first = me % 2;
  OK(MPI_Start(&requests[first]));
  OK(MPI_Start(&requests[1 - first]));
  OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  for (int i = 0; i < in; ++i) {
    if (sources[i] == MPI_PROC_NULL) continue;
    CHECK_EQ(to[0][i], sources[i]);
    CHECK_EQ(to[1][i], -sources[i] - 5);
  }
  for (int i = 0; i < 2; ++i) OK(MPI_Request_free(&requests[i]));
}

static void large(void) {
  enum { kLarge = 100000 };
  int* data = malloc(sizeof(int) * kLarge);
  int* room[2];
  MPI_Request requests[2];
  for (int i = 0; i < kLarge; ++i) data[i] = value(me, 0, i);
  for (int k = 0; k < 2; ++k) {
    room[k] = malloc(sizeof(int) * kLarge * (size_t)(in + 1));
    OK(MPI_Ineighbor_allgather(data, kLarge, MPI_INT, room[k], kLarge, MPI_INT, comm,
                               &requests[k]));
  }
  OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  for (int k = 0; k < 2; ++k) {
    for (int i = 0; i < in; ++i)
      for (int j = 0; j < kLarge && sources[i] != MPI_PROC_NULL; ++j)
        CHECK_EQ(room[k][i * kLarge + j], value(sources[i], 0, j));
    free(room[k]);
  }
  free(data);
}

static void everything(void) {
  OK(MPI_Comm_rank(comm, &me));
  for (int operation = 0; operation < kOperations; ++operation) {
    blocking(operation);
    nonblocking(operation);
    persistent(operation);
  }
  any_order();
  large();
  OK(MPI_Neighbor_alltoall(NULL, 0, MPI_INT, NULL, 0, MPI_INT, comm));
  OK(MPI_Comm_free(&comm));
}

static void on_grid(int n, const int* dims, const int* periods) {
  OK(MPI_Cart_create(MPI_COMM_WORLD, n, dims, periods, 0, &comm));
  in = out = 2 * n;
  grid = 1;
  for (int i = 0; i < n; ++i) OK(MPI_Cart_shift(comm, i, 1, &sources[2 * i], &sources[2 * i + 1]));
  memcpy(destinations, sources, sizeof sources);
  everything();
}

static void on_edges(void) {
  in = out = 3;
  grid = 0;
  const int to[] = {(rank + 1) % size, (rank + 1) % size, (rank + size - 1) % size};
  const int from[] = {(rank + size - 1) % size, (rank + 1) % size, (rank + size - 1) % size};
  memcpy(destinations, to, sizeof to);
  memcpy(sources, from, sizeof from);
  OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 3, from, MPI_UNWEIGHTED, 3, to, MPI_UNWEIGHTED,
                                    MPI_INFO_NULL, 0, &comm));
  me = rank;
  everything();
}

static void on_graph(void) {
  int index[kMost], edges[] = {1, 1, 0, 0}, got[2] = {-1, -1};
  if (size < 2) return;
  for (int i = 0; i < size; ++i) index[i] = i == 0 ? 2 : 4;
  OK(MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 0, &comm));
  const int mine[2] = {10 * rank, 10 * rank + 1};
  OK(MPI_Neighbor_alltoall(mine, 1, MPI_INT, got, 1, MPI_INT, comm));
  for (int i = 0; i < 2; ++i) CHECK_EQ(got[i], rank > 1 ? -1 : 10 * (1 - rank) + i);
  OK(MPI_Comm_free(&comm));
}

static void wrong(void) {
  int a = 0, b = 0, negative = -1, one = 1, displ = 0, dims[1] = {size}, periods[1] = {1};
  MPI_Request request = MPI_REQUEST_NULL;
  FAILS(MPI_Neighbor_allgather(&a, 1, MPI_INT, &b, 1, MPI_INT, MPI_COMM_WORLD), MPI_ERR_TOPOLOGY);
  FAILS(MPI_Ineighbor_alltoall(&a, 1, MPI_INT, &b, 1, MPI_INT, MPI_COMM_WORLD, &request),
        MPI_ERR_TOPOLOGY);
  FAILS(MPI_Neighbor_alltoallv_init(&a, &one, &displ, MPI_INT, &b, &one, &displ, MPI_INT,
                                    MPI_COMM_WORLD, MPI_INFO_NULL, &request),
        MPI_ERR_TOPOLOGY);
  OK(MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &comm));
  OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  FAILS(MPI_Neighbor_allgather(MPI_IN_PLACE, 1, MPI_INT, &b, 1, MPI_INT, comm), MPI_ERR_BUFFER);
  FAILS(MPI_Neighbor_allgather(&a, 1, MPI_INT, NULL, 1, MPI_INT, comm), MPI_ERR_BUFFER);
  const int pair[4] = {1, 2, 3, 4};
  int room[2] = {0, 0};
  if (size == 1)
    FAILS(MPI_Neighbor_alltoall(pair, 2, MPI_INT, room, 1, MPI_INT, comm), MPI_ERR_TRUNCATE);
  FAILS(MPI_Neighbor_allgather(&a, -1, MPI_INT, &b, 1, MPI_INT, comm), MPI_ERR_COUNT);
  FAILS(MPI_Neighbor_allgather(&a, 1, MPI_DATATYPE_NULL, &b, 1, MPI_INT, comm), MPI_ERR_TYPE);
  const int counts[2] = {1, negative}, good[2] = {1, 1}, displs[2] = {0, 0};
  const MPI_Aint bytes[2] = {0, 0};
  const MPI_Datatype types[2] = {MPI_INT, MPI_DATATYPE_NULL};
  FAILS(MPI_Neighbor_alltoallv(&a, counts, displs, MPI_INT, &b, good, displs, MPI_INT, comm),
        MPI_ERR_COUNT);
  FAILS(MPI_Neighbor_alltoallv(&a, good, NULL, MPI_INT, &b, good, displs, MPI_INT, comm),
        MPI_ERR_ARG);
  FAILS(MPI_Neighbor_alltoallw(&a, good, bytes, types, &b, good, bytes, types, comm), MPI_ERR_TYPE);
  OK(MPI_Comm_free(&comm));
}

// Without neighbors in one direction, the buffer may be null.
static void alone(void) {
  const int to_next = (rank + 1) % size, from_before = (rank + size - 1) % size;
  const int sends = rank != size - 1, receives = rank != 0;
  int a = rank, b = -1;
  OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, receives, &from_before, MPI_UNWEIGHTED, sends,
                                    &to_next, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm));
  OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  MPI_Request request = MPI_REQUEST_NULL;
  OK(MPI_Neighbor_alltoall(sends ? &a : NULL, 1, MPI_INT, receives ? &b : NULL, 1, MPI_INT, comm));
  if (receives) CHECK_EQ(b, rank - 1);
  OK(MPI_Neighbor_allgather(sends ? &a : NULL, 1, MPI_INT, receives ? &b : NULL, 1, MPI_INT, comm));
  OK(MPI_Ineighbor_alltoall(sends ? &a : NULL, 1, MPI_INT, receives ? &b : NULL, 1, MPI_INT, comm,
                            &request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  if (size == 1)
    FAILS(MPI_Neighbor_allgather(NULL, -1, MPI_INT, NULL, 1, MPI_INT, comm), MPI_ERR_COUNT);
  OK(MPI_Comm_free(&comm));
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  int dims[3] = {0, 0, 0};
  for (int period = 0; period < 2; ++period) {
    const int periods[3] = {period, 1 - period, period};
    on_grid(1, &size, periods);
    dims[0] = dims[1] = dims[2] = 0;
    OK(MPI_Dims_create(size, 3, dims));
    on_grid(3, dims, periods);
  }
  on_edges();
  on_graph();
  wrong();
  alone();
  return end();
}
