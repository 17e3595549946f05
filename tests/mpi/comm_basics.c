// SPDX-License-Identifier: Apache-2.0
// Ranks, comparison, names, hints of communicators, and refused frees.
// ranks: 1 2 4 singleton
#include "check.h"

static void predefined(void) {
  int found = -1, flag = -1, length = -1;
  char name[MPI_MAX_OBJECT_NAME];
  OK(MPI_Comm_size(MPI_COMM_SELF, &found));
  CHECK_EQ(found, 1);
  OK(MPI_Comm_rank(MPI_COMM_SELF, &found));
  CHECK_EQ(found, 0);
  OK(MPI_Comm_test_inter(MPI_COMM_WORLD, &flag));
  CHECK_EQ(flag, 0);
  OK(MPI_Comm_get_name(MPI_COMM_WORLD, name, &length));
  CHECK(strcmp(name, "MPI_COMM_WORLD") == 0);
  CHECK_EQ(length, 14);
  OK(MPI_Comm_get_name(MPI_COMM_SELF, name, &length));
  CHECK(strcmp(name, "MPI_COMM_SELF") == 0);
  OK(MPI_Comm_get_name(MPI_COMM_NULL, name, &length));
  CHECK(strcmp(name, "MPI_COMM_NULL") == 0);
  CHECK_EQ(length, 13);
}

static void names(void) {
  MPI_Comm comm;
  char name[MPI_MAX_OBJECT_NAME], longest[2 * MPI_MAX_OBJECT_NAME];
  int length = -1;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  OK(MPI_Comm_get_name(comm, name, &length));
  CHECK_EQ(length, 0);
  CHECK_EQ(name[0], 0);
  OK(MPI_Comm_set_name(comm, "ocean"));
  OK(MPI_Comm_get_name(comm, name, &length));
  CHECK(strcmp(name, "ocean") == 0);
  CHECK_EQ(length, 5);
  memset(longest, 'x', sizeof longest - 1);
  longest[sizeof longest - 1] = 0;
  OK(MPI_Comm_set_name(comm, longest));
  OK(MPI_Comm_get_name(comm, name, &length));
  CHECK_EQ(length, MPI_MAX_OBJECT_NAME - 1);
  CHECK_EQ(strlen(name), MPI_MAX_OBJECT_NAME - 1);
  OK(MPI_Comm_free(&comm));
  CHECK(comm == MPI_COMM_NULL);
}

static void comparison(void) {
  MPI_Comm copy, reversed, part;
  int result = -1;
  OK(MPI_Comm_compare(MPI_COMM_WORLD, MPI_COMM_WORLD, &result));
  CHECK_EQ(result, MPI_IDENT);
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
  OK(MPI_Comm_compare(MPI_COMM_WORLD, copy, &result));
  CHECK_EQ(result, MPI_CONGRUENT);
  OK(MPI_Comm_split(MPI_COMM_WORLD, 0, size - rank, &reversed));
  OK(MPI_Comm_compare(copy, reversed, &result));
  CHECK_EQ(result, size == 1 ? MPI_CONGRUENT : MPI_SIMILAR);
  OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &part));
  OK(MPI_Comm_compare(copy, part, &result));
  CHECK_EQ(result, size == 1 ? MPI_CONGRUENT : MPI_UNEQUAL);
  OK(MPI_Comm_free(&copy));
  OK(MPI_Comm_free(&reversed));
  OK(MPI_Comm_free(&part));
}

static void hints(void) {
  MPI_Comm comm, copy;
  MPI_Info info, used;
  char value[MPI_MAX_INFO_VAL + 1];
  int flag = 0;
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "mpi_assert_no_any_tag", "true"));
  OK(MPI_Info_set(info, "nobody_knows_this", "1"));
  OK(MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm));
  OK(MPI_Comm_get_info(comm, &used));
  OK(MPI_Info_get(used, "mpi_assert_no_any_tag", MPI_MAX_INFO_VAL, value, &flag));
  CHECK(flag && strcmp(value, "true") == 0);
  OK(MPI_Info_free(&used));
  OK(MPI_Comm_dup(comm, &copy));
  OK(MPI_Comm_get_info(copy, &used));
  OK(MPI_Info_get(used, "mpi_assert_no_any_tag", MPI_MAX_INFO_VAL, value, &flag));
  CHECK(!flag || strcmp(value, "false") == 0);
  OK(MPI_Info_free(&used));
  OK(MPI_Info_set(info, "mpi_assert_no_any_tag", "false"));
  OK(MPI_Comm_set_info(comm, info));
  OK(MPI_Info_free(&info));
  OK(MPI_Comm_free(&comm));
  OK(MPI_Comm_free(&copy));
}

static void refusals(void) {
  MPI_Comm comm = MPI_COMM_WORLD, freed;
  int found = -1;
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  FAILS(MPI_Comm_free(&comm), MPI_ERR_COMM);
  CHECK(comm == MPI_COMM_WORLD);
  comm = MPI_COMM_SELF;
  FAILS(MPI_Comm_free(&comm), MPI_ERR_COMM);
  comm = MPI_COMM_NULL;
  FAILS(MPI_Comm_free(&comm), MPI_ERR_COMM);
  FAILS(MPI_Comm_rank(MPI_COMM_NULL, &found), MPI_ERR_COMM);
  FAILS(MPI_Comm_remote_size(MPI_COMM_WORLD, &found), MPI_ERR_COMM);
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  freed = comm;
  OK(MPI_Comm_free(&comm));
  FAILS(MPI_Comm_rank(freed, &found), MPI_ERR_COMM);
  FAILS(MPI_Send(&found, 1, MPI_INT, 0, 0, freed), MPI_ERR_COMM);
}

static void no_parent(void) {
  MPI_Comm parent = MPI_COMM_WORLD;
  OK(MPI_Comm_get_parent(&parent));
  CHECK(parent == MPI_COMM_NULL);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  no_parent();
  predefined();
  names();
  comparison();
  hints();
  refusals();
  return end();
}
