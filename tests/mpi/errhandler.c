// SPDX-License-Identifier: Apache-2.0
// Error handlers: set, inherit, call, free while in use; user-defined classes and codes.
// ranks: singleton 2
#include "check.h"

static MPI_Comm heard_on;
static int heard_code, heard_times;
static void hear(MPI_Comm* comm, int* code, ...) {
  heard_on = *comm;
  heard_code = *code;
  ++heard_times;
}
static void hear_session(MPI_Session* session, int* code, ...) {
  (void)session;
  heard_code = *code;
}

static void handlers(void) {
  MPI_Errhandler mine, got;
  MPI_Comm dup;
  int value = 0;
  OK(MPI_Comm_create_errhandler(hear, &mine));
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &dup));
  OK(MPI_Comm_set_errhandler(dup, mine));
  OK(MPI_Comm_get_errhandler(dup, &got));
  CHECK(got == mine);
  OK(MPI_Errhandler_free(&got));
  OK(MPI_Errhandler_free(&mine));
  CHECK(mine == MPI_ERRHANDLER_NULL);
  FAILS(MPI_Send(&value, -1, MPI_INT, 0, 0, dup), MPI_ERR_COUNT);
  CHECK(heard_on == dup && class_of(heard_code) == MPI_ERR_COUNT);
  CHECK_EQ(heard_times, 1);
  MPI_Comm child;
  OK(MPI_Comm_dup(dup, &child));
  FAILS(MPI_Send(&value, 1, MPI_INT, 0, -5, child), MPI_ERR_TAG);
  CHECK(heard_on == child);
  OK(MPI_Comm_call_errhandler(child, MPI_ERR_OTHER));
  CHECK_EQ(heard_code, MPI_ERR_OTHER);
  CHECK_EQ(heard_times, 3);
  OK(MPI_Comm_get_errhandler(child, &got));
  OK(MPI_Comm_free(&child));
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, got));
  OK(MPI_Errhandler_free(&got));
  FAILS(MPI_Send(&value, 1, MPI_INT, 0, -5, MPI_COMM_WORLD), MPI_ERR_TAG);
  CHECK_EQ(heard_times, 4);
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  FAILS(MPI_Errhandler_free(&got), MPI_ERR_ERRHANDLER);
  OK(MPI_Comm_free(&dup));
}

static void codes(void) {
  int own_class, own_code, got, flag, length, *last;
  char text[MPI_MAX_ERROR_STRING];
  OK(MPI_Add_error_class(&own_class));
  CHECK(own_class > MPI_ERR_LASTCODE);
  OK(MPI_Add_error_code(own_class, &own_code));
  OK(MPI_Add_error_string(own_code, "the kettle is empty"));
  OK(MPI_Error_class(own_code, &got));
  CHECK_EQ(got, own_class);
  OK(MPI_Error_string(own_code, text, &length));
  CHECK(strcmp(text, "the kettle is empty") == 0);
  OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &last, &flag));
  CHECK(flag && *last == own_code);
  OK(MPI_Add_error_string(own_class, "kitchen"));
  FAILS(MPI_Remove_error_class(own_class), MPI_ERR_ARG);
  FAILS(MPI_Remove_error_code(own_code), MPI_ERR_ARG);
  OK(MPI_Remove_error_string(own_code));
  OK(MPI_Remove_error_code(own_code));
  FAILS(MPI_Remove_error_class(own_class), MPI_ERR_ARG);
  OK(MPI_Remove_error_string(own_class));
  OK(MPI_Remove_error_class(own_class));
  FAILS(MPI_Error_class(own_code, &got), MPI_ERR_ARG);
  FAILS(MPI_Add_error_string(MPI_ERR_RANK, "no"), MPI_ERR_ARG);
  for (int i = 0; i <= MPI_ERR_ABI; ++i) {
    OK(MPI_Error_class(i, &got));
    CHECK_EQ(got, i);
    OK(MPI_Error_string(i, text, &length));
    CHECK(length > 0);
  }
}

static void sessions(void) {
  MPI_Session session;
  MPI_Errhandler mine;
  int sets, length;
  char name[MPI_MAX_PSET_NAME_LEN];
  OK(MPI_Session_create_errhandler(hear_session, &mine));
  FAILS(MPI_Comm_set_errhandler(MPI_COMM_WORLD, mine), MPI_ERR_ERRHANDLER);
  OK(MPI_Session_init(MPI_INFO_NULL, mine, &session));
  OK(MPI_Errhandler_free(&mine));
  OK(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &sets));
  for (int i = 0; i < sets; ++i) {
    length = sizeof name;
    OK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &length, name));
    MPI_Group group;
    int members;
    OK(MPI_Group_from_session_pset(session, name, &group));
    OK(MPI_Group_size(group, &members));
    CHECK_EQ(members, strcmp(name, "mpi://WORLD") == 0 ? size : 1);
    OK(MPI_Group_free(&group));
  }
  heard_code = 0;
  FAILS(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 99, &length, name), MPI_ERR_ARG);
  CHECK_EQ(heard_code, MPI_ERR_ARG);
  OK(MPI_Session_finalize(&session));
  CHECK(session == MPI_SESSION_NULL);
}

static MPI_Comm heard_without;
static void hear_creation(MPI_Comm* comm, int* code, ...) {
  heard_without = *comm;
  heard_code = *code;
}

// Errors of a creation go to the new object's handler.
static void while_made(void) {
  MPI_Session session = MPI_SESSION_NULL;
  MPI_Errhandler of_comm, of_session;
  MPI_Group group;
  MPI_Comm comm;
  MPI_Info info;
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL));
  OK(MPI_Comm_create_errhandler(hear_creation, &of_comm));
  OK(MPI_Session_create_errhandler(hear_session, &of_session));
  OK(MPI_Comm_group(MPI_COMM_WORLD, &group));
  heard_without = MPI_COMM_WORLD;
  heard_code = 0;
  FAILS(MPI_Comm_create_from_group(group, "t", MPI_INFO_NULL, of_comm, NULL), MPI_ERR_ARG);
  CHECK(class_of(heard_code) == MPI_ERR_ARG && heard_without == MPI_COMM_NULL);
  FAILS(MPI_Comm_create_from_group(MPI_GROUP_NULL, "t", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm),
        MPI_ERR_GROUP);
  CHECK(comm == MPI_COMM_NULL);
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "thread_level", "MPI_THREAD_SOME"));
  FAILS(MPI_Session_init(info, of_session, &session), MPI_ERR_INFO_VALUE);
  CHECK_EQ(class_of(heard_code), MPI_ERR_INFO_VALUE);
  OK(MPI_Info_free(&info));
  OK(MPI_Group_free(&group));
  OK(MPI_Errhandler_free(&of_comm));
  OK(MPI_Errhandler_free(&of_session));
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  handlers();
  codes();
  sessions();
  while_made();
  MPI_Finalize();
  return 0;
}
