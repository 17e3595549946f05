// SPDX-License-Identifier: Apache-2.0
// Operations and error handlers of C have no extra state: kFortCallbacks C functions of each kind
// serve one procedure each. Other callbacks keep their procedures in the extra state.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "fortran/callbacks.h"
#include "fortran/fort.h"

static fort_procedure* procedures[kFortKinds][kFortCallbacks];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void call_op(int i, void* in, void* inout, int* count, MPI_Datatype* type) {
  int number = fort_Type_int(*type);
  ((void (*)(void*, void*, int*, int*))procedures[kFortOp][i])(in, inout, count, &number);
}
static void call_op_large(int i, void* in, void* inout, MPI_Count* count, MPI_Datatype* type) {
  int number = fort_Type_int(*type);
  ((void (*)(void*, void*, MPI_Count*, int*))procedures[kFortOpLarge][i])(in, inout, count,
                                                                          &number);
}
static void call_handler(enum fort_kind kind, int i, int number, int* code) {
  ((void (*)(int*, int*))procedures[kind][i])(&number, code);
}

#define FUNCTION(i)                                                                \
  static void op_##i(void* in, void* inout, int* n, MPI_Datatype* t) {             \
    call_op(i, in, inout, n, t);                                                   \
  }                                                                                \
  static void op_large_##i(void* in, void* inout, MPI_Count* n, MPI_Datatype* t) { \
    call_op_large(i, in, inout, n, t);                                             \
  }                                                                                \
  static void comm_##i(MPI_Comm* h, int* code, ...) {                              \
    call_handler(kFortComm, i, fort_Comm_int(*h), code);                           \
  }                                                                                \
  static void file_##i(MPI_File* h, int* code, ...) {                              \
    call_handler(kFortFile, i, fort_File_int(*h), code);                           \
  }                                                                                \
  static void session_##i(MPI_Session* h, int* code, ...) {                        \
    call_handler(kFortSession, i, fort_Session_int(*h), code);                     \
  }                                                                                \
  static void win_##i(MPI_Win* h, int* code, ...) {                                \
    call_handler(kFortWin, i, fort_Win_int(*h), code);                             \
  }
// EACH(X) writes X(000) to X(077): the octal digits name kFortCallbacks functions.
#define EACH8(X, p) X(p##0) X(p##1) X(p##2) X(p##3) X(p##4) X(p##5) X(p##6) X(p##7)
#define EACH(X) \
  EACH8(X, 00)  \
  EACH8(X, 01) EACH8(X, 02) EACH8(X, 03) EACH8(X, 04) EACH8(X, 05) EACH8(X, 06) EACH8(X, 07)
EACH(FUNCTION)

#define ROW_OP(i) (void*)op_##i,
#define ROW_OP_LARGE(i) (void*)op_large_##i,
#define ROW_COMM(i) (void*)comm_##i,
#define ROW_FILE(i) (void*)file_##i,
#define ROW_SESSION(i) (void*)session_##i,
#define ROW_WIN(i) (void*)win_##i,
static void* const functions[kFortKinds][kFortCallbacks] = {
    {EACH(ROW_OP)},   {EACH(ROW_OP_LARGE)}, {EACH(ROW_COMM)},
    {EACH(ROW_FILE)}, {EACH(ROW_SESSION)},  {EACH(ROW_WIN)}};

void* fort_callback(enum fort_kind kind, fort_procedure* procedure) {
  void* found = NULL;
  pthread_mutex_lock(&lock);
  for (int i = 0; i < kFortCallbacks && !found; ++i) {
    if (!procedures[kind][i]) procedures[kind][i] = procedure;
    if (procedures[kind][i] == procedure) found = functions[kind][i];
  }
  pthread_mutex_unlock(&lock);
  if (found) return found;
  fprintf(stderr,
          "MPI (Fortran): %d procedures are operations or error handlers of this kind already, the "
          "limit. Procedures of freed operations count. Use one procedure for several purposes.\n",
          kFortCallbacks);
  PMPI_Comm_call_errhandler(MPI_COMM_SELF, MPI_ERR_NO_MEM);
  return NULL;
}

int fort_query(void* state, MPI_Status* status) {
  struct fort_grequest* r = state;
  int code = MPI_SUCCESS;
  ((void (*)(MPI_Aint*, MPI_Status*, int*))r->query)(r->state, status, &code);
  return code;
}

int fort_free(void* state) {
  struct fort_grequest* r = state;
  int code = MPI_SUCCESS;
  ((void (*)(MPI_Aint*, int*))r->free)(r->state, &code);
  free(r);
  return code;
}

int fort_cancel(void* state, int complete) {
  struct fort_grequest* r = state;
  int code = MPI_SUCCESS, flag = complete != 0;
  ((void (*)(MPI_Aint*, int*, int*))r->cancel)(r->state, &flag, &code);
  return code;
}

#define CONVERSION(name, way, count_type)                                                    \
  int name(void* user, MPI_Datatype type, count_type count, void* file, MPI_Offset position, \
           void* state) {                                                                    \
    struct fort_datarep* d = state;                                                          \
    int code = MPI_SUCCESS, number = fort_Type_int(type);                                    \
    ((void (*)(void*, int*, count_type*, void*, MPI_Offset*, MPI_Aint*, int*))d->way)(       \
        user, &number, &count, file, &position, &d->state, &code);                           \
    return code;                                                                             \
  }
CONVERSION(fort_read, read, int)
CONVERSION(fort_write, write, int)
CONVERSION(fort_read_c, read, MPI_Count)
CONVERSION(fort_write_c, write, MPI_Count)

int fort_extent(MPI_Datatype type, MPI_Aint* extent, void* state) {
  struct fort_datarep* d = state;
  int code = MPI_SUCCESS, number = fort_Type_int(type);
  ((void (*)(int*, MPI_Aint*, MPI_Aint*, int*))d->extent)(&number, extent, &d->state, &code);
  return code;
}

void mpi_conversion_fn_null_(void) {}
void mpi_conversion_fn_null_c_(void) {}
