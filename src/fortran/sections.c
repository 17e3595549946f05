// SPDX-License-Identifier: Apache-2.0
// Array sections with gaps: a datatype over the array's memory, or a packed copy.
// Cost: one datatype constructor per dimension, freed after the call; or one copy before and one
// after the call.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fortran/fort.h"

static ptrdiff_t extent(const struct fort_array* a, int d) {
  const ptrdiff_t n = a->dim[d].upper - a->dim[d].lower + 1;
  return n > 0 ? n : 0;
}

static ptrdiff_t step(const struct fort_array* a, int d) {
  return a->dim[d].stride * (a->span != 0 ? a->span : (ptrdiff_t)a->element);
}

// The head of a descriptor of C; rows of lower bound, extent and bytes between elements follow.
struct c_array {
  void* base;
  size_t element;
  int version;
  unsigned char rank, type, attribute, extra;
  struct {
    ptrdiff_t lower, extent, step;
  } dim[15];
};

const struct fort_array* fort_normal(const struct fort_array* array, struct fort_array* room) {
  if (!fort_maybe_c(array) && array->type == kFortVoid && array->rank > 0) {
    memcpy(room, array,
           offsetof(struct fort_array, dim) + (size_t)array->rank * sizeof *array->dim);
    room->element = (size_t)array->span;
    return room;
  }
  struct c_array c;
  memcpy(&c, array, offsetof(struct c_array, dim));
  if (c.version != kFortC || c.type == 0 || c.rank > 15) return array;
  memcpy(c.dim, (const char*)array + offsetof(struct c_array, dim), c.rank * sizeof *c.dim);
  *room = (struct fort_array){.base = c.base,
                              .element = c.element,
                              .rank = (signed char)c.rank,
                              .span = (ptrdiff_t)c.element};
  for (int d = 0; d < c.rank; ++d)
    if (c.element == 0 || c.dim[d].step % (ptrdiff_t)c.element != 0) room->span = 1;
  for (int d = 0; d < c.rank; ++d) {
    room->dim[d].stride = c.dim[d].step / room->span;
    room->dim[d].lower = 1;
    room->dim[d].upper = c.dim[d].extent;
  }
  return room;
}

int fort_contiguous(const struct fort_array* a) {
  ptrdiff_t expected = 1;
  if (a->element == 0) return 1;
  for (int d = 0; d < a->rank; ++d) {
    const ptrdiff_t length = a->dim[d].upper - a->dim[d].lower + 1;
    if (length == 0) return 1;
    if (length != 1 && a->dim[d].stride != expected) return 0;
    expected *= length;
  }
  return expected == 1 || a->span == (ptrdiff_t)a->element || a->span == 0;
}

static size_t elements(const struct fort_array* a) {
  size_t all = 1;
  for (int d = 0; d < a->rank; ++d) all *= (size_t)extent(a, d);
  return all;
}

// Writes the bytes of an element that differ from the bytes packed before. Other calls may have
// written the equal bytes meanwhile.
static void write_changed(char* at, const char* packed, const char* before, size_t bytes) {
  if (memcmp(packed, before, bytes) == 0) return;
  for (size_t i = 0; i < bytes; ++i)
    if (packed[i] != before[i]) at[i] = packed[i];
}

// Copies the section to a packed buffer, in array element order. With `before` (the packed bytes
// before the call): from the packed buffer to the section.
static void move(const struct fort_array* a, int d, char* at, char** packed, const char** before) {
  if (d < 0) {
    if (before) {
      write_changed(at, *packed, *before, a->element);
      *before += a->element;
    } else {
      memcpy(*packed, at, a->element);
    }
    *packed += a->element;
    return;
  }
  for (ptrdiff_t i = 0; i < extent(a, d); ++i) move(a, d - 1, at + i * step(a, d), packed, before);
}

// The datatype of the first `count` elements of type `element`: complete inner dimensions, then the
// rest of a dimension cut by `count`, as a struct of two parts.
static int over(const struct fort_array* a, int d, MPI_Count count, MPI_Datatype element,
                MPI_Datatype* made) {
  if (d < 0) return PMPI_Type_dup(element, made);
  MPI_Count inner = 1;
  for (int i = 0; i < d; ++i) inner *= extent(a, i);
  const MPI_Count full = inner > 0 ? count / inner : 0, rest = inner > 0 ? count % inner : 0;
  MPI_Datatype parts[2] = {MPI_DATATYPE_NULL, MPI_DATATYPE_NULL}, one;
  int code = over(a, d - 1, inner, element, &one);
  if (code != MPI_SUCCESS) return code;
  code = PMPI_Type_create_hvector_c(full, 1, step(a, d), one, &parts[0]);
  PMPI_Type_free(&one);
  if (code != MPI_SUCCESS || rest == 0) {
    *made = parts[0];
    return code;
  }
  code = over(a, d - 1, rest, element, &parts[1]);
  if (code == MPI_SUCCESS) {
    const MPI_Count lengths[2] = {1, 1}, places[2] = {0, full * step(a, d)};
    code = PMPI_Type_create_struct_c(2, lengths, places, parts, made);
    PMPI_Type_free(&parts[1]);
  }
  PMPI_Type_free(&parts[0]);
  return code;
}

// The datatype of one array element if `type` fills whole elements without gaps; *count becomes a
// number of elements.
static int element_type(const struct fort_array* a, MPI_Datatype type, MPI_Count* count,
                        MPI_Datatype* made) {
  MPI_Count size, low, width, none, combiner_sizes[3];
  int combiner;
  if (PMPI_Type_size_c(type, &size) != MPI_SUCCESS ||
      PMPI_Type_get_extent_c(type, &low, &width) != MPI_SUCCESS ||
      PMPI_Type_get_envelope_c(type, &combiner_sizes[0], &combiner_sizes[1], &none,
                               &combiner_sizes[2], &combiner) != MPI_SUCCESS)
    return 0;
  const MPI_Count element = (MPI_Count)a->element;
  const int named = combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL ||
                    combiner == MPI_COMBINER_F90_COMPLEX || combiner == MPI_COMBINER_F90_INTEGER;
  if (!named || size == 0 || low != 0 || width != size || element % size != 0 ||
      *count * size % element != 0)
    return 0;
  if (PMPI_Type_contiguous_c(element / size, type, made) != MPI_SUCCESS) return 0;
  *count = *count * size / element;
  return *count <= (MPI_Count)elements(a);
}

static int open_typed(struct fort_section* s, MPI_Count count, int type) {
  MPI_Datatype element = MPI_DATATYPE_NULL;
  if (count < 0) return 0;
  const int possible = element_type(s->array, fort_Type(type), &count, &element);
  int code = possible ? over(s->array, s->array->rank - 1, count, element, &s->made) : MPI_ERR_TYPE;
  if (element != MPI_DATATYPE_NULL) PMPI_Type_free(&element);
  if (code == MPI_SUCCESS) code = PMPI_Type_commit(&s->made);
  if (code != MPI_SUCCESS) return 0;
  s->address = s->array->base;
  s->count = s->count_int = 1;
  s->type = fort_Type_int(s->made);
  return 1;
}

// Whether the message may be larger than the packed copy. gfortran describes class(base) arrays
// with the size of base and the stride of the elements, like components `array%base`: only the size
// of the message shows larger elements.
static int too_small(const struct fort_section* s, int known) {
  const struct fort_array* const a = s->array;
  if (!known) return a->type == kFortDerived && a->span != 0 && (ptrdiff_t)a->element != a->span;
  MPI_Count low, extent, first, length, last;
  if (s->count <= 0 || PMPI_Type_get_extent_c(fort_Type(s->type), &low, &extent) != MPI_SUCCESS ||
      PMPI_Type_get_true_extent_c(fort_Type(s->type), &first, &length) != MPI_SUCCESS ||
      length <= 0)
    return 0;
  if (__builtin_mul_overflow(s->count - 1, extent, &last)) return 1;
  const MPI_Count begin = first + (last < 0 ? last : 0), room = (MPI_Count)s->bytes;
  return begin < 0 || first > room || length > room - first || last > room - first - length;
}

int fort_open(struct fort_section* s, const struct fort_array* array, MPI_Count count, int type,
              int ways) {
  *s = (struct fort_section){fort_address(array->base), count, (int)count, type,
                             MPI_DATATYPE_NULL,         array, 0,          0};
  if (fort_contiguous(array)) return MPI_SUCCESS;
  s->ways = ways & kFortWrite;
  if ((ways & kFortTyped) && open_typed(s, count, type)) return MPI_SUCCESS;
  s->bytes = elements(array) * array->element;
  if (!(ways & kFortCopied) || too_small(s, ways & kFortTyped)) return MPI_ERR_BUFFER;
  const size_t copies = ways & kFortWrite ? 2 : 1;  // the second: bytes before the call
  s->address = malloc(s->bytes > 0 ? copies * s->bytes : 1);
  if (!s->address) return MPI_ERR_NO_MEM;
  s->ways |= kFortCopied;
  fort_pack(s);
  return MPI_SUCCESS;
}

void fort_pack(struct fort_section* s) {
  char* packed = s->address;
  move(s->array, s->array->rank - 1, s->array->base, &packed, NULL);
  if (s->ways & kFortWrite) memcpy(packed, s->address, s->bytes);
}

void fort_unpack(struct fort_section* s) {
  char* packed = s->address;
  const char* before = packed + s->bytes;
  move(s->array, s->array->rank - 1, s->array->base, &packed, &before);
}

void fort_close(struct fort_section* s) {
  if (s->made != MPI_DATATYPE_NULL) PMPI_Type_free(&s->made);
  if (!(s->ways & kFortCopied)) return;
  if (s->ways & kFortWrite) fort_unpack(s);
  free(s->address);
}

void fort_refuse(int* ierror, int code, const char* function) {
  if (code == MPI_ERR_BUFFER)
    fprintf(
        stderr,
        "%s (Fortran): the call accepts no array section with gaps, no message larger than a "
        "section, and no class(T) array of a type that extends T. Pass a contiguous array, or a "
        "datatype with the gaps.\n",
        function);
  fort_set(ierror, code);
}
