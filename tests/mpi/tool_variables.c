// SPDX-License-Identifier: Apache-2.0
// MPI_T: counts per handle and session, categories list each variable once, word-valued parameters
// are enumerations.
// ranks: singleton 2
#include "check.h"

static MPI_T_pvar_session session;

static int index_of(const char* name, int var_class) {
  int index = -1;
  if (MPI_T_pvar_get_index(name, var_class, &index) != MPI_SUCCESS) FAIL("no variable %s", name);
  return index;
}

static MPI_T_pvar_handle handle_of(const char* name, int var_class, void* object) {
  MPI_T_pvar_handle handle;
  int count = 0;
  CHECK_EQ(MPI_T_pvar_handle_alloc(session, index_of(name, var_class), object, &handle, &count),
           MPI_SUCCESS);
  CHECK_EQ(count, 1);
  return handle;
}

static unsigned long value_of(MPI_T_pvar_handle handle) {
  unsigned long value = 4711;
  CHECK_EQ(MPI_T_pvar_read(session, handle, &value), MPI_SUCCESS);
  return value;
}

static void messages_to_myself(int count, int bytes) {
  static char out[1 << 20], in[1 << 20];
  for (int i = 0; i < count; ++i) {
    MPI_Request request;
    OK(MPI_Irecv(in, bytes, MPI_CHAR, 0, 3, MPI_COMM_SELF, &request));
    OK(MPI_Send(out, bytes, MPI_CHAR, 0, 3, MPI_COMM_SELF));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  }
}

static void counters(void) {
  MPI_T_pvar_handle sent = handle_of("sent_eager", MPI_T_PVAR_CLASS_COUNTER, NULL);
  MPI_T_pvar_handle bytes = handle_of("sent_eager_bytes", MPI_T_PVAR_CLASS_AGGREGATE, NULL);
  MPI_T_pvar_handle large = handle_of("sent_announced_bytes", MPI_T_PVAR_CLASS_AGGREGATE, NULL);
  MPI_T_pvar_handle received = handle_of("received", MPI_T_PVAR_CLASS_COUNTER, NULL);
  unsigned long value = 0;
  messages_to_myself(3, 10);
  CHECK_EQ(value_of(sent), 0);
  CHECK_EQ(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS);
  messages_to_myself(5, 10);
  messages_to_myself(2, 1000000);
  CHECK_EQ(value_of(sent), 5);
  CHECK_EQ(value_of(bytes), 50);
  CHECK_EQ(value_of(large), 2000000);
  CHECK_EQ(value_of(received), 7);
  CHECK_EQ(MPI_T_pvar_stop(session, sent), MPI_SUCCESS);
  messages_to_myself(5, 10);
  CHECK_EQ(value_of(sent), 5);
  CHECK_EQ(value_of(bytes), 100);
  CHECK_EQ(MPI_T_pvar_start(session, sent), MPI_SUCCESS);
  messages_to_myself(1, 10);
  CHECK_EQ(MPI_T_pvar_readreset(session, sent, &value), MPI_SUCCESS);
  CHECK_EQ(value, 6);
  CHECK_EQ(value_of(sent), 0);
  value = 100;
  CHECK_EQ(MPI_T_pvar_write(session, sent, &value), MPI_SUCCESS);
  messages_to_myself(1, 10);
  CHECK_EQ(value_of(sent), 101);
  CHECK_EQ(MPI_T_pvar_reset(session, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS);
  CHECK_EQ(value_of(bytes), 0);
  CHECK_EQ(MPI_T_pvar_handle_free(session, &sent), MPI_SUCCESS);
  CHECK(sent == MPI_T_PVAR_HANDLE_NULL);
}

static void queues(void) {
  MPI_Comm comm;
  MPI_Request requests[3];
  OK(MPI_Comm_dup(MPI_COMM_SELF, &comm));
  MPI_Comm self = MPI_COMM_SELF;
  MPI_T_pvar_handle all = handle_of("unexpected_queue", MPI_T_PVAR_CLASS_LEVEL, NULL);
  MPI_T_pvar_handle bytes = handle_of("unexpected_queue_bytes", MPI_T_PVAR_CLASS_LEVEL, NULL);
  MPI_T_pvar_handle most = handle_of("unexpected_queue_most", MPI_T_PVAR_CLASS_HIGHWATERMARK, NULL);
  MPI_T_pvar_handle mine = handle_of("comm_unexpected_queue", MPI_T_PVAR_CLASS_LEVEL, &comm);
  MPI_T_pvar_handle others = handle_of("comm_unexpected_queue", MPI_T_PVAR_CLASS_LEVEL, &self);
  MPI_T_pvar_handle posted = handle_of("comm_posted_receives", MPI_T_PVAR_CLASS_LEVEL, &comm);
  const unsigned long before = value_of(all), bytes_before = value_of(bytes);
  char data[8];
  for (int i = 0; i < 3; ++i) OK(MPI_Isend(data, 8, MPI_CHAR, 0, i, comm, &requests[i]));
  OK(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
  int flag;
  OK(MPI_Iprobe(0, 0, comm, &flag, MPI_STATUS_IGNORE));
  CHECK_EQ(value_of(all), before + 3);
  CHECK_EQ(value_of(bytes), bytes_before + 24);
  CHECK_EQ(value_of(mine), 3);
  CHECK_EQ(value_of(others), 0);
  for (int i = 0; i < 3; ++i) OK(MPI_Recv(data, 8, MPI_CHAR, 0, i, comm, MPI_STATUS_IGNORE));
  CHECK_EQ(value_of(mine), 0);
  CHECK(value_of(most) >= before + 3);
  OK(MPI_Irecv(data, 8, MPI_CHAR, MPI_ANY_SOURCE, 9, comm, &requests[0]));
  CHECK_EQ(value_of(posted), 1);
  OK(MPI_Send(data, 8, MPI_CHAR, 0, 9, comm));
  OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
  CHECK_EQ(value_of(posted), 0);
  CHECK_EQ(MPI_T_pvar_start(session, mine), MPI_T_ERR_PVAR_NO_STARTSTOP);
  CHECK_EQ(MPI_T_pvar_reset(session, most), MPI_T_ERR_PVAR_NO_WRITE);
  OK(MPI_Comm_free(&comm));
  unsigned long value;
  CHECK_EQ(MPI_T_pvar_read(session, mine, &value), MPI_T_ERR_INVALID_HANDLE);
}

static void waiting(void) {
  MPI_T_pvar_handle idle = handle_of("idle_time", MPI_T_PVAR_CLASS_TIMER, NULL);
  MPI_T_pvar_handle rounds = handle_of("poll_rounds", MPI_T_PVAR_CLASS_COUNTER, NULL);
  CHECK_EQ(MPI_T_pvar_start(session, idle), MPI_SUCCESS);
  CHECK_EQ(MPI_T_pvar_start(session, rounds), MPI_SUCCESS);
  if (size < 2) return;
  // The rounds end once rank 1 waits while rank 0 computes. Either rank may be late by a time
  // slice.
  for (int round = 0, again = 1; again; ++round) {
    CHECK(round < 50);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    const double begun = MPI_Wtime(), idle_before = (double)value_of(idle);
    if (rank == 0) {
      while (MPI_Wtime() - begun < 0.1) continue;
      OK(MPI_Send(NULL, 0, MPI_INT, 1, 0, MPI_COMM_WORLD));
    } else {
      OK(MPI_Recv(NULL, 0, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      const double waited = MPI_Wtime() - begun;
      again = waited < 0.09;
      CHECK(again || (double)value_of(idle) - idle_before > 0.02 * 1e9);
      CHECK((double)value_of(idle) - idle_before <= waited * 1e9);
      CHECK(value_of(rounds) > 0);
    }
    OK(MPI_Bcast(&again, 1, MPI_INT, 1, MPI_COMM_WORLD));
  }
}

static void categories(void) {
  int categories_found, cvars = 0, pvars = 0, num, in_cvars, in_pvars, in_categories, indices[100];
  CHECK_EQ(MPI_T_category_get_num(&categories_found), MPI_SUCCESS);
  CHECK(categories_found > 2);
  for (int i = 0; i < categories_found; ++i) {
    char name[64], meaning[200];
    int name_room = sizeof name, meaning_room = sizeof meaning, found = -1;
    CHECK_EQ(MPI_T_category_get_info(i, name, &name_room, meaning, &meaning_room, &in_cvars,
                                     &in_pvars, &in_categories),
             MPI_SUCCESS);
    CHECK(strlen(name) > 0 && strlen(meaning) > 0);
    CHECK_EQ(MPI_T_category_get_index(name, &found), MPI_SUCCESS);
    CHECK_EQ(found, i);
    CHECK_EQ(MPI_T_category_get_cvars(i, 100, indices), MPI_SUCCESS);
    CHECK_EQ(MPI_T_category_get_pvars(i, 100, indices), MPI_SUCCESS);
    cvars += in_cvars;
    pvars += in_pvars;
  }
  CHECK_EQ(MPI_T_cvar_get_num(&num), MPI_SUCCESS);
  CHECK_EQ(cvars, num);
  CHECK_EQ(MPI_T_pvar_get_num(&num), MPI_SUCCESS);
  CHECK_EQ(pvars, num);
  CHECK_EQ(MPI_T_category_get_index("no such", &num), MPI_T_ERR_INVALID_NAME);
}

static void words_are_numbered(void) {
  int index, verbosity, bind, scope, num = 0, value = -1, room, number = -1, elements;
  MPI_Datatype type;
  MPI_T_enum words;
  MPI_T_cvar_handle handle;
  char word[64];
  CHECK_EQ(MPI_T_cvar_get_index("TERN_SM_SINGLE_COPY", &index), MPI_SUCCESS);
  CHECK_EQ(
      MPI_T_cvar_get_info(index, NULL, NULL, &verbosity, &type, &words, NULL, NULL, &bind, &scope),
      MPI_SUCCESS);
  CHECK(type == MPI_INT && words != MPI_T_ENUM_NULL);
  room = sizeof word;
  CHECK_EQ(MPI_T_enum_get_info(words, &num, word, &room), MPI_SUCCESS);
  CHECK_EQ(num, 4);
  CHECK_EQ(MPI_T_cvar_handle_alloc(index, NULL, &handle, &elements), MPI_SUCCESS);
  CHECK_EQ(elements, 1);
  CHECK_EQ(MPI_T_cvar_read(handle, &value), MPI_SUCCESS);
  room = sizeof word;
  CHECK_EQ(MPI_T_enum_get_item(words, value, &number, word, &room), MPI_SUCCESS);
  CHECK(number == value && strcmp(word, "auto") == 0);
  CHECK_EQ(MPI_T_enum_get_item(words, 4, &number, word, &room), MPI_T_ERR_INVALID_ITEM);
  CHECK_EQ(MPI_T_enum_get_info(MPI_T_ENUM_NULL, &num, word, &room), MPI_T_ERR_INVALID_HANDLE);
}

static void wrong_calls(void) {
  MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL;
  int count;
  unsigned long value;
  CHECK_EQ(MPI_T_pvar_read(session, handle, &value), MPI_T_ERR_INVALID_HANDLE);
  CHECK_EQ(MPI_T_pvar_read(session, MPI_T_PVAR_ALL_HANDLES, &value), MPI_T_ERR_INVALID_HANDLE);
  CHECK_EQ(MPI_T_pvar_start(MPI_T_PVAR_SESSION_NULL, handle), MPI_T_ERR_INVALID_SESSION);
  CHECK_EQ(MPI_T_pvar_handle_alloc(session, 1000, NULL, &handle, &count), MPI_T_ERR_INVALID_INDEX);
  CHECK_EQ(MPI_T_pvar_get_index("received", MPI_T_PVAR_CLASS_TIMER, &count),
           MPI_T_ERR_INVALID_NAME);
}

int main(int argc, char** argv) {
  int provided;
  CHECK_EQ(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided), MPI_SUCCESS);
  CHECK_EQ(MPI_T_pvar_session_create(&session), MPI_SUCCESS);
  MPI_T_pvar_handle early = handle_of("received", MPI_T_PVAR_CLASS_COUNTER, NULL);
  CHECK_EQ(MPI_T_pvar_start(session, early), MPI_SUCCESS);
  CHECK_EQ(value_of(early), 0);
  begin(&argc, &argv);
  categories();
  words_are_numbered();
  wrong_calls();
  counters();
  messages_to_myself(5, 10);
  CHECK(value_of(early) >= 5);
  queues();
  waiting();
  MPI_T_pvar_session stale = session;
  CHECK_EQ(MPI_T_pvar_session_free(&session), MPI_SUCCESS);
  CHECK_EQ(MPI_T_pvar_session_free(&stale), MPI_T_ERR_INVALID_SESSION);
  CHECK_EQ(MPI_T_finalize(), MPI_SUCCESS);
  return end();
}
