// SPDX-License-Identifier: Apache-2.0
// Shared by the C entries of Fortran programs: sentinels, handles, strings, array descriptors.
// A Fortran compiler passes each argument by address, the lengths of strings as last arguments, and
// null for an absent `ierror`. The entries call C functions of any library with the standard ABI;
// this library links none.
#pragma once

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

// The COMMON block of MPI_BOTTOM, MPI_IN_PLACE and the others; emit_modules.py writes its Fortran
// declaration. The linker merges the blocks of program and library: their sizes must be equal.
struct fort_sentinels {
  int bottom, in_place, buffer_automatic, errcodes_ignore, unweighted, weights_empty;
  int argv_null, argvs_null;  // character(1) each, padded
  MPI_Status status_ignore, statuses_ignore;
};
extern struct fort_sentinels mpifort_sentinels_;

void* fort_sentinel(const void* address);
void fort_describe(void);  // after MPI_Init

// The C address of an argument; sentinels become the constants of C.
static inline __attribute__((always_inline)) void* fort_address(const void* address) {
  if ((uintptr_t)address - (uintptr_t)&mpifort_sentinels_ >= sizeof(struct fort_sentinels))
    return (void*)(uintptr_t)address;
  return fort_sentinel(address);
}

// Handles below kPredefined are constants of the ABI, and equal their integers.
enum { kPredefined = 4096, kOnStack = 64 };
#define FORT_HANDLE(type, name)                                                     \
  static inline __attribute__((always_inline)) type fort_##name(int number) {       \
    if ((unsigned)number < kPredefined) return (type)(uintptr_t)(unsigned)number;   \
    return PMPI_##name##_fromint(number);                                           \
  }                                                                                 \
  static inline __attribute__((always_inline)) int fort_##name##_int(type handle) { \
    if ((uintptr_t)handle < kPredefined) return (int)(uintptr_t)handle;             \
    return PMPI_##name##_toint(handle);                                             \
  }
FORT_HANDLE(MPI_Comm, Comm)
FORT_HANDLE(MPI_Datatype, Type)
FORT_HANDLE(MPI_Errhandler, Errhandler)
FORT_HANDLE(MPI_File, File)
FORT_HANDLE(MPI_Group, Group)
FORT_HANDLE(MPI_Info, Info)
FORT_HANDLE(MPI_Message, Message)
FORT_HANDLE(MPI_Op, Op)
FORT_HANDLE(MPI_Request, Request)
FORT_HANDLE(MPI_Session, Session)
FORT_HANDLE(MPI_Win, Win)
#undef FORT_HANDLE

// A temporary array: on the stack up to kOnStack elements, else on the heap until the block ends.
void fort_release(void* array);
void* fort_allocate(long count, size_t size);
#define FORT_ARRAY(type, name, count)                                          \
  type name##_stack[kOnStack];                                                 \
  const long name##_count = (long)(count) > 0 ? (long)(count) : 0;             \
  type* name##_heap __attribute__((cleanup(fort_release))) =                   \
      name##_count > kOnStack ? fort_allocate(name##_count, sizeof(type)) : 0; \
  type* const name = name##_heap ? name##_heap : name##_stack

// A string of Fortran as a string of C, without the blanks at its end; fort_stripped also drops
// blanks at its begin.
size_t fort_trimmed(const char* text, size_t length);
const char* fort_stripped(const char* text, size_t* length);
void fort_copy_string(char* to, const char* text, size_t length);
#define FORT_STRING(name, text, length)                  \
  const size_t name##_size = fort_trimmed(text, length); \
  char name[name##_size + 1];                            \
  fort_copy_string(name, text, name##_size)
#define FORT_STRIPPED(name, text, length)                            \
  size_t name##_size = length;                                       \
  const char* const name##_text = fort_stripped(text, &name##_size); \
  char name[name##_size + 1];                                        \
  fort_copy_string(name, name##_text, name##_size)
// Copies a C string to Fortran, cut or filled with blanks.
void fort_pad(char* to, size_t length, const char* text);

// Lengths of arrays without an argument for the length.
int fort_peers(MPI_Comm comm);
int fort_cart_dims(MPI_Comm comm);
int fort_indegree(MPI_Comm comm);
int fort_outdegree(MPI_Comm comm);

// Array descriptors of gfortran (libgfortran.h of GCC 9 and newer; the probe of configure checks
// the layout).
struct fort_array {
  char* base;
  size_t offset, element;
  int version;
  signed char rank, type;
  short attribute;
  ptrdiff_t span;  // bytes per stride of 1
  struct {
    ptrdiff_t stride, lower, upper;
  } dim[15];
};

// Types in descriptors. Elements of class(*) arrays (kFortVoid) have the size `span`, not
// `element`.
enum { kFortDerived = 5, kFortVoid = 10 };

// Other compilers (flang) pass descriptors of C (CFI_cdesc_t). The version of these lies where
// gfortran has the bytes of an element.
enum { kFortC = 20180515 };
static inline __attribute__((always_inline)) int fort_maybe_c(const struct fort_array* array) {
  return (int)array->element == kFortC;
}
// The descriptor; or in *room: C's translated, or the size of class(*) elements corrected.
const struct fort_array* fort_normal(const struct fort_array* array, struct fort_array* room);

// Whether the array has no gaps. The last extent of an assumed-size array is unknown, and not
// needed.
int fort_contiguous(const struct fort_array* array);
// The same for the usual arrays; 0 also for other arrays without gaps.
static inline __attribute__((always_inline)) int fort_plain(const struct fort_array* array) {
  if (fort_maybe_c(array)) return 0;
  return array->rank == 0 || (array->rank == 1 && array->dim[0].stride == 1 &&
                              array->span == (ptrdiff_t)array->element);
}

// A section with gaps for one call: as a datatype over the array's memory, or as a packed copy.
enum { kFortRead = 1, kFortWrite = 2, kFortTyped = 4, kFortCopied = 8 };
struct fort_section {
  void* address;
  MPI_Count count;
  int count_int, type;  // the type is an integer handle
  MPI_Datatype made;
  const struct fort_array* array;
  int ways;
  size_t bytes;
};
int fort_open(struct fort_section* section, const struct fort_array* array, MPI_Count count,
              int type, int ways);
void fort_close(struct fort_section* section);
// Prints the reason, and sets *ierror; the caller then calls the error handler.
void fort_refuse(int* ierror, int code, const char* function);

void fort_pack(struct fort_section* section);
void fort_unpack(struct fort_section* section);  // writes the bytes that changed after fort_pack

// pending.c: packed copies that live until a request completes.
extern int fort_pending;  // their number
void fort_keep(int request, int persistent, int count, struct fort_section** sections);
void fort_starting(const int* requests, long count);
// A completing call takes the copies of requests before the call of C: later another thread may
// have a request of the same integer. fort_settle unpacks the copies of complete requests, and
// lists the copies of requests still in `after` again. `freed`: the call was MPI_Request_free.
struct fort_pending* fort_take(const int* requests, long count);
void fort_settle(struct fort_pending* taken, const int* after, int freed);

static inline __attribute__((always_inline)) void fort_set(int* ierror, int code) {
  if (ierror) *ierror = code;
}
