// SPDX-License-Identifier: Apache-2.0
// Windows as objects: attributes, names, groups, hints, error handlers, refused arguments.
// ranks: 1 2 4
#include <stdint.h>

#include "check.h"

static int deleted = 0;
static int count_deletion(MPI_Win win, int keyval, void* value, void* extra) {
  (void)win, (void)keyval, (void)value;
  ++*(int*)extra;
  return MPI_SUCCESS;
}

static int handled = 0;
static void handle(MPI_Win* win, int* code, ...) {
  (void)win;
  handled = class_of(*code);
}

static void check_attributes(MPI_Win win, void* base, MPI_Aint bytes, int unit, int flavor) {
  void* value = NULL;
  int flag = 0;
  OK(MPI_Win_get_attr(win, MPI_WIN_BASE, &value, &flag));
  CHECK(flag && value == base);
  OK(MPI_Win_get_attr(win, MPI_WIN_SIZE, &value, &flag));
  CHECK(flag && *(MPI_Aint*)value == bytes);
  OK(MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, &value, &flag));
  CHECK(flag && *(int*)value == unit);
  OK(MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &value, &flag));
  CHECK(flag && *(int*)value == flavor);
  OK(MPI_Win_get_attr(win, MPI_WIN_MODEL, &value, &flag));
  CHECK(flag && *(int*)value == MPI_WIN_UNIFIED);
}

static void users_attributes(MPI_Win win) {
  int key, flag = -1, kept = 7;
  int* value = NULL;
  OK(MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, count_deletion, &key, &deleted));
  OK(MPI_Win_get_attr(win, key, &value, &flag));
  CHECK_EQ(flag, 0);
  OK(MPI_Win_set_attr(win, key, &kept));
  OK(MPI_Win_get_attr(win, key, &value, &flag));
  CHECK(flag && value == &kept);
  OK(MPI_Win_delete_attr(win, key));
  CHECK_EQ(deleted, 1);
  OK(MPI_Win_set_attr(win, key, &kept));
  OK(MPI_Win_free_keyval(&key));
}

static void names_and_groups(MPI_Win win) {
  char name[MPI_MAX_OBJECT_NAME];
  int length = -1, result = -1;
  OK(MPI_Win_get_name(win, name, &length));
  CHECK_EQ(length, 0);
  OK(MPI_Win_set_name(win, "halo"));
  OK(MPI_Win_get_name(win, name, &length));
  CHECK(length == 4 && strcmp(name, "halo") == 0);
  OK(MPI_Win_get_name(MPI_WIN_NULL, name, &length));
  CHECK(strcmp(name, "MPI_WIN_NULL") == 0);
  MPI_Group group, world;
  OK(MPI_Win_get_group(win, &group));
  OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
  OK(MPI_Group_compare(group, world, &result));
  CHECK_EQ(result, MPI_IDENT);
  OK(MPI_Group_free(&group));
  OK(MPI_Group_free(&world));
  CHECK(MPI_Win_f2c(MPI_Win_c2f(win)) == win);
  CHECK(MPI_Win_fromint(MPI_Win_toint(win)) == win);
}

static void hints(void) {
  MPI_Info info, used;
  MPI_Win win;
  void* base;
  char value[64];
  int flag = 0, length = sizeof value;
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "no_locks", "true"));
  OK(MPI_Info_set(info, "mpi_minimum_memory_alignment", "65536"));
  OK(MPI_Info_set(info, "unknown_hint", "whatever"));
  OK(MPI_Win_allocate(100, 1, info, MPI_COMM_WORLD, &base, &win));
  CHECK_EQ((uintptr_t)base % 4096, 0);
  OK(MPI_Win_get_info(win, &used));
  OK(MPI_Info_get_string(used, "no_locks", &length, value, &flag));
  CHECK(flag && strcmp(value, "true") == 0);
  length = sizeof value;
  OK(MPI_Info_get_string(used, "accumulate_ordering", &length, value, &flag));
  CHECK(flag && strcmp(value, "rar,raw,war,waw") == 0);
  length = sizeof value;
  OK(MPI_Info_get_string(used, "unknown_hint", &length, value, &flag));
  CHECK_EQ(flag, 0);
  OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
  // Programs break the no_locks promise. See rma_conflicts.c for TERN_CHECK=rma.
  OK(MPI_Win_lock_all(MPI_MODE_NOCHECK, win));
  OK(MPI_Win_unlock_all(win));
  OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
  OK(MPI_Win_unlock(0, win));
  OK(MPI_Win_set_info(win, info));
  OK(MPI_Info_free(&used));
  OK(MPI_Info_free(&info));
  OK(MPI_Win_free(&win));
}

static void refused(void) {
  MPI_Win win;
  char byte;
  void* base;
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  const int wrong = rank == size - 1;
  FAILS(MPI_Win_create(&byte, 1, wrong ? 0 : 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win), MPI_ERR_DISP);
  FAILS(MPI_Win_create(&byte, wrong ? -1 : 1, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win),
        MPI_ERR_SIZE);
  FAILS(MPI_Win_create(wrong ? NULL : &byte, 1, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win),
        MPI_ERR_BASE);
  MPI_Info info;
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "no_locks", "perhaps"));
  FAILS(MPI_Win_allocate(1, 1, wrong ? info : MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win),
        MPI_ERR_INFO_VALUE);
  OK(MPI_Info_free(&info));
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
  OK(MPI_Win_allocate(1, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
  OK(MPI_Win_free(&win));
}

static void error_handlers(MPI_Win win) {
  MPI_Errhandler own, found;
  OK(MPI_Win_get_errhandler(win, &found));
  CHECK(found == MPI_ERRORS_ARE_FATAL);
  OK(MPI_Win_create_errhandler(handle, &own));
  OK(MPI_Win_set_errhandler(win, own));
  OK(MPI_Errhandler_free(&own));
  int none = 0;
  FAILS(MPI_Put(&none, 1, MPI_INT, size, 0, 1, MPI_INT, win), MPI_ERR_RANK);
  CHECK_EQ(handled, MPI_ERR_RANK);
  OK(MPI_Win_call_errhandler(win, MPI_ERR_RMA_RANGE));
  CHECK_EQ(handled, MPI_ERR_RMA_RANGE);
  OK(MPI_Win_get_errhandler(win, &found));
  OK(MPI_Errhandler_free(&found));
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  long* base = NULL;
  MPI_Win win;
  OK(MPI_Win_allocate((rank + 1) * 80, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
  check_attributes(win, base, (rank + 1) * 80, 8, MPI_WIN_FLAVOR_ALLOCATE);
  users_attributes(win);
  names_and_groups(win);
  error_handlers(win);
  OK(MPI_Win_free(&win));
  CHECK_EQ(deleted, 2);

  char own[24];
  OK(MPI_Win_create(own, sizeof own, rank + 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  check_attributes(win, own, sizeof own, rank + 1, MPI_WIN_FLAVOR_CREATE);
  OK(MPI_Win_free(&win));
  OK(MPI_Win_create(NULL, 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  check_attributes(win, NULL, 0, 1, MPI_WIN_FLAVOR_CREATE);
  OK(MPI_Win_free(&win));
  OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  check_attributes(win, MPI_BOTTOM, 0, 1, MPI_WIN_FLAVOR_DYNAMIC);
  OK(MPI_Win_free(&win));
  OK(MPI_Win_allocate_c(16, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
  check_attributes(win, base, 16, 4, MPI_WIN_FLAVOR_ALLOCATE);
  OK(MPI_Win_free(&win));
  hints();
  refused();
  return end();
}
