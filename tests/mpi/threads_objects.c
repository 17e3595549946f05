// SPDX-License-Identifier: Apache-2.0
// MPI_THREAD_MULTIPLE: threads share an info object, attributes and a name. Delete callbacks call
// MPI.
// ranks: singleton 1
// timeout: 120
#include <pthread.h>
#include <stdatomic.h>

#include "check.h"

enum { kThreads = 4, kKeys = 20, kRounds = 300 };

static MPI_Info info;
static MPI_Datatype type;
static int shared_key, type_key, unset_key;
static atomic_int made, ended;

static void run(void* (*function)(void*)) {
  pthread_t threads[kThreads];
  int ids[kThreads];
  for (int i = 0; i < kThreads; ++i) {
    ids[i] = i;
    CHECK(pthread_create(&threads[i], NULL, function, &ids[i]) == 0);
  }
  for (int i = 0; i < kThreads; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
}

static void check_value(MPI_Info in, const char* key, const char* expected) {
  char value[200];
  int length = sizeof value, flag = 0;
  OK(MPI_Info_get_string(in, key, &length, value, &flag));
  CHECK(flag && strcmp(value, expected) == 0);
}

static void* infos(void* argument) {
  const int id = *(int*)argument;
  char key[32], value[100];
  for (int round = 0; round < kRounds; ++round) {
    MPI_Info copy;
    int keys = -1;
    for (int i = 0; i < kKeys; ++i) {
      snprintf(key, sizeof key, "key %d of %d", i, id);
      snprintf(value, sizeof value, "a value of more than a few letters: %d", i + round);
      OK(MPI_Info_set(info, key, value));
      check_value(info, key, value);
    }
    OK(MPI_Info_dup(info, &copy));
    check_value(copy, key, value);
    OK(MPI_Info_free(&copy));
    OK(MPI_Info_get_nkeys(info, &keys));
    CHECK(keys >= kKeys && keys <= kKeys * kThreads);
    char first[MPI_MAX_INFO_KEY];
    OK(MPI_Info_get_nthkey(info, 0, first));
    CHECK(strncmp(first, "key ", 4) == 0);
    for (int i = 0; i < kKeys; ++i) {
      snprintf(key, sizeof key, "key %d of %d", i, id);
      OK(MPI_Info_delete(info, key));
    }
  }
  return NULL;
}

static int delete_value(MPI_Comm comm, int key, void* value, void* extra) {
  void* other = NULL;
  int flag = -1;
  (void)key, (void)extra;
  OK(MPI_Comm_get_attr(comm, unset_key, &other, &flag));
  CHECK_EQ(flag, 0);
  free(value);
  atomic_fetch_add(&ended, 1);
  return MPI_SUCCESS;
}
static int delete_of_type(MPI_Datatype of, int key, void* value, void* extra) {
  char name[MPI_MAX_OBJECT_NAME];
  int length;
  (void)key, (void)extra;
  OK(MPI_Type_get_name(of, name, &length));
  free(value);
  atomic_fetch_add(&ended, 1);
  return MPI_SUCCESS;
}

static void* new_value(void) {
  atomic_fetch_add(&made, 1);
  return malloc(8);
}

static void* attributes(void* unused) {
  int keys[kKeys];
  for (int i = 0; i < kKeys; ++i)
    OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &keys[i], NULL));
  for (int round = 0; round < kRounds; ++round) {
    void* value;
    int flag;
    for (int i = 0; i < kKeys; ++i) OK(MPI_Comm_set_attr(MPI_COMM_SELF, keys[i], &keys[i]));
    OK(MPI_Comm_set_attr(MPI_COMM_SELF, shared_key, new_value()));
    OK(MPI_Type_set_attr(type, type_key, new_value()));
    OK(MPI_Comm_get_attr(MPI_COMM_SELF, shared_key, &value, &flag));
    for (int i = 0; i < kKeys; ++i) {
      OK(MPI_Comm_get_attr(MPI_COMM_SELF, keys[i], &value, &flag));
      CHECK(flag && value == &keys[i]);
      OK(MPI_Comm_delete_attr(MPI_COMM_SELF, keys[i]));
    }
  }
  for (int i = 0; i < kKeys; ++i) OK(MPI_Comm_free_keyval(&keys[i]));
  return unused;
}

static void one_letter(const char* name, int length) {
  CHECK_EQ((long)strlen(name), length);
  for (int i = 1; i < length; ++i) CHECK(name[i] == name[0]);
}

static void* names(void* argument) {
  const int id = *(int*)argument;
  char name[MPI_MAX_OBJECT_NAME], mine[MPI_MAX_OBJECT_NAME] = "";
  memset(mine, 'a' + id, (size_t)(10 + 30 * id));
  for (int round = 0; round < 20 * kRounds; ++round) {
    int length;
    OK(MPI_Comm_set_name(MPI_COMM_SELF, mine));
    OK(MPI_Comm_get_name(MPI_COMM_SELF, name, &length));
    one_letter(name, length);
    OK(MPI_Type_set_name(type, mine));
    OK(MPI_Type_get_name(type, name, &length));
    one_letter(name, length);
  }
  return NULL;
}

int main(int argc, char** argv) {
  int provided = -1, keys = -1;
  OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
  OK(MPI_Info_create(&info));
  run(infos);
  OK(MPI_Info_get_nkeys(info, &keys));
  CHECK_EQ(keys, 0);
  OK(MPI_Info_free(&info));
  OK(MPI_Type_contiguous(3, MPI_INT, &type));
  OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_value, &shared_key, NULL));
  OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &unset_key, NULL));
  OK(MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, delete_of_type, &type_key, NULL));
  run(attributes);
  OK(MPI_Comm_delete_attr(MPI_COMM_SELF, shared_key));
  run(names);
  OK(MPI_Type_free(&type));
  CHECK_EQ(atomic_load(&ended), atomic_load(&made));
  return end();
}
