// SPDX-License-Identifier: Apache-2.0
// Callbacks of Fortran as callbacks of C, and attributes across languages.
// Lifetime: a callback stays registered until the program ends, because operations can outlive
// their handles. Threads: all functions may be called by any thread.
#pragma once

#include <mpi.h>

typedef void fort_procedure(void);

// The C callback of a procedure; equal for equal procedures. Null after kFortCallbacks procedures
// of a kind, with a message and a call of MPI_COMM_SELF's error handler.
enum fort_kind { kFortOp, kFortOpLarge, kFortComm, kFortFile, kFortSession, kFortWin, kFortKinds };
enum { kFortCallbacks = 64 };
void* fort_callback(enum fort_kind kind, fort_procedure* procedure);

// The value of an attribute set in Fortran lives in a box. C reads the box's address: a pointer to
// the value.
void* fort_box(MPI_Aint value);
// The value behind the pointer of C: of a box, or the pointer itself.
MPI_Aint fort_unboxed(void* attribute);
// Frees a box; nothing for other pointers.
void fort_unbox(void* attribute);
int fort_is_box(const void* attribute);
// The value of a predefined attribute, where C has a pointer to it.
MPI_Aint fort_attribute(int keyval, void* attribute);

// The extra state of C callbacks of an attribute key: the procedures of Fortran.
struct fort_keyval {
  fort_procedure *copy, *remove;
  MPI_Aint state;
  int old;  // of MPI_Keyval_create: INTEGER values
};
int fort_copy_comm(MPI_Comm comm, int keyval, void* state, void* in, void* out, int* flag);
int fort_copy_type(MPI_Datatype type, int keyval, void* state, void* in, void* out, int* flag);
int fort_copy_win(MPI_Win win, int keyval, void* state, void* in, void* out, int* flag);
int fort_remove_comm(MPI_Comm comm, int keyval, void* attribute, void* state);
int fort_remove_type(MPI_Datatype type, int keyval, void* attribute, void* state);
int fort_remove_win(MPI_Win win, int keyval, void* attribute, void* state);
struct fort_keyval* fort_keyval(fort_procedure* copy, fort_procedure* remove, MPI_Aint state,
                                int old);

// `state` is the caller's variable, as in other MPI libraries, and callbacks may change it.
struct fort_grequest {
  fort_procedure *query, *free, *cancel;
  MPI_Aint* state;
};
int fort_query(void* state, MPI_Status* status);
int fort_free(void* state);
int fort_cancel(void* state, int complete);

struct fort_datarep {
  fort_procedure *read, *write, *extent;
  MPI_Aint state;
};
int fort_read(void* user, MPI_Datatype type, int count, void* file, MPI_Offset position,
              void* state);
int fort_write(void* user, MPI_Datatype type, int count, void* file, MPI_Offset position,
               void* state);
int fort_read_c(void* user, MPI_Datatype type, MPI_Count count, void* file, MPI_Offset position,
                void* state);
int fort_write_c(void* user, MPI_Datatype type, MPI_Count count, void* file, MPI_Offset position,
                 void* state);
int fort_extent(MPI_Datatype type, MPI_Aint* extent, void* state);
void mpi_conversion_fn_null_(void);
void mpi_conversion_fn_null_c_(void);
