// SPDX-License-Identifier: Apache-2.0
// Every way to create a communicator: members, ranks, order, separate messages.
//
// ranks: 1 2 3 4 8
#include "check.h"

// The parent uses the same tags at the same time.
static void check_works(MPI_Comm comm) {
  int me, members, in = -1, other = -1;
  MPI_Request requests[2];
  OK(MPI_Comm_rank(comm, &me));
  OK(MPI_Comm_size(comm, &members));
  const int right = (me + 1) % members, left = (me + members - 1) % members;
  const int inner = 500 + me, outer = -500;
  OK(MPI_Irecv(&other, 1, MPI_INT, rank, 3, MPI_COMM_WORLD, &requests[0]));
  OK(MPI_Isend(&inner, 1, MPI_INT, right, 3, comm, &requests[1]));
  OK(MPI_Send(&outer, 1, MPI_INT, rank, 3, MPI_COMM_WORLD));
  OK(MPI_Recv(&in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, MPI_STATUS_IGNORE));
  OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  CHECK_EQ(in, 500 + left);
  CHECK_EQ(other, -500);
}

static void check_members(MPI_Comm comm, int n, const int* expected) {
  MPI_Group group, world;
  int found = -1, mine[64], in_world[64];
  OK(MPI_Comm_size(comm, &found));
  CHECK_EQ(found, n);
  OK(MPI_Comm_group(comm, &group));
  OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
  for (int i = 0; i < n; ++i) mine[i] = i;
  OK(MPI_Group_translate_ranks(group, n, mine, world, in_world));
  for (int i = 0; i < n; ++i) CHECK_EQ(in_world[i], expected[i]);
  OK(MPI_Comm_rank(comm, &found));
  CHECK_EQ(expected[found], rank);
  OK(MPI_Group_free(&group));
  OK(MPI_Group_free(&world));
  check_works(comm);
}

static void check_and_free(MPI_Comm* comm, int n, const int* expected) {
  check_members(*comm, n, expected);
  OK(MPI_Comm_free(comm));
  CHECK(*comm == MPI_COMM_NULL);
}

static void duplicates(void) {
  int all[64];
  MPI_Comm first, second, third;
  MPI_Request request;
  for (int i = 0; i < size; ++i) all[i] = i;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &first));
  OK(MPI_Comm_dup(first, &second));
  OK(MPI_Comm_free(&first));
  OK(MPI_Comm_idup(second, &third, &request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK(request == MPI_REQUEST_NULL);
  check_and_free(&second, size, all);
  check_and_free(&third, size, all);
  OK(MPI_Comm_dup(MPI_COMM_SELF, &first));
  check_and_free(&first, 1, &rank);
}

// MPI_Comm_idup must not wait, because each rank first needs a message.
static void nonblocking_duplicate(void) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  int in = -1, all[64];
  MPI_Comm made;
  MPI_Request request;
  for (int i = 0; i < size; ++i) all[i] = i;
  if (rank == 0) OK(MPI_Comm_idup(MPI_COMM_WORLD, &made, &request));
  MPI_Request sending;
  OK(MPI_Isend(&rank, 1, MPI_INT, right, 1, MPI_COMM_WORLD, &sending));
  OK(MPI_Recv(&in, 1, MPI_INT, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  OK(MPI_Wait(&sending, MPI_STATUS_IGNORE));
  if (rank != 0) OK(MPI_Comm_idup(MPI_COMM_WORLD, &made, &request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  check_and_free(&made, size, all);
}

static void disconnect(void) {
  MPI_Comm comm;
  MPI_Request requests[3];
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  int in = -1;
  OK(MPI_Comm_idup(MPI_COMM_WORLD, &comm, &requests[0]));
  const MPI_Request old = requests[0];
  OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
  OK(MPI_Recv_init(&in, 1, MPI_INT, left, 0, comm, &requests[2]));
  OK(MPI_Irecv(&in, 1, MPI_INT, left, 0, comm, &requests[0]));
  CHECK(requests[0] != old);
  OK(MPI_Issend(&rank, 1, MPI_INT, right, 0, comm, &requests[1]));
  OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  OK(MPI_Comm_disconnect(&comm));
  CHECK(comm == MPI_COMM_NULL);
  CHECK_EQ(in, left);
  OK(MPI_Request_free(&requests[2]));
}

static void splits(void) {
  int expected[64], n = 0;
  MPI_Comm made;
  OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 3, -rank, &made));
  for (int i = size - 1; i >= 0; --i)
    if (i % 3 == rank % 3) expected[n++] = i;
  check_and_free(&made, n, expected);
  OK(MPI_Comm_split(MPI_COMM_WORLD, 2147483647, rank / 2 * 2, &made));
  for (int i = 0; i < size; ++i) expected[i] = i;
  check_and_free(&made, size, expected);
  OK(MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? MPI_UNDEFINED : 0, 5, &made));
  if (rank == 0) {
    CHECK(made == MPI_COMM_NULL);
  } else {
    for (int i = 1; i < size; ++i) expected[i - 1] = i;
    check_and_free(&made, size - 1, expected);
  }
  OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &made));
  // tests/hosts sets SHAPE to the number of hosts, with equally many ranks each.
  const int each = size / (getenv("SHAPE") == NULL ? 1 : atoi(getenv("SHAPE")));
  for (int i = 0; i < each; ++i) expected[i] = rank / each * each + i;
  check_and_free(&made, each, expected);
  OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_UNDEFINED, 0, MPI_INFO_NULL, &made));
  CHECK(made == MPI_COMM_NULL);
}

static void split_of_split(void) {
  MPI_Comm half, quarter;
  int expected[64], n = 0, me;
  OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half));
  OK(MPI_Comm_rank(half, &me));
  OK(MPI_Comm_split(half, me % 2, 0, &quarter));
  for (int i = rank % 4; i < size; i += 4) expected[n++] = i;
  OK(MPI_Comm_free(&half));
  check_and_free(&quarter, n, expected);
}

static void from_groups(void) {
  MPI_Group world, group;
  MPI_Comm made;
  OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
  const int low[] = {1, 0}, high[] = {3, 2};
  if (size >= 4) {
    OK(MPI_Group_incl(world, rank < 4 ? 2 : 0, rank < 2 ? low : high, &group));
    OK(MPI_Comm_create(MPI_COMM_WORLD, group, &made));
    if (rank < 4)
      check_and_free(&made, 2, rank < 2 ? low : high);
    else
      CHECK(made == MPI_COMM_NULL);
    if (group != MPI_GROUP_EMPTY) OK(MPI_Group_free(&group));
  }
  const int zero = 0;
  OK(MPI_Group_incl(world, 1, &zero, &group));
  OK(MPI_Comm_create(MPI_COMM_WORLD, group, &made));
  CHECK((made == MPI_COMM_NULL) == (rank != 0));
  if (rank == 0) check_and_free(&made, 1, &zero);
  OK(MPI_Group_free(&group));
  OK(MPI_Comm_create(MPI_COMM_WORLD, MPI_GROUP_EMPTY, &made));
  CHECK(made == MPI_COMM_NULL);
  OK(MPI_Group_free(&world));
}

static void create_groups(void) {
  MPI_Group world, pair;
  MPI_Comm made[4];
  OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
  for (int first = 0; first + 1 < size; ++first) {
    const int ranks[] = {first + 1, first};
    if (rank != first && rank != first + 1) continue;
    OK(MPI_Group_incl(world, 2, ranks, &pair));
    for (int i = 0; i < 4; ++i) OK(MPI_Comm_create_group(MPI_COMM_WORLD, pair, i / 2, &made[i]));
    for (int i = 3; i >= 0; --i) check_and_free(&made[i], 2, ranks);
    OK(MPI_Group_free(&pair));
  }
  OK(MPI_Group_free(&world));
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  duplicates();
  OK(MPI_Barrier(MPI_COMM_WORLD));
  nonblocking_duplicate();
  disconnect();
  splits();
  split_of_split();
  from_groups();
  create_groups();
  return end();
}
