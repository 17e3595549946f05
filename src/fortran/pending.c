// SPDX-License-Identifier: Apache-2.0
// Packed copies of sections in nonblocking and persistent calls. The completing call of Fortran
// unpacks the copy; requests completed in C keep packed copies. Lifetime: from the call until the
// request is null, or until a persistent request is freed. Threads: all functions may be called by
// any thread. Cost without copies: a load per completion call.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "fortran/fort.h"

enum { kSections = 2 };
struct pending {
  int request;
  int active, persistent;
  struct fort_section sections[kSections];
  struct fort_array arrays[kSections];
  int count;
  struct pending* next;
};
int fort_pending;
static struct pending* first;
static struct pending* abandoned;  // freed while active
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void fort_keep(int request, int persistent, int count, struct fort_section** sections) {
  if (request == (int)(uintptr_t)MPI_REQUEST_NULL) {  // complete already
    for (int i = 0; i < count; ++i) fort_close(sections[i]);
    return;
  }
  struct pending* made = fort_allocate(1, sizeof *made);
  made->request = request;
  made->persistent = persistent;
  made->active = !persistent;
  for (int i = 0; i < count; ++i) {
    if (!(sections[i]->ways & kFortCopied)) {
      fort_close(sections[i]);
      continue;
    }
    const int at = made->count++;
    made->arrays[at] = *sections[i]->array;
    made->sections[at] = *sections[i];
    made->sections[at].array = &made->arrays[at];
  }
  pthread_mutex_lock(&lock);
  made->next = first;
  first = made;
  __atomic_add_fetch(&fort_pending, 1, __ATOMIC_RELEASE);
  pthread_mutex_unlock(&lock);
}

// Finds the entry of a request under the lock, and removes it from the list if `remove` is set.
static struct pending* find(int request, int remove) {
  struct pending** at = &first;
  while (*at && (*at)->request != request) at = &(*at)->next;
  struct pending* const found = *at;
  if (found && remove) {
    *at = found->next;
    __atomic_sub_fetch(&fort_pending, 1, __ATOMIC_RELEASE);
  }
  return found;
}

static int is_done(int request) {
  int done = 0;
  return PMPI_Request_get_status(fort_Request(request), &done, MPI_STATUS_IGNORE) == MPI_SUCCESS &&
         done;
}

// For complete requests that remain: persistent requests, and others after MPI_Request_get_status.
static void unpack_once(struct pending* p) {
  for (int s = 0; s < p->count; ++s)
    if (p->sections[s].ways & kFortWrite) fort_unpack(&p->sections[s]);
  p->active = 0;
}

static void release(struct pending* p) {
  for (int s = 0; s < p->count; ++s) {
    if (!p->active) p->sections[s].ways &= ~kFortWrite;  // unpacked already
    fort_close(&p->sections[s]);
  }
  free(p);
}

void fort_settle(const int* before, const int* after, long count) {
  for (long i = 0; i < count; ++i) {
    if (before[i] == (int)(uintptr_t)MPI_REQUEST_NULL) continue;
    const int gone = after[i] != before[i];
    pthread_mutex_lock(&lock);
    struct pending* const found = find(before[i], gone);
    if (found && !gone && found->active && is_done(before[i])) unpack_once(found);
    pthread_mutex_unlock(&lock);
    if (found && gone) release(found);
  }
}

// For MPI_Request_free. The copies of an active request stay: the library may still use them.
void fort_abandon(int request) {
  pthread_mutex_lock(&lock);
  struct pending* const found = find(request, 1);
  const int active = found && found->active;
  if (active) {
    found->next = abandoned;
    abandoned = found;
  }
  pthread_mutex_unlock(&lock);
  if (found && !active) release(found);
}

void fort_starting(const int* requests, long count) {
  pthread_mutex_lock(&lock);
  for (long i = 0; i < count; ++i) {
    struct pending* const p = find(requests[i], 0);
    if (!p) continue;
    p->active = 1;
    for (int s = 0; s < p->count; ++s) fort_pack(&p->sections[s]);
  }
  pthread_mutex_unlock(&lock);
}
