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
struct fort_pending {
  int request;
  int active;
  long place;  // among the requests of the call that took it
  struct fort_section sections[kSections];
  struct fort_array arrays[kSections];
  int count;
  struct fort_pending* next;
};
int fort_pending;
static struct fort_pending* first;
static struct fort_pending* abandoned;  // freed while active
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

// Under the lock.
static void list(struct fort_pending* p) {
  p->next = first;
  first = p;
  __atomic_add_fetch(&fort_pending, 1, __ATOMIC_RELEASE);
}

void fort_keep(int request, int persistent, int count, struct fort_section** sections) {
  if (request == (int)(uintptr_t)MPI_REQUEST_NULL) {  // complete already
    for (int i = 0; i < count; ++i) fort_close(sections[i]);
    return;
  }
  struct fort_pending* made = fort_allocate(1, sizeof *made);
  made->request = request;
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
  list(made);
  pthread_mutex_unlock(&lock);
}

// The link to the entry of a request, or to null; under the lock.
static struct fort_pending** find(int request) {
  struct fort_pending** at = &first;
  while (*at && (*at)->request != request) at = &(*at)->next;
  return at;
}

struct fort_pending* fort_take(const int* requests, long count) {
  struct fort_pending* taken = NULL;
  pthread_mutex_lock(&lock);
  for (long i = 0; i < count; ++i) {
    struct fort_pending **const at = find(requests[i]), *const found = *at;
    if (!found) continue;
    *at = found->next;
    __atomic_sub_fetch(&fort_pending, 1, __ATOMIC_RELEASE);
    found->place = i;
    found->next = taken;
    taken = found;
  }
  pthread_mutex_unlock(&lock);
  return taken;
}

static int is_done(int request) {
  int done = 0;
  return PMPI_Request_get_status(fort_Request(request), &done, MPI_STATUS_IGNORE) == MPI_SUCCESS &&
         done;
}

// For complete requests that remain: persistent requests, and others after MPI_Request_get_status.
static void unpack_once(struct fort_pending* p) {
  for (int s = 0; s < p->count; ++s)
    if (p->sections[s].ways & kFortWrite) fort_unpack(&p->sections[s]);
  p->active = 0;
}

static void release(struct fort_pending* p) {
  for (int s = 0; s < p->count; ++s) {
    if (!p->active) p->sections[s].ways &= ~kFortWrite;  // unpacked already
    fort_close(&p->sections[s]);
  }
  free(p);
}

void fort_settle(struct fort_pending* taken, const int* after, int freed) {
  while (taken) {
    struct fort_pending* const p = taken;
    taken = p->next;
    const int remains = after[p->place] == p->request;
    if (remains && p->active && is_done(p->request)) unpack_once(p);
    if (!remains && !(freed && p->active)) {
      release(p);
      continue;
    }
    pthread_mutex_lock(&lock);
    if (remains) {
      list(p);
    } else {  // the library may still use the copies of an active request
      p->next = abandoned;
      abandoned = p;
    }
    pthread_mutex_unlock(&lock);
  }
}

void fort_starting(const int* requests, long count) {
  pthread_mutex_lock(&lock);
  for (long i = 0; i < count; ++i) {
    struct fort_pending* const p = *find(requests[i]);
    if (!p) continue;
    p->active = 1;
    for (int s = 0; s < p->count; ++s) fort_pack(&p->sections[s]);
  }
  pthread_mutex_unlock(&lock);
}
