// SPDX-License-Identifier: Apache-2.0
// MPI without MPI_Init: a session, process sets, a communicator, messages; twice.
//
// ranks: singleton 1 2 3
#include "check.h"

static MPI_Comm from_set(MPI_Session session, const char* set, const char* tag) {
  MPI_Group group;
  MPI_Comm comm = MPI_COMM_NULL;
  OK(MPI_Group_from_session_pset(session, set, &group));
  OK(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
  OK(MPI_Group_free(&group));
  CHECK(comm != MPI_COMM_NULL);
  return comm;
}

static void use(MPI_Session session) {
  MPI_Comm first = from_set(session, "mpi://WORLD", "tests/sessions/first");
  MPI_Comm second = from_set(session, "mpi://WORLD", "tests/sessions/second");
  MPI_Comm self = from_set(session, "mpi://SELF", "tests/sessions/self");
  int sum = 0, one = 1, alone = 0, result = -1;
  OK(MPI_Comm_rank(first, &rank));
  OK(MPI_Comm_size(first, &size));
  OK(MPI_Comm_size(self, &alone));
  CHECK_EQ(alone, 1);
  OK(MPI_Comm_compare(first, second, &result));
  CHECK_EQ(result, MPI_CONGRUENT);
  OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, first));
  CHECK_EQ(sum, size);
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  int out[2] = {100 + rank, 200 + rank}, in[2] = {0, 0};
  MPI_Request requests[4];
  OK(MPI_Irecv(&in[1], 1, MPI_INT, left, 0, second, &requests[0]));
  OK(MPI_Irecv(&in[0], 1, MPI_INT, left, 0, first, &requests[1]));
  OK(MPI_Isend(&out[0], 1, MPI_INT, right, 0, first, &requests[2]));
  OK(MPI_Isend(&out[1], 1, MPI_INT, right, 0, second, &requests[3]));
  OK(MPI_Waitall(4, requests, MPI_STATUSES_IGNORE));
  CHECK(in[0] == 100 + left && in[1] == 200 + left);
  FAILS(MPI_Send(&one, 1, MPI_INT, size, 0, first), MPI_ERR_RANK);
  // A session has only one predefined attribute: the upper bound of tags.
  MPI_Comm copy;
  OK(MPI_Comm_dup(first, &copy));
  for (int key = MPI_TAG_UB; key <= MPI_UNIVERSE_SIZE; ++key) {
    int* value = NULL;
    int has = -1;
    OK(MPI_Comm_get_attr(copy, key, &value, &has));
    CHECK_EQ(has, key == MPI_TAG_UB);
  }
  OK(MPI_Comm_free(&copy));
  OK(MPI_Comm_free(&first));
  OK(MPI_Comm_free(&second));
  OK(MPI_Comm_free(&self));
}

int main(void) {
  for (int round = 0; round < 2; ++round) {
    MPI_Session session;
    MPI_Info info;
    int sets = 0, flag = 1;
    char name[64];
    OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    OK(MPI_Initialized(&flag));
    CHECK(!flag);
    OK(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &sets));
    CHECK_EQ(sets, 2);
    int length = 0;
    OK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, &length, NULL));
    CHECK_EQ(length, 12);
    length = sizeof name;
    OK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, &length, name));
    CHECK(strcmp(name, "mpi://WORLD") == 0);
    CHECK_EQ(length, (int)strlen(name) + 1);
    OK(MPI_Session_get_pset_info(session, name, &info));
    length = sizeof name;
    OK(MPI_Info_get_string(info, "mpi_size", &length, name, &flag));
    CHECK(flag && atoi(name) >= 1);
    OK(MPI_Info_free(&info));
    OK(MPI_Session_get_info(session, &info));
    length = sizeof name;
    OK(MPI_Info_get_string(info, "thread_level", &length, name, &flag));
    CHECK(flag && strcmp(name, "MPI_THREAD_MULTIPLE") == 0);
    OK(MPI_Info_free(&info));
    use(session);
    OK(MPI_Session_finalize(&session));
  }
  return 0;
}
