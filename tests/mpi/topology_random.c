// SPDX-License-Identifier: Apache-2.0
// Neighborhood collectives on random graphs: repeated edges, edges to the same rank, more edges
// than concurrent messages.
// ranks: 1 2 3 5 8
#include "check.h"

enum { kMostEdges = 1024, kOutstanding = 6, kMostValues = 700 };

static unsigned state;
static int any(int below) {
  state = state * 1664525u + 1013904223u;
  return (int)((state >> 8) % (unsigned)below);
}

static int edges, from[kMostEdges], to[kMostEdges], key_out[kMostEdges], key_in[kMostEdges];
static int out, in, mine_out[kMostEdges], mine_in[kMostEdges];
static MPI_Comm comm;

static int listed(int who, const int* ends, const int* keys, int* list) {
  int count = 0;
  for (int e = 0; e < edges; ++e) {
    if (ends[e] != who) continue;
    int at = count++;
    for (; at > 0 && keys[list[at - 1]] > keys[e]; --at) list[at] = list[at - 1];
    list[at] = e;
  }
  return count;
}

static void make_graph(int degree) {
  edges = size * degree;
  for (int e = 0; e < edges; ++e) {
    const int again = e > 0 && any(4) == 0;
    from[e] = again ? from[e - 1] : any(size);
    to[e] = again ? to[e - 1] : any(size);
    key_out[e] = any(1000) * kMostEdges + e;
    key_in[e] = any(1000) * kMostEdges + e;
  }
  out = listed(rank, from, key_out, mine_out);
  in = listed(rank, to, key_in, mine_in);
  int sources[kMostEdges], destinations[kMostEdges];
  for (int i = 0; i < out; ++i) destinations[i] = to[mine_out[i]];
  for (int i = 0; i < in; ++i) sources[i] = from[mine_in[i]];
  OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, in, sources, MPI_UNWEIGHTED, out, destinations,
                                    MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm));
}

static int place_there(int i) {
  const int sender = from[mine_in[i]];
  int before = 0, theirs[kMostEdges];
  for (int j = 0; j < i; ++j) before += from[mine_in[j]] == sender;
  const int count = listed(sender, from, key_out, theirs);
  for (int j = 0; j < count; ++j)
    if (to[theirs[j]] == rank && before-- == 0) return j;
  FAIL("no edge from %d", sender);
}

static int value(int who, int place, int i, int round) {
  return who * 1000000 + place * 10000 + i + 7 * round;
}

static int length(int sender, int place, int largest) { return (sender * 5 + place * 3) % largest; }

struct Trial {
  int gathers, irregular, persistent, largest, round;
  int *send, *receive, *counts_out, *counts_in, *displs_out, *displs_in;
  MPI_Aint *bytes_out, *bytes_in;
  MPI_Datatype* types;
  MPI_Request request;
};

static void make(struct Trial* t) {
  const size_t places = (size_t)(in > out ? in : out) + 1;
  t->gathers = any(2);
  t->irregular = any(3);
  t->persistent = any(2);
  t->largest = 1 + any(any(2) ? 8 : kMostValues);
  t->send = malloc(places * (size_t)t->largest * sizeof(int));
  t->receive = malloc(places * (size_t)t->largest * sizeof(int));
  int** arrays[] = {&t->counts_out, &t->counts_in, &t->displs_out, &t->displs_in};
  for (int a = 0; a < 4; ++a) *arrays[a] = malloc(places * sizeof(int));
  t->bytes_out = malloc(places * sizeof(MPI_Aint));
  t->bytes_in = malloc(places * sizeof(MPI_Aint));
  t->types = malloc(places * sizeof(MPI_Datatype));
  for (int i = 0; i < out; ++i) {
    t->counts_out[i] = length(rank, i, t->largest);
    t->displs_out[i] = i * t->largest;
    t->bytes_out[i] = (MPI_Aint)sizeof(int) * t->displs_out[i];
  }
  for (int i = 0; i < in; ++i) {
    const int sender = from[mine_in[i]];
    t->counts_in[i] =
        t->gathers ? length(sender, 0, t->largest) : length(sender, place_there(i), t->largest);
    t->displs_in[i] = (in - 1 - i) * t->largest;
    t->bytes_in[i] = (MPI_Aint)sizeof(int) * t->displs_in[i];
  }
  for (size_t i = 0; i < places; ++i) t->types[i] = MPI_INT;
}

static void refill(struct Trial* t, int round) {
  t->round = round;
  for (int i = 0; i < (t->gathers ? 1 : out); ++i)
    for (int k = 0; k < t->largest; ++k) t->send[i * t->largest + k] = value(rank, i, k, round);
  for (int i = 0; i < in * t->largest; ++i) t->receive[i] = -1;
}

static void begin_gather(struct Trial* t) {
  const int mine = t->irregular ? length(rank, 0, t->largest) : t->largest;
  if (t->irregular && t->persistent)
    OK(MPI_Neighbor_allgatherv_init(t->send, mine, MPI_INT, t->receive, t->counts_in, t->displs_in,
                                    MPI_INT, comm, MPI_INFO_NULL, &t->request));
  else if (t->irregular)
    OK(MPI_Ineighbor_allgatherv(t->send, mine, MPI_INT, t->receive, t->counts_in, t->displs_in,
                                MPI_INT, comm, &t->request));
  else if (t->persistent)
    OK(MPI_Neighbor_allgather_init(t->send, mine, MPI_INT, t->receive, mine, MPI_INT, comm,
                                   MPI_INFO_NULL, &t->request));
  else
    OK(MPI_Ineighbor_allgather(t->send, mine, MPI_INT, t->receive, mine, MPI_INT, comm,
                               &t->request));
}

static void begin_exchange(struct Trial* t) {
  if (t->irregular == 2 && t->persistent)
    OK(MPI_Neighbor_alltoallw_init(t->send, t->counts_out, t->bytes_out, t->types, t->receive,
                                   t->counts_in, t->bytes_in, t->types, comm, MPI_INFO_NULL,
                                   &t->request));
  else if (t->irregular == 2)
    OK(MPI_Ineighbor_alltoallw(t->send, t->counts_out, t->bytes_out, t->types, t->receive,
                               t->counts_in, t->bytes_in, t->types, comm, &t->request));
  else if (t->irregular && t->persistent)
    OK(MPI_Neighbor_alltoallv_init(t->send, t->counts_out, t->displs_out, MPI_INT, t->receive,
                                   t->counts_in, t->displs_in, MPI_INT, comm, MPI_INFO_NULL,
                                   &t->request));
  else if (t->irregular)
    OK(MPI_Ineighbor_alltoallv(t->send, t->counts_out, t->displs_out, MPI_INT, t->receive,
                               t->counts_in, t->displs_in, MPI_INT, comm, &t->request));
  else if (t->persistent)
    OK(MPI_Neighbor_alltoall_init(t->send, t->largest, MPI_INT, t->receive, t->largest, MPI_INT,
                                  comm, MPI_INFO_NULL, &t->request));
  else
    OK(MPI_Ineighbor_alltoall(t->send, t->largest, MPI_INT, t->receive, t->largest, MPI_INT, comm,
                              &t->request));
}

static void check_trial(const struct Trial* t) {
  for (int i = 0; i < in; ++i) {
    const int sender = from[mine_in[i]], there = t->gathers ? 0 : place_there(i);
    const int* block = t->receive + (t->irregular ? t->displs_in[i] : i * t->largest);
    const int count = t->irregular ? t->counts_in[i] : t->largest;
    for (int k = 0; k < t->largest; ++k)
      CHECK_EQ(block[k], k < count ? value(sender, there, k, t->round) : -1);
  }
}

static void release(struct Trial* t) {
  if (t->persistent) OK(MPI_Request_free(&t->request));
  void* all[] = {t->send,      t->receive,   t->counts_out, t->counts_in, t->displs_out,
                 t->displs_in, t->bytes_out, t->bytes_in,   t->types};
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i) free(all[i]);
}

static void several(void) {
  struct Trial trials[kOutstanding];
  MPI_Request requests[kOutstanding];
  for (int i = 0; i < kOutstanding; ++i) {
    make(&trials[i]);
    refill(&trials[i], 0);
    trials[i].gathers ? begin_gather(&trials[i]) : begin_exchange(&trials[i]);
  }
  for (int round = 0; round < 3; ++round) {
    int count = 0, which[kOutstanding];
    for (int i = 0; i < kOutstanding; ++i) {
      const int one = (i + rank) % kOutstanding;
      if (!trials[one].persistent && round > 0) continue;
      if (trials[one].persistent) {
        refill(&trials[one], round);
        OK(MPI_Start(&trials[one].request));
      }
      which[count] = one;
      requests[count++] = trials[one].request;
    }
    for (int left = count; left > 0; --left) {
      int index = -1;
      OK(MPI_Waitany(count, requests, &index, MPI_STATUS_IGNORE));
      check_trial(&trials[which[index]]);
    }
  }
  for (int i = 0; i < kOutstanding; ++i) release(&trials[i]);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  const int degrees[] = {0, 1, 3, 9, 60};
  for (int graph = 0; graph < 15; ++graph) {
    state = (unsigned)graph;
    make_graph(degrees[graph % 5]);
    for (int round = 0; round < 4; ++round) several();
    OK(MPI_Comm_free(&comm));
  }
  return end();
}
