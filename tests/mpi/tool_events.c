// SPDX-License-Identifier: Apache-2.0
// MPI_T events of unexpected messages: content, time, lifetime.
// ranks: 2
#include "check.h"

static int heard, freed, source = -1, tag = -1;
static MPI_Count bytes = -1, stamp = -1;
static MPI_T_event_instance last;

static void hear(MPI_T_event_instance event, MPI_T_event_registration registration,
                 MPI_T_cb_safety safety, void* data) {
  struct {
    int source, tag;
    MPI_Count bytes;
  } copy;
  int from = -1;
  CHECK(data == &heard && safety == MPI_T_CB_REQUIRE_MPI_RESTRICTED && registration != NULL);
  CHECK_EQ(MPI_T_event_read(event, 0, &source), MPI_SUCCESS);
  CHECK_EQ(MPI_T_event_read(event, 1, &tag), MPI_SUCCESS);
  CHECK_EQ(MPI_T_event_read(event, 2, &bytes), MPI_SUCCESS);
  CHECK_EQ(MPI_T_event_read(event, 3, &from), MPI_T_ERR_INVALID_INDEX);
  CHECK_EQ(MPI_T_event_copy(event, &copy), MPI_SUCCESS);
  CHECK(copy.source == source && copy.tag == tag && copy.bytes == bytes);
  CHECK_EQ(MPI_T_event_get_timestamp(event, &stamp), MPI_SUCCESS);
  CHECK_EQ(MPI_T_event_get_source(event, &from), MPI_SUCCESS);
  CHECK_EQ(from, 0);
  last = event;
  ++heard;
}

static void gone(MPI_T_event_registration registration, MPI_T_cb_safety safety, void* data) {
  (void)registration;
  (void)safety;
  CHECK(data == &freed);
  ++freed;
}

static void dropped(MPI_Count count, MPI_T_event_registration registration, int source_index,
                    MPI_T_cb_safety safety, void* data) {
  (void)registration;
  (void)safety;
  (void)data;
  FAIL("%lld events of source %d are said to be lost", (long long)count, source_index);
}

static void what_there_is(void) {
  int count = 0, index = -1, room = 8, elements = 3, bind;
  char name[8];
  MPI_Datatype types[3];
  MPI_Aint places[3];
  MPI_T_source_order order;
  MPI_Count ticks = 0, most = 0, now = 0;
  MPI_Info info;
  CHECK_EQ(MPI_T_event_get_num(&count), MPI_SUCCESS);
  CHECK_EQ(count, 1);
  CHECK_EQ(MPI_T_event_get_index("unexpected_message", &index), MPI_SUCCESS);
  CHECK_EQ(MPI_T_event_get_info(index, name, &room, NULL, types, places, &elements, NULL, &info,
                                NULL, NULL, &bind),
           MPI_SUCCESS);
  CHECK_EQ(room, strlen("unexpected_message") + 1);
  CHECK(strcmp(name, "unexpec") == 0);
  CHECK(elements == 3 && types[0] == MPI_INT && types[2] == MPI_COUNT && places[2] == 8);
  OK(MPI_Info_free(&info));
  CHECK_EQ(MPI_T_source_get_num(&count), MPI_SUCCESS);
  CHECK_EQ(MPI_T_source_get_info(0, NULL, NULL, NULL, NULL, &order, &ticks, &most, NULL),
           MPI_SUCCESS);
  CHECK(count == 1 && order == MPI_T_SOURCE_ORDERED && ticks == 1000000000);
  CHECK_EQ(MPI_T_source_get_timestamp(0, &now), MPI_SUCCESS);
  CHECK(now > 0 && now < most);
}

static void one_early_message(int length) {
  char* data = calloc(1, (size_t)length);
  if (rank == 0) {
    OK(MPI_Send(data, length, MPI_CHAR, 1, length, MPI_COMM_WORLD));
  } else {
    OK(MPI_Probe(0, length, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    OK(MPI_Recv(data, length, MPI_CHAR, 0, length, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  free(data);
}

int main(int argc, char** argv) {
  int provided;
  MPI_T_event_registration registration;
  MPI_Count before, after;
  CHECK_EQ(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided), MPI_SUCCESS);
  CHECK_EQ(MPI_T_event_handle_alloc(0, NULL, MPI_INFO_NULL, &registration), MPI_SUCCESS);
  CHECK_EQ(MPI_T_event_set_dropped_handler(registration, dropped), MPI_SUCCESS);
  CHECK_EQ(MPI_T_event_register_callback(registration, MPI_T_CB_REQUIRE_THREAD_SAFE, MPI_INFO_NULL,
                                         &heard, hear),
           MPI_SUCCESS);
  begin(&argc, &argv);
  need(2);
  what_there_is();
  CHECK_EQ(MPI_T_source_get_timestamp(0, &before), MPI_SUCCESS);
  one_early_message(100);
  CHECK_EQ(MPI_T_source_get_timestamp(0, &after), MPI_SUCCESS);
  if (rank == 1) {
    CHECK_EQ(heard, 1);
    CHECK(source == 0 && tag == 100 && bytes == 100);
    CHECK(before <= stamp && stamp <= after);
    CHECK_EQ(MPI_T_event_read(last, 0, &source), MPI_T_ERR_INVALID_HANDLE);
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  one_early_message(1000000);
  if (rank == 1) {
    CHECK_EQ(heard, 2);
    CHECK_EQ(bytes, 1000000);
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  MPI_T_event_registration stale = registration;
  CHECK_EQ(MPI_T_event_handle_free(registration, &freed, gone), MPI_SUCCESS);
  CHECK_EQ(freed, 1);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  CHECK_EQ(MPI_T_event_handle_free(stale, &freed, gone), MPI_T_ERR_INVALID_HANDLE);
  one_early_message(100);
  if (rank == 1) CHECK_EQ(heard, 2);
  CHECK_EQ(MPI_T_finalize(), MPI_SUCCESS);
  return end();
}
