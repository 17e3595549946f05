// SPDX-License-Identifier: Apache-2.0
// Attributes across languages (MPI-5.0 section 19.3.7). C reads a pointer to an integer set in
// Fortran. Fortran reads a pointer set in C as an integer.
#include <pthread.h>
#include <stdlib.h>

#include "fortran/callbacks.h"
#include "fortran/fort.h"

struct box {
  MPI_Aint value;
  struct box* next;
};
enum { kBuckets = 256 };
static struct box* boxes[kBuckets];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct box** bucket(const void* address) {
  return &boxes[(uintptr_t)address / 32 % kBuckets];
}

void* fort_box(MPI_Aint value) {
  struct box* made = fort_allocate(1, sizeof *made);
  made->value = value;
  pthread_mutex_lock(&lock);
  made->next = *bucket(made);
  *bucket(made) = made;
  pthread_mutex_unlock(&lock);
  return made;
}

// The link to the box, under the lock; null for other pointers.
static struct box** link_of(const void* address) {
  struct box** at = bucket(address);
  while (*at && *at != address) at = &(*at)->next;
  return *at ? at : NULL;
}

int fort_is_box(const void* attribute) {
  pthread_mutex_lock(&lock);
  const int is = link_of(attribute) != NULL;
  pthread_mutex_unlock(&lock);
  return is;
}

MPI_Aint fort_unboxed(void* attribute) {
  return fort_is_box(attribute) ? ((struct box*)attribute)->value : (MPI_Aint)attribute;
}

void fort_unbox(void* attribute) {
  pthread_mutex_lock(&lock);
  struct box** const at = link_of(attribute);
  struct box* const found = at ? *at : NULL;
  if (at) *at = found->next;
  pthread_mutex_unlock(&lock);
  free(found);
}

MPI_Aint fort_attribute(int keyval, void* attribute) {
  switch (keyval) {
    case MPI_TAG_UB:
    case MPI_IO:
    case MPI_HOST:
    case MPI_WTIME_IS_GLOBAL:
    case MPI_APPNUM:
    case MPI_LASTUSEDCODE:
    case MPI_UNIVERSE_SIZE:
    case MPI_WIN_DISP_UNIT:
    case MPI_WIN_CREATE_FLAVOR:
    case MPI_WIN_MODEL:
      return *(int*)attribute;
    case MPI_WIN_SIZE:
      return *(MPI_Aint*)attribute;
    default:
      return fort_unboxed(attribute);
  }
}

struct fort_keyval* fort_keyval(fort_procedure* copy, fort_procedure* remove, MPI_Aint state,
                                int old) {
  struct fort_keyval* made = fort_allocate(1, sizeof *made);
  *made = (struct fort_keyval){copy, remove, state, old};
  return made;
}

// The predefined procedures of Fortran.
static void never_copy(MPI_Aint* state, MPI_Aint* in, MPI_Aint* out, int* flag, int* ierror) {
  (void)state, (void)in, (void)out;
  *flag = 0;
  fort_set(ierror, MPI_SUCCESS);
}
#define PREDEFINED(prefix, value)                                                               \
  void mpi_##prefix##null_copy_fn_(int* h, int* k, MPI_Aint* state, value* in, value* out,      \
                                   int* flag, int* ierror) {                                    \
    (void)h, (void)k;                                                                           \
    never_copy(state, (MPI_Aint*)in, (MPI_Aint*)out, flag, ierror);                             \
  }                                                                                             \
  void mpi_##prefix##dup_fn_(int* h, int* k, MPI_Aint* state, value* in, value* out, int* flag, \
                             int* ierror) {                                                     \
    (void)h, (void)k, (void)state;                                                              \
    *out = *in;                                                                                 \
    *flag = 1;                                                                                  \
    fort_set(ierror, MPI_SUCCESS);                                                              \
  }                                                                                             \
  void mpi_##prefix##null_delete_fn_(int* h, int* k, value* attribute, MPI_Aint* state,         \
                                     int* ierror) {                                             \
    (void)h, (void)k, (void)attribute, (void)state;                                             \
    fort_set(ierror, MPI_SUCCESS);                                                              \
  }
PREDEFINED(comm_, MPI_Aint)
PREDEFINED(type_, MPI_Aint)
PREDEFINED(win_, MPI_Aint)
PREDEFINED(, int)

static int copy(int handle, int keyval, struct fort_keyval* k, void* in, void** out, int* flag) {
  int code = MPI_SUCCESS, yes = 0;
  MPI_Aint given = fort_unboxed(in), taken = 0;
  if (k->old) {
    int given_int = (int)given, taken_int = 0, state = (int)k->state;
    ((void (*)(int*, int*, int*, int*, int*, int*, int*))k->copy)(
        &handle, &keyval, &state, &given_int, &taken_int, &yes, &code);
    taken = taken_int;
  } else {
    ((void (*)(int*, int*, MPI_Aint*, MPI_Aint*, MPI_Aint*, int*, int*))k->copy)(
        &handle, &keyval, &k->state, &given, &taken, &yes, &code);
  }
  *flag = yes != 0;
  if (code == MPI_SUCCESS && yes)  // pointers of C stay unboxed
    *out = taken == given && !fort_is_box(in) ? in : fort_box(taken);
  return code;
}

static int destroy(int handle, int keyval, void* attribute, struct fort_keyval* k) {
  int code = MPI_SUCCESS;
  MPI_Aint value = fort_unboxed(attribute);
  if (k->old) {
    int value_int = (int)value, state = (int)k->state;
    ((void (*)(int*, int*, int*, int*, int*))k->remove)(&handle, &keyval, &value_int, &state,
                                                        &code);
  } else {
    ((void (*)(int*, int*, MPI_Aint*, MPI_Aint*, int*))k->remove)(&handle, &keyval, &value,
                                                                  &k->state, &code);
  }
  if (code == MPI_SUCCESS) fort_unbox(attribute);
  return code;
}

#define KEYVAL(kind, type, prefix)                                                        \
  int fort_copy_##kind(type h, int keyval, void* state, void* in, void* out, int* flag) { \
    return copy(fort_##prefix##_int(h), keyval, state, in, out, flag);                    \
  }                                                                                       \
  int fort_remove_##kind(type h, int keyval, void* attribute, void* state) {              \
    return destroy(fort_##prefix##_int(h), keyval, attribute, state);                     \
  }
KEYVAL(comm, MPI_Comm, Comm)
KEYVAL(type, MPI_Datatype, Type)
KEYVAL(win, MPI_Win, Win)
