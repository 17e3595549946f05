// SPDX-License-Identifier: Apache-2.0
// Functions allowed before MPI_Init and after MPI_Finalize.
// ranks: singleton 2
#include "check.h"

static void anytime(void) {
  MPI_Info info, dup;
  char key[MPI_MAX_INFO_KEY], value[16];
  int flag, length, number, major, minor, room = sizeof value;
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "first", "1"));
  OK(MPI_Info_set(info, "second", "2"));
  OK(MPI_Info_dup(info, &dup));
  OK(MPI_Info_delete(info, "first"));
  OK(MPI_Info_get_nthkey(dup, 0, key));
  CHECK(strcmp(key, "first") == 0);
  OK(MPI_Info_get_string(info, "first", &room, value, &flag));
  CHECK(!flag);
  OK(MPI_Info_get(info, "second", sizeof value - 1, value, &flag));
  CHECK(flag && strcmp(value, "2") == 0);
  OK(MPI_Info_get_valuelen(dup, "first", &length, &flag));
  CHECK(flag && length == 1);
  CHECK(MPI_Info_fromint(MPI_Info_toint(info)) == info);
  OK(MPI_Info_free(&info));
  OK(MPI_Info_free(&dup));
  OK(MPI_Get_version(&major, &minor));
  CHECK(major == 5 && minor == 0);
  OK(MPI_Abi_get_version(&major, &minor));
  CHECK(major == 1 && minor == 0);
  CHECK(MPI_Comm_toint(MPI_COMM_WORLD) == 257 && MPI_Comm_fromint(257) == MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  CHECK(MPI_Wtick() > 0 && MPI_Wtime() >= start);
  OK(MPI_Error_class(MPI_ERR_TAG, &number));
  CHECK_EQ(number, MPI_ERR_TAG);
  MPI_Status status;
  memset(&status, 0, sizeof status);
  OK(MPI_Status_set_source(&status, 3));
  OK(MPI_Status_set_tag(&status, 4));
  OK(MPI_Status_set_error(&status, MPI_ERR_OTHER));
  CHECK(status.MPI_SOURCE == 3 && status.MPI_TAG == 4 && status.MPI_ERROR == MPI_ERR_OTHER);
}

static void tools(void) {
  int provided, count, index;
  MPI_T_cvar_handle handle;
  CHECK_EQ(MPI_T_cvar_get_num(&count), MPI_T_ERR_NOT_INITIALIZED);
  CHECK_EQ(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided), MPI_SUCCESS);
  CHECK(MPI_T_cvar_get_num(&count) == MPI_SUCCESS && count > 5);
  CHECK_EQ(MPI_T_cvar_get_index("TERN_EAGER_LIMIT", &index), MPI_SUCCESS);
  CHECK_EQ(MPI_T_cvar_get_index("TERN_NO_SUCH", &index), MPI_T_ERR_INVALID_NAME);
  for (int i = 0; i < count; ++i) {
    char name[64], text[1024];
    int room = sizeof name, elements = 0;
    MPI_Datatype type;
    CHECK_EQ(MPI_T_cvar_get_info(i, name, &room, NULL, &type, NULL, NULL, NULL, NULL, NULL),
             MPI_SUCCESS);
    CHECK(strncmp(name, "TERN_", 5) == 0 &&
          (type == MPI_CHAR || type == MPI_COUNT || type == MPI_INT));
    CHECK_EQ(MPI_T_cvar_handle_alloc(i, NULL, &handle, &elements), MPI_SUCCESS);
    CHECK(elements == (type == MPI_CHAR ? 1024 : 1));
    CHECK_EQ(MPI_T_cvar_read(handle, text), MPI_SUCCESS);
    CHECK_EQ(MPI_T_cvar_write(handle, text), MPI_T_ERR_CVAR_SET_NEVER);
    CHECK_EQ(MPI_T_cvar_handle_free(&handle), MPI_SUCCESS);
  }
  CHECK_EQ(MPI_T_cvar_handle_alloc(count, NULL, &handle, &provided), MPI_T_ERR_INVALID_INDEX);
  CHECK(MPI_T_pvar_get_num(&count) == MPI_SUCCESS && count > 5);
  CHECK_EQ(MPI_T_finalize(), MPI_SUCCESS);
}

int main(int argc, char** argv) {
  int before = -1, after = -1;
  OK(MPI_Initialized(&before));
  OK(MPI_Finalized(&after));
  CHECK(!before && !after);
  anytime();
  tools();
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  anytime();
  MPI_Finalize();
  OK(MPI_Initialized(&before));
  OK(MPI_Finalized(&after));
  CHECK(before && after);
  anytime();
  tools();
  return 0;
}
