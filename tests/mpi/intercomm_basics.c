// SPDX-License-Identifier: Apache-2.0
// Inter-communicators: create, query, messages, duplicate, split, subset, merge, free.
// ranks: 2 3 4 7
#include "check.h"

// The groups are the even and the odd ranks. The leader of a group is the last rank.
static MPI_Comm own;
static int mine, members, others, color;

static MPI_Comm make(int tag) {
  MPI_Comm inter;
  const int even = (size + 1) / 2, odd = size / 2;
  mine = rank / 2;
  color = rank % 2;
  members = color == 0 ? even : odd;
  others = size - members;
  OK(MPI_Comm_split(MPI_COMM_WORLD, color, rank, &own));
  const int remote_leader = color == 0 ? 2 * (odd - 1) + 1 : 2 * (even - 1);
  const int leads = mine == members - 1;
  OK(MPI_Intercomm_create(own, members - 1, leads ? MPI_COMM_WORLD : MPI_COMM_NULL,
                          leads ? remote_leader : -77, tag, &inter));
  return inter;
}

static void check_group(MPI_Group group, int n, int first, int stride) {
  MPI_Group world, expected;
  int result;
  int range[1][3] = {{first, first + (n - 1) * stride, stride}};
  OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
  OK(MPI_Group_range_incl(world, 1, range, &expected));
  OK(MPI_Group_compare(group, expected, &result));
  CHECK_EQ(result, MPI_IDENT);
  OK(MPI_Group_free(&world));
  OK(MPI_Group_free(&expected));
  OK(MPI_Group_free(&group));
}

static void check_messages(MPI_Comm inter) {
  int me, remote;
  OK(MPI_Comm_rank(inter, &me));
  OK(MPI_Comm_remote_size(inter, &remote));
  MPI_Request requests[64];
  int out[64], seen[64] = {0};
  for (int i = 0; i < remote; ++i) {
    out[i] = 1000 * rank + i;
    OK(MPI_Isend(&out[i], 1, MPI_INT, i, 5, inter, &requests[i]));
  }
  for (int i = 0; i < remote; ++i) {
    int in = -1;
    MPI_Status status;
    OK(MPI_Recv(&in, 1, MPI_INT, MPI_ANY_SOURCE, 5, inter, &status));
    check_status(&status, status.MPI_SOURCE, 5, MPI_INT, 1);
    CHECK(status.MPI_SOURCE >= 0 && status.MPI_SOURCE < remote && !seen[status.MPI_SOURCE]);
    seen[status.MPI_SOURCE] = 1;
    CHECK_EQ(in % 1000, me);
    CHECK_EQ(in / 1000 % 2, 1 - color);
  }
  OK(MPI_Waitall(remote, requests, MPI_STATUSES_IGNORE));
  if (me >= remote) return;
  enum { kLarge = 300000 };
  char *data = malloc(kLarge), *room = malloc(kLarge);
  MPI_Status status;
  fill(data, kLarge, 1);
  OK(MPI_Irecv(room, kLarge, MPI_BYTE, me, 6, inter, &requests[0]));
  OK(MPI_Ssend(data, kLarge, MPI_BYTE, me, 6, inter));
  OK(MPI_Wait(&requests[0], &status));
  check_status(&status, me, 6, MPI_BYTE, kLarge);
  CHECK_FILLED(room, kLarge, 1);
  free(data);
  free(room);
  OK(MPI_Send(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, inter));
}

static void check_shape(MPI_Comm inter) {
  int value = -1;
  MPI_Group group;
  OK(MPI_Comm_test_inter(inter, &value));
  CHECK_EQ(value, 1);
  OK(MPI_Comm_size(inter, &value));
  CHECK_EQ(value, members);
  OK(MPI_Comm_rank(inter, &value));
  CHECK_EQ(value, mine);
  OK(MPI_Comm_remote_size(inter, &value));
  CHECK_EQ(value, others);
  OK(MPI_Comm_group(inter, &group));
  check_group(group, members, color, 2);
  OK(MPI_Comm_remote_group(inter, &group));
  check_group(group, others, 1 - color, 2);
  check_messages(inter);
}

static int compare(MPI_Comm one, MPI_Comm other) {
  int result = -1;
  OK(MPI_Comm_compare(one, other, &result));
  return result;
}

static void duplicates(MPI_Comm inter) {
  MPI_Comm first, second;
  MPI_Request request;
  OK(MPI_Comm_dup(inter, &first));
  CHECK_EQ(compare(inter, first), MPI_CONGRUENT);
  CHECK_EQ(compare(inter, inter), MPI_IDENT);
  CHECK_EQ(compare(inter, MPI_COMM_WORLD), MPI_UNEQUAL);
  OK(MPI_Comm_idup(first, &second, &request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  OK(MPI_Comm_free(&first));
  check_shape(second);
  OK(MPI_Comm_disconnect(&second));
  OK(MPI_Comm_dup_with_info(inter, MPI_INFO_NULL, &second));
  check_shape(second);
  OK(MPI_Comm_free(&second));
}

static void splits(MPI_Comm inter) {
  MPI_Comm made;
  int value;
  OK(MPI_Comm_split(inter, 0, -mine, &made));
  CHECK_EQ(compare(inter, made), members == 1 && others == 1 ? MPI_CONGRUENT : MPI_SIMILAR);
  OK(MPI_Comm_rank(made, &value));
  CHECK_EQ(value, members - 1 - mine);
  check_messages(made);
  OK(MPI_Comm_free(&made));
  // A color of only one side gives MPI_COMM_NULL. Both ranks 0 share a color.
  OK(MPI_Comm_split(inter, mine == 0 ? 7 : 8 + color, 0, &made));
  if (mine == 0) {
    OK(MPI_Comm_remote_size(made, &value));
    CHECK_EQ(value, 1);
    check_messages(made);
    OK(MPI_Comm_free(&made));
  } else {
    CHECK(made == MPI_COMM_NULL);
  }
  OK(MPI_Comm_split(inter, color == 0 ? MPI_UNDEFINED : 1, 0, &made));
  CHECK(made == MPI_COMM_NULL);
}

static void creates(MPI_Comm inter) {
  MPI_Group group, some;
  MPI_Comm made;
  const int zero = 0;
  OK(MPI_Comm_group(inter, &group));
  OK(MPI_Group_incl(group, 1, &zero, &some));
  OK(MPI_Comm_create(inter, some, &made));
  CHECK((made == MPI_COMM_NULL) == (mine != 0));
  if (made != MPI_COMM_NULL) {
    check_messages(made);
    OK(MPI_Comm_free(&made));
  }
  OK(MPI_Comm_create(inter, color == 0 ? MPI_GROUP_EMPTY : some, &made));
  CHECK(made == MPI_COMM_NULL);
  OK(MPI_Group_free(&some));
  OK(MPI_Group_free(&group));
}

static void check_merged(MPI_Comm inter, int high, int first) {
  MPI_Comm made;
  int value;
  OK(MPI_Intercomm_merge(inter, high, &made));
  OK(MPI_Comm_test_inter(made, &value));
  CHECK_EQ(value, 0);
  OK(MPI_Comm_rank(made, &value));
  CHECK_EQ(value, first ? mine : others + mine);
  int sum = 0;
  OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, made));
  CHECK_EQ(sum, size * (size - 1) / 2);
  OK(MPI_Comm_free(&made));
}

static int color_deletes = 0;
static int delete_color(MPI_Comm comm, int key, void* value, void* extra) {
  (void)comm, (void)key, (void)extra;
  CHECK(value == &color);
  ++color_deletes;
  return MPI_SUCCESS;
}

static void attributes(MPI_Comm inter) {
  int key, flag;
  void* value;
  MPI_Comm copy;
  OK(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, delete_color, &key, NULL));
  OK(MPI_Comm_set_attr(inter, key, &color));
  OK(MPI_Comm_dup(inter, &copy));
  OK(MPI_Comm_get_attr(copy, key, &value, &flag));
  CHECK(flag && value == &color);
  OK(MPI_Comm_free(&copy));
  OK(MPI_Comm_delete_attr(inter, key));
  CHECK_EQ(color_deletes, 2);
  OK(MPI_Comm_free_keyval(&key));
}

static void wrong(MPI_Comm inter) {
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Group group;
  OK(MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN));
  OK(MPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN));
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  FAILS(MPI_Intercomm_merge(own, 0, &made), MPI_ERR_COMM);
  FAILS(MPI_Intercomm_create(inter, 0, MPI_COMM_WORLD, 0, 0, &made), MPI_ERR_COMM);
  FAILS(MPI_Intercomm_create(own, members, MPI_COMM_WORLD, 0, 0, &made), MPI_ERR_RANK);
  FAILS(MPI_Intercomm_create(own, -1, MPI_COMM_WORLD, 0, 0, &made), MPI_ERR_RANK);
  FAILS(MPI_Intercomm_create(own, 0, MPI_COMM_WORLD, 0, -5, &made), MPI_ERR_TAG);
  FAILS(MPI_Intercomm_create(own, 0, MPI_COMM_WORLD, size, 0, &made),
        mine == 0 ? MPI_ERR_RANK : MPI_ERR_COMM);
  FAILS(MPI_Intercomm_create(own, 0, MPI_COMM_WORLD, rank, 0, &made),
        mine == 0 ? MPI_ERR_RANK : MPI_ERR_COMM);
  FAILS(MPI_Intercomm_create(own, 0, MPI_COMM_NULL, 0, 0, &made), MPI_ERR_COMM);
  OK(MPI_Comm_group(inter, &group));
  FAILS(MPI_Comm_create_group(inter, group, 0, &made), MPI_ERR_COMM);
  FAILS(MPI_Comm_remote_size(own, &color_deletes), MPI_ERR_COMM);
  FAILS(MPI_Send(&color, 1, MPI_INT, others, 0, inter), MPI_ERR_RANK);
  OK(MPI_Group_free(&group));
  CHECK(made == MPI_COMM_NULL);
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
}

static void overlap(void) {
  MPI_Comm copies[2], made = MPI_COMM_NULL;
  for (int i = 0; i < 2; ++i)
    OK(MPI_Comm_split(MPI_COMM_WORLD, rank == i || rank == 2 ? 0 : MPI_UNDEFINED, 0, &copies[i]));
  for (int i = 0; i < 2; ++i) {
    if (copies[i] == MPI_COMM_NULL || size < 3) continue;
    OK(MPI_Comm_set_errhandler(copies[i], MPI_ERRORS_RETURN));
    FAILS(MPI_Intercomm_create(copies[i], 0, MPI_COMM_WORLD, 1 - i, 0, &made), MPI_ERR_COMM);
  }
  CHECK(made == MPI_COMM_NULL);
  for (int i = 0; i < 2; ++i)
    if (copies[i] != MPI_COMM_NULL) OK(MPI_Comm_free(&copies[i]));
}

static void from_groups(void) {
  MPI_Group world, halves[2];
  MPI_Comm inter, second;
  int value;
  OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
  for (int i = 0; i < 2; ++i) {
    int range[1][3] = {{i, size - 1, 2}};
    OK(MPI_Group_range_incl(world, 1, range, &halves[i]));
  }
  MPI_Group remote = mine == 0 ? halves[1 - color] : MPI_GROUP_NULL;
  OK(MPI_Intercomm_create_from_groups(halves[color], 0, remote, 0, "tern", MPI_INFO_NULL,
                                      MPI_ERRORS_RETURN, &inter));
  OK(MPI_Intercomm_create_from_groups(halves[color], 0, remote, 0, "tern", MPI_INFO_NULL,
                                      MPI_ERRORS_RETURN, &second));
  check_shape(inter);
  check_shape(second);
  check_merged(second, color == 0, color != 0);
  FAILS(MPI_Send(&value, 1, MPI_INT, others, 0, inter), MPI_ERR_RANK);
  OK(MPI_Comm_free(&inter));
  OK(MPI_Comm_free(&second));
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  FAILS(MPI_Intercomm_create_from_groups(halves[color], 0, halves[color], 0, "tern", MPI_INFO_NULL,
                                         MPI_ERRORS_RETURN, &inter),
        MPI_ERR_GROUP);
  CHECK(inter == MPI_COMM_NULL);
  FAILS(MPI_Intercomm_create_from_groups(halves[1 - color], 0, halves[color], 0, "tern",
                                         MPI_INFO_NULL, MPI_ERRORS_RETURN, &inter),
        MPI_ERR_GROUP);
  for (int i = 0; i < 2; ++i) OK(MPI_Group_free(&halves[i]));
  OK(MPI_Group_free(&world));
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  MPI_Comm inter = make(2147483647);
  MPI_Comm again = make(0);
  OK(MPI_Comm_free(&again));
  check_shape(inter);
  duplicates(inter);
  splits(inter);
  creates(inter);
  check_merged(inter, color, color == 0);
  check_merged(inter, color == 0, color == 1);
  check_merged(inter, 0, color == 0);
  attributes(inter);
  wrong(inter);
  overlap();
  from_groups();
  OK(MPI_Comm_free(&inter));
  return end();
}
