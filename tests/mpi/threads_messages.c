// SPDX-License-Identifier: Apache-2.0
// Threads match messages, receive matched messages and complete requests of other threads. A
// thread's matches of one sender and tag are in order.
// ranks: 1 2 3
// timeout: 120
#include <pthread.h>

#include "check.h"

enum { kMessages = 600, kTags = 3, kMatchers = 2, kMost = 40000, kQueue = kMessages + 8 };

struct Matched {
  MPI_Message message;
  MPI_Status status;
  int matcher, index;  // index: the sender's number, known after the receive
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct Matched queue[kQueue];
static int queued, taken, matched, seen[kMessages];
static MPI_Request started[kMessages];
static int launched;
static char* buffers[kMessages];
static MPI_Comm comm;

static int ints_of(int i) { return 2 + i % 7 * (i % 50 == 0 ? kMost / 7 : 40); }

static int claim(int* counter, int limit) {
  pthread_mutex_lock(&mutex);
  const int got = *counter < limit ? (*counter)++ : -1;
  pthread_mutex_unlock(&mutex);
  return got;
}

static void* match(void* argument) {
  const int tests = argument != NULL;
  int flag = 1;
  while (claim(&matched, kMessages) >= 0) {
    struct Matched one;
    do {
      if (tests)
        OK(MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &flag, &one.message, &one.status));
      else
        OK(MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &one.message, &one.status));
    } while (!flag);
    one.matcher = tests;
    pthread_mutex_lock(&mutex);
    queue[queued++] = one;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
  }
  return NULL;
}

static struct Matched next_matched(int which) {
  pthread_mutex_lock(&mutex);
  while (queued <= which) pthread_cond_wait(&changed, &mutex);
  const struct Matched found = queue[which];
  pthread_mutex_unlock(&mutex);
  return found;
}

static void* receive(void* argument) {
  const int later = argument != NULL;
  int* into = malloc(sizeof(int) * (kMost + 500));
  MPI_Request request;
  MPI_Status status;
  int count, which;
  CHECK(into != NULL);
  while ((which = claim(&taken, kMessages)) >= 0) {
    struct Matched one = next_matched(which);
    if (later) {
      OK(MPI_Imrecv(into, kMost + 500, MPI_INT, &one.message, &request));
      OK(MPI_Wait(&request, &status));
    } else {
      OK(MPI_Mrecv(into, kMost + 500, MPI_INT, &one.message, &status));
    }
    OK(MPI_Get_count(&status, MPI_INT, &count));
    CHECK(into[0] >= 0 && into[0] < kMessages);
    CHECK_EQ(count, ints_of(into[0]));
    CHECK_EQ(into[count - 1], into[0]);
    CHECK_EQ(status.MPI_TAG, into[0] % kTags);
    pthread_mutex_lock(&mutex);
    CHECK_EQ(seen[into[0]]++, 0);
    queue[which].index = into[0];
    pthread_mutex_unlock(&mutex);
  }
  free(into);
  return NULL;
}

static void* start_all(void* argument) {
  (void)argument;
  for (int i = 0; i < kMessages; ++i) {
    const int count = ints_of(i);
    int* data = malloc(sizeof(int) * (size_t)count);
    CHECK(data != NULL);
    data[0] = data[count - 1] = i;
    MPI_Request request;
    if (i % 4 == 3)
      OK(MPI_Issend(data, count, MPI_INT, (rank + 1) % size, i % kTags, comm, &request));
    else
      OK(MPI_Isend(data, count, MPI_INT, (rank + 1) % size, i % kTags, comm, &request));
    pthread_mutex_lock(&mutex);
    buffers[i] = (char*)data;
    started[i] = request;
    launched = i + 1;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
  }
  return NULL;
}

static void* complete_all(void* argument) {
  (void)argument;
  for (int done = 0; done < kMessages;) {
    pthread_mutex_lock(&mutex);
    while (launched == done) pthread_cond_wait(&changed, &mutex);
    const int until = launched;
    pthread_mutex_unlock(&mutex);
    OK(MPI_Waitall(until - done, started + done, MPI_STATUSES_IGNORE));
    for (; done < until; ++done) free(buffers[done]);
  }
  return NULL;
}

static void check_order(void) {
  for (int matcher = 0; matcher < kMatchers; ++matcher) {
    int last[kTags] = {-1, -1, -1};
    for (int i = 0; i < kMessages; ++i) {
      if (queue[i].matcher != matcher) continue;
      CHECK(queue[i].index > last[queue[i].status.MPI_TAG]);
      last[queue[i].status.MPI_TAG] = queue[i].index;
    }
  }
}

int main(int argc, char** argv) {
  void* (*const work[])(void*) = {match, match, receive, receive, start_all, complete_all};
  pthread_t threads[6];
  int provided, me;
  OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
  CHECK_EQ(provided, MPI_THREAD_MULTIPLE);
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  for (int i = 0; i < 6; ++i)
    CHECK(pthread_create(&threads[i], NULL, work[i], i % 2 ? &me : NULL) == 0);
  for (int i = 0; i < 6; ++i) pthread_join(threads[i], NULL);
  for (int i = 0; i < kMessages; ++i) CHECK_EQ(seen[i], 1);
  check_order();
  OK(MPI_Comm_free(&comm));
  return end();
}
