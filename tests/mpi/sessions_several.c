// SPDX-License-Identifier: Apache-2.0
// Sessions in addition to MPI_Init: several at once, before MPI_Init and after MPI_Finalize.
//
// ranks: singleton 1 2 4
#include "check.h"

static MPI_Group group_of(MPI_Session session, const char* set) {
  MPI_Group group;
  OK(MPI_Group_from_session_pset(session, set, &group));
  return group;
}

static void check_sum(MPI_Session session, const char* tag) {
  MPI_Group group = group_of(session, "MPI://world");
  MPI_Comm comm;
  int one = 1, sum = 0, members;
  OK(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
  OK(MPI_Comm_size(comm, &members));
  OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
  CHECK_EQ(sum, members);
  OK(MPI_Comm_free(&comm));
  OK(MPI_Group_free(&group));
}

static void wrong(MPI_Session session) {
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Info info = MPI_INFO_NULL;
  char name[8];
  int length = sizeof name;
  FAILS(MPI_Group_from_session_pset(session, "app://none", &group), MPI_ERR_ARG);
  FAILS(MPI_Session_get_pset_info(session, "app://none", &info), MPI_ERR_ARG);
  FAILS(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 99, &length, name), MPI_ERR_ARG);
  OK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 1, &length, name));
  CHECK_EQ(length, 11);
  CHECK(strcmp(name, "mpi://S") == 0);
  CHECK(group == MPI_GROUP_NULL && info == MPI_INFO_NULL);
}

static void buffered(MPI_Session session) {
  static char room[1024 + MPI_BSEND_OVERHEAD];
  MPI_Group all = group_of(session, "mpi://WORLD"), first;
  MPI_Comm comm, copy;
  const int zero = 0;
  int in = -1, members, me, back_size = 0;
  void* back = NULL;
  OK(MPI_Comm_create_from_group(all, "buffered", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
  OK(MPI_Comm_dup(comm, &copy));
  OK(MPI_Comm_rank(copy, &me));
  OK(MPI_Comm_size(copy, &members));
  const int right = (me + 1) % members, left = (me + members - 1) % members;
  FAILS(MPI_Bsend(&me, 1, MPI_INT, right, 1, copy), MPI_ERR_BUFFER);
  OK(MPI_Session_attach_buffer(session, room, sizeof room));
  OK(MPI_Bsend(&me, 1, MPI_INT, right, 1, copy));
  OK(MPI_Recv(&in, 1, MPI_INT, left, 1, copy, MPI_STATUS_IGNORE));
  CHECK_EQ(in, left);
  OK(MPI_Session_detach_buffer(session, &back, &back_size));
  CHECK(back == room && back_size == (int)sizeof room);
  OK(MPI_Comm_free(&copy));
  OK(MPI_Comm_free(&comm));
  OK(MPI_Group_incl(all, 1, &zero, &first));
  OK(MPI_Group_free(&first));
  OK(MPI_Group_free(&all));
}

static void two_sides(MPI_Session session) {
  MPI_Group all = group_of(session, "mpi://WORLD"), sides[2];
  MPI_Comm inter, merged;
  int members, me, remote;
  OK(MPI_Group_size(all, &members));
  OK(MPI_Group_rank(all, &me));
  if (members >= 2) {
    const int half = members / 2, mine = me >= half;
    int low[1][3] = {{0, half - 1, 1}};
    OK(MPI_Group_range_incl(all, 1, low, &sides[0]));
    OK(MPI_Group_range_excl(all, 1, low, &sides[1]));
    OK(MPI_Intercomm_create_from_groups(sides[mine], 0, sides[1 - mine], 0, "sides", MPI_INFO_NULL,
                                        MPI_ERRORS_RETURN, &inter));
    OK(MPI_Comm_remote_size(inter, &remote));
    CHECK_EQ(remote, mine ? half : members - half);
    OK(MPI_Intercomm_merge(inter, mine, &merged));
    OK(MPI_Comm_rank(merged, &remote));
    CHECK_EQ(remote, me);
    OK(MPI_Comm_free(&merged));
    OK(MPI_Comm_free(&inter));
    for (int i = 0; i < 2; ++i) OK(MPI_Group_free(&sides[i]));
  }
  OK(MPI_Group_free(&all));
}

int main(int argc, char** argv) {
  MPI_Session first, second, third;
  OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &first));
  OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &second));
  check_sum(first, "first");
  begin(&argc, &argv);
  check_sum(second, "second");
  two_sides(first);
  OK(MPI_Session_finalize(&first));
  wrong(second);
  buffered(second);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(MPI_Finalize());
  check_sum(second, "after the world");
  OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &third));
  OK(MPI_Session_finalize(&second));
  check_sum(third, "third");
  two_sides(third);
  OK(MPI_Session_finalize(&third));
  OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &third));
  check_sum(third, "again");
  OK(MPI_Session_finalize(&third));
  return 0;
}
