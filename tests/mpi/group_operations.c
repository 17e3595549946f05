// SPDX-License-Identifier: Apache-2.0
// Group functions: order of results, identities, ranges, translation.
// ranks: 1 2 4 8
#include <limits.h>

#include "check.h"

static MPI_Group world;

static void check_members(MPI_Group group, int n, const int* expected) {
  int found = -1;
  OK(MPI_Group_size(group, &found));
  CHECK_EQ(found, n);
  int mine[64], translated[64], where = MPI_UNDEFINED;
  for (int i = 0; i < n; ++i) mine[i] = i;
  OK(MPI_Group_translate_ranks(group, n, mine, world, translated));
  for (int i = 0; i < n; ++i) {
    CHECK_EQ(translated[i], expected[i]);
    if (expected[i] == rank) where = i;
  }
  OK(MPI_Group_rank(group, &found));
  CHECK_EQ(found, where);
}

static MPI_Group including(int n, const int* ranks) {
  MPI_Group made = MPI_GROUP_NULL;
  OK(MPI_Group_incl(world, n, ranks, &made));
  check_members(made, n, ranks);
  return made;
}

static void release(MPI_Group* group) {
  OK(MPI_Group_free(group));
  CHECK(*group == MPI_GROUP_NULL);
}

static void inclusion_and_exclusion(void) {
  int backwards[64], rest[64];
  MPI_Group made;
  for (int i = 0; i < size; ++i) backwards[i] = size - 1 - i;
  made = including(size, backwards);
  release(&made);
  for (int out = 0; out < size; ++out) {
    int n = 0;
    for (int i = 0; i < size; ++i)
      if (i != out) rest[n++] = i;
    OK(MPI_Group_excl(world, 1, &out, &made));
    check_members(made, size - 1, rest);
    release(&made);
  }
  OK(MPI_Group_excl(world, size, backwards, &made));
  CHECK(made == MPI_GROUP_EMPTY);
  OK(MPI_Group_incl(world, 0, backwards, &made));
  CHECK(made == MPI_GROUP_EMPTY);
  OK(MPI_Group_excl(world, 0, NULL, &made));
  for (int i = 0; i < size; ++i) rest[i] = i;
  check_members(made, size, rest);
  release(&made);
}

static void ranges(void) {
  int expected[64], n = 0;
  MPI_Group made;
  int down[][3] = {{size - 1, 0, -2}};
  for (int i = size - 1; i >= 0; i -= 2) expected[n++] = i;
  OK(MPI_Group_range_incl(world, 1, down, &made));
  check_members(made, n, expected);
  release(&made);
  n = 0;
  for (int i = size - 2; i >= 0; i -= 2) expected[size / 2 - 1 - n++] = i;
  OK(MPI_Group_range_excl(world, 1, down, &made));
  check_members(made, n, expected);
  if (made != MPI_GROUP_EMPTY) release(&made);
  int all_in_two[][3] = {{size / 2, size - 1, 1}, {0, size / 2, 1}};
  all_in_two[1][1] = size / 2 - 1;
  n = 0;
  for (int i = size / 2; i < size; ++i) expected[n++] = i;
  for (int i = 0; i < size / 2; ++i) expected[n++] = i;
  OK(MPI_Group_range_incl(world, size > 1 ? 2 : 1, all_in_two, &made));
  check_members(made, n, expected);
  release(&made);
  int uneven[][3] = {{0, size - 1, 3}};
  n = 0;
  for (int i = 0; i < size; i += 3) expected[n++] = i;
  OK(MPI_Group_range_incl(world, 1, uneven, &made));
  check_members(made, n, expected);
  release(&made);
  // The range's last rank may be invalid if the stride does not reach it.
  int above[][3] = {{0, size, size + 1}}, below[][3] = {{size - 1, -1, -size - 1}};
  const int top = size - 1;
  OK(MPI_Group_range_incl(world, 1, above, &made));
  check_members(made, 1, &(int){0});
  release(&made);
  OK(MPI_Group_range_incl(world, 1, below, &made));
  check_members(made, 1, &top);
  release(&made);
  OK(MPI_Group_range_excl(world, 1, below, &made));
  for (int i = 0; i < size; ++i) expected[i] = i;
  check_members(made, top, expected);
  if (made != MPI_GROUP_EMPTY) release(&made);
}

static void sets(void) {
  if (size < 4) return;
  const int a[] = {3, 0, 2}, b[] = {1, 2, 3};
  const int both[] = {3, 2}, only[] = {0}, either[] = {3, 0, 2, 1};
  MPI_Group first = including(3, a), second = including(3, b), made;
  int result = -1;
  OK(MPI_Group_union(first, second, &made));
  check_members(made, 4, either);
  OK(MPI_Group_compare(made, world, &result));
  CHECK_EQ(result, size == 4 ? MPI_SIMILAR : MPI_UNEQUAL);
  release(&made);
  OK(MPI_Group_intersection(first, second, &made));
  check_members(made, 2, both);
  release(&made);
  OK(MPI_Group_difference(first, second, &made));
  check_members(made, 1, only);
  release(&made);
  OK(MPI_Group_difference(first, first, &made));
  CHECK(made == MPI_GROUP_EMPTY);
  OK(MPI_Group_intersection(first, MPI_GROUP_EMPTY, &made));
  CHECK(made == MPI_GROUP_EMPTY);
  OK(MPI_Group_union(MPI_GROUP_EMPTY, second, &made));
  check_members(made, 3, b);
  release(&made);
  OK(MPI_Group_compare(first, second, &result));
  CHECK_EQ(result, MPI_UNEQUAL);
  OK(MPI_Group_compare(MPI_GROUP_EMPTY, first, &result));
  CHECK_EQ(result, MPI_UNEQUAL);
  release(&first);
  release(&second);
}

static void translation(void) {
  const int zero = 0;
  MPI_Group first = including(1, &zero);
  int ranks[3] = {0, MPI_PROC_NULL, size - 1}, found[3];
  OK(MPI_Group_translate_ranks(world, 3, ranks, first, found));
  CHECK_EQ(found[0], 0);
  CHECK_EQ(found[1], MPI_PROC_NULL);
  CHECK_EQ(found[2], size == 1 ? 0 : MPI_UNDEFINED);
  OK(MPI_Group_translate_ranks(world, 0, NULL, first, NULL));
  release(&first);
}

static void empty(void) {
  int found = -1, result = -1;
  OK(MPI_Group_size(MPI_GROUP_EMPTY, &found));
  CHECK_EQ(found, 0);
  OK(MPI_Group_rank(MPI_GROUP_EMPTY, &found));
  CHECK_EQ(found, MPI_UNDEFINED);
  OK(MPI_Group_compare(MPI_GROUP_EMPTY, MPI_GROUP_EMPTY, &result));
  CHECK_EQ(result, MPI_IDENT);
}

static void of_communicators(void) {
  MPI_Group again, self;
  int result = -1;
  OK(MPI_Comm_group(MPI_COMM_WORLD, &again));
  OK(MPI_Comm_group(MPI_COMM_SELF, &self));
  OK(MPI_Group_compare(world, again, &result));
  CHECK_EQ(result, MPI_IDENT);
  check_members(self, 1, &rank);
  release(&again);
  OK(MPI_Group_size(world, &result));
  CHECK_EQ(result, size);
  release(&self);
}

static void wrong_arguments(void) {
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  MPI_Group made;
  const int outside = size, twice[] = {0, 0};
  int zero_stride[][3] = {{0, 0, 0}}, beyond[][3] = {{0, size, 1}};
  FAILS(MPI_Group_incl(world, 1, &outside, &made), MPI_ERR_RANK);
  FAILS(MPI_Group_excl(world, 1, &outside, &made), MPI_ERR_RANK);
  FAILS(MPI_Group_incl(world, 2, twice, &made), MPI_ERR_RANK);
  FAILS(MPI_Group_range_incl(world, 1, zero_stride, &made), MPI_ERR_ARG);
  FAILS(MPI_Group_range_incl(world, 1, beyond, &made), MPI_ERR_RANK);
  int far_beyond[][3] = {{0, INT_MAX, 1}}, from_below[][3] = {{-1, 0, 1}}, (*none)[3] = NULL;
  FAILS(MPI_Group_range_incl(world, 1, far_beyond, &made), MPI_ERR_RANK);
  FAILS(MPI_Group_range_excl(world, 1, from_below, &made), MPI_ERR_RANK);
  FAILS(MPI_Group_range_incl(world, 1, none, &made), MPI_ERR_ARG);
  FAILS(MPI_Group_range_excl(world, 1, none, &made), MPI_ERR_ARG);
  OK(MPI_Group_range_incl(world, 0, none, &made));
  FAILS(MPI_Group_size(MPI_GROUP_NULL, &(int){0}), MPI_ERR_GROUP);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
  inclusion_and_exclusion();
  ranges();
  sets();
  translation();
  empty();
  of_communicators();
  wrong_arguments();
  release(&world);
  return end();
}
