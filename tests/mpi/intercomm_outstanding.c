// SPDX-License-Identifier: Apache-2.0
// Collectives between two groups, all in flight, of one message or many chunks. Persistent requests
// restart after the program frees the communicator.
// ranks: 2 3 4 5 8
#include "check.h"

enum { kOperations = 10, kRounds = 3, kMost = 16 };
static MPI_Comm inter;
static int mine, members, others, side, count;

static int world_of_other(int i) { return 2 * i + 1 - side; }
static int value(int world, int block, int i, int round) {
  return world * 100000 + block * 1000 + i % 997 + 3 * round;
}

struct Trial {
  int what, root, *in, *out, counts_in[kMost], counts_out[kMost], displs_in[kMost],
      displs_out[kMost];
  MPI_Request request;
};
static int root_world, root_is_other;

static void lay_out(struct Trial* t) {
  for (int i = 0; i < others; ++i) {
    t->counts_in[i] = t->counts_out[i] = count;
    t->displs_in[i] = (others - 1 - i) * count;
    t->displs_out[i] = i * count;
  }
}

static void make(struct Trial* t, int what, int persistent) {
  const MPI_Info none = MPI_INFO_NULL;
  const int n = count, root = t->root;
  MPI_Request* r = &t->request;
  t->what = what;
  lay_out(t);
  switch (2 * what + persistent) {
#define FORMS(number, nonblocking, persistent_, ...)    \
  case 2 * (number):                                    \
    OK(MPI_##nonblocking(__VA_ARGS__, inter, r));       \
    break;                                              \
  case 2 * (number) + 1:                                \
    OK(MPI_##persistent_(__VA_ARGS__, inter, none, r)); \
    break;
    FORMS(0, Ibcast, Bcast_init, root == MPI_ROOT ? t->out : t->in, n, MPI_INT, root)
    FORMS(1, Igather, Gather_init, t->out, n, MPI_INT, t->in, n, MPI_INT, root)
    FORMS(2, Iscatter, Scatter_init, t->out, n, MPI_INT, t->in, n, MPI_INT, root)
    FORMS(3, Iallgather, Allgather_init, t->out, n, MPI_INT, t->in, n, MPI_INT)
    FORMS(4, Ialltoall, Alltoall_init, t->out, n, MPI_INT, t->in, n, MPI_INT)
    FORMS(5, Ireduce, Reduce_init, t->out, t->in, n, MPI_INT, MPI_SUM, root)
    FORMS(6, Iallreduce, Allreduce_init, t->out, t->in, n, MPI_INT, MPI_SUM)
    FORMS(7, Ireduce_scatter_block, Reduce_scatter_block_init, t->out, t->in, others, MPI_INT,
          MPI_MAX)
    FORMS(8, Ialltoallv, Alltoallv_init, t->out, t->counts_out, t->displs_out, MPI_INT, t->in,
          t->counts_in, t->displs_in, MPI_INT)
    FORMS(9, Igatherv, Gatherv_init, t->out, n, MPI_INT, t->in, t->counts_in, t->displs_in, MPI_INT,
          root)
#undef FORMS
  }
}

static void refill(struct Trial* t, int round) {
  for (int b = 0; b < others; ++b)
    for (int i = 0; i < count; ++i) t->out[b * count + i] = value(rank, b, i, round);
  for (int i = 0; i < members * others && t->what == 7; ++i) t->out[i] = value(rank, 0, i, round);
  for (int i = 0; i < kMost * count; ++i) t->in[i] = -1;
}

static void check_block(const int* block, int world, int number, int round) {
  for (int i = 0; i < count; ++i) CHECK_EQ(block[i], value(world, number, i, round));
}

static void check_sums(const struct Trial* t, int round) {
  for (int i = 0; i < count; ++i) {
    int sum = 0;
    for (int r = 0; r < others; ++r) sum += value(world_of_other(r), 0, i, round);
    CHECK_EQ(t->in[i], sum);
  }
}

static void check_rooted(const struct Trial* t, int round) {
  const int at_root = t->root == MPI_ROOT, leaf = root_is_other;
  const int takes = t->what == 0 || t->what == 2 ? leaf : at_root;
  if (!takes) {
    for (int i = 0; i < kMost * count; ++i) CHECK_EQ(t->in[i], -1);
    return;
  }
  if (t->what == 0) check_block(t->in, root_world, 0, round);
  if (t->what == 2) check_block(t->in, root_world, mine, round);
  if (t->what == 5) check_sums(t, round);
  for (int r = 0; r < others && t->what == 1; ++r)
    check_block(t->in + r * count, world_of_other(r), 0, round);
  for (int r = 0; r < others && t->what == 9; ++r)
    check_block(t->in + t->displs_in[r], world_of_other(r), 0, round);
}

static void check_trial(const struct Trial* t, int round) {
  switch (t->what) {
    case 3:
    case 4:
    case 8:
      for (int r = 0; r < others; ++r)
        check_block(t->in + (t->what == 8 ? t->displs_in[r] : r * count), world_of_other(r),
                    t->what == 3 ? 0 : mine, round);
      return;
    case 6:
      return check_sums(t, round);
    case 7:
      for (int i = 0; i < others; ++i)
        CHECK_EQ(t->in[i], value(world_of_other(others - 1), 0, mine * others + i, round));
      return;
    default:
      check_rooted(t, round);
  }
}

static void all_at_once(int persistent, int free_first) {
  struct Trial trials[kOperations];
  MPI_Request requests[kOperations];
  for (int k = 0; k < kOperations; ++k) {
    struct Trial* t = &trials[k];
    t->in = malloc(sizeof(int) * (size_t)(kMost * count));
    t->out = malloc(sizeof(int) * (size_t)(kMost * (count + kMost)));
    t->root = root_is_other        ? (root_world - 1 + side) / 2
              : rank == root_world ? MPI_ROOT
                                   : MPI_PROC_NULL;
    t->what = k;
    refill(t, 0);
    make(t, k, persistent);
  }
  if (free_first) OK(MPI_Comm_free(&inter));
  for (int round = 0; round < (persistent ? kRounds : 1); ++round) {
    for (int k = 0; k < kOperations; ++k) {
      struct Trial* t = &trials[(k + rank) % kOperations];
      if (persistent) {
        refill(t, round);
        OK(MPI_Start(&t->request));
      }
    }
    for (int k = 0; k < kOperations; ++k) requests[k] = trials[k].request;
    for (int left = kOperations; left > 0; --left) {
      int index = -1;
      OK(MPI_Waitany(kOperations, requests, &index, MPI_STATUS_IGNORE));
      check_trial(&trials[index], round);
    }
  }
  for (int k = 0; k < kOperations; ++k) {
    if (persistent) OK(MPI_Request_free(&trials[k].request));
    free(trials[k].in);
    free(trials[k].out);
  }
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  MPI_Comm own;
  side = rank % 2;
  OK(MPI_Comm_split(MPI_COMM_WORLD, side, rank, &own));
  OK(MPI_Intercomm_create(own, 0, MPI_COMM_WORLD, 1 - side, 3, &inter));
  OK(MPI_Comm_rank(inter, &mine));
  OK(MPI_Comm_size(inter, &members));
  OK(MPI_Comm_remote_size(inter, &others));
  const int counts[] = {1, 37, 100000};
  for (int c = 0; c < 3; ++c)
    for (root_world = 0; root_world < 2 && root_world < size; ++root_world) {
      count = counts[c];
      root_is_other = root_world % 2 != side;
      all_at_once(0, 0);
      all_at_once(1, c == 2 && root_world == 1);
    }
  OK(MPI_Comm_free(&own));
  return end();
}
