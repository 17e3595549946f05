// SPDX-License-Identifier: Apache-2.0
// Random derived types with the list of integer offsets by the standard's definition. `state` is
// the seed.
#ifndef TERN_TESTS_LAYOUT_H
#define TERN_TESTS_LAYOUT_H

#include "check.h"

enum { kMostInts = 60000, kMostSpan = 1 << 22 };

struct Layout {
  MPI_Datatype type;
  int ints,
      marked;  // marked: explicit bounds, with priority over bounds of the data
  long lb, ub;
  long* at;  // integer offsets, in type map order
};

static unsigned long long state;
static UNUSED unsigned next(unsigned below) {
  state = state * 6364136223846793005ULL + 1442695040888963407ULL;
  return (unsigned)(state >> 33) % below;
}

static struct Layout basic(void) {
  struct Layout made = {MPI_INT, 1, 0, 0, 4, (long*)calloc(kMostInts, sizeof(long))};
  CHECK(made.at != NULL);
  return made;
}

static struct Layout empty(void) {
  struct Layout made = basic();
  made.ints = 0;
  made.lb = kMostSpan;
  made.ub = -kMostSpan;
  return made;
}

static void bound(struct Layout* whole, long lb, long ub, int marked) {
  if (whole->marked && !marked) return;
  if (marked && !whole->marked) {
    whole->lb = kMostSpan;
    whole->ub = -kMostSpan;
    whole->marked = 1;
  }
  if (lb < whole->lb) whole->lb = lb;
  if (ub > whole->ub) whole->ub = ub;
}

static void place(struct Layout* whole, const struct Layout* part, int count, long from) {
  for (int i = 0; i < count; ++i) {
    const long by = from + i * (part->ub - part->lb);
    for (int k = 0; k < part->ints && whole->ints < kMostInts; ++k)
      whole->at[whole->ints++] = by + part->at[k];
    bound(whole, by + part->lb, by + part->ub, part->marked);
  }
}

static void drop(struct Layout* layout) {
  if (layout->type != MPI_INT) OK(MPI_Type_free(&layout->type));
  free(layout->at);
}

static long extent(const struct Layout* layout) { return layout->ub - layout->lb; }
static long gap(void) { return 4 * ((long)next(9) - 2); }

static void vectors(struct Layout* made, const struct Layout* part) {
  const int count = 1 + (int)next(5), block = 1 + (int)next(3), in_bytes = (int)next(2);
  const long step =
      in_bytes ? block * extent(part) + gap() : (block + (long)next(4) - 1) * extent(part);
  for (int i = 0; i < count; ++i) place(made, part, block, i * step);
  if (in_bytes)
    OK(MPI_Type_create_hvector(count, block, step, part->type, &made->type));
  else
    OK(MPI_Type_vector(count, block, (int)(step / extent(part)), part->type, &made->type));
}

static void blocks(struct Layout* made, const struct Layout* part) {
  int count = 1 + (int)next(6), lengths[6], units[6], how = (int)next(4);
  MPI_Aint bytes[6];
  for (int i = 0; i < count; ++i) {
    lengths[i] = how < 2 ? (int)next(4) + (i == 0) : 2;
    units[i] = 5 * i + (int)next(3) - 1;
    bytes[i] = how % 2 ? units[i] * extent(part) + gap() : units[i] * extent(part);
    place(made, part, lengths[i], bytes[i]);
  }
  if (how == 0) OK(MPI_Type_indexed(count, lengths, units, part->type, &made->type));
  if (how == 1) OK(MPI_Type_create_hindexed(count, lengths, bytes, part->type, &made->type));
  if (how == 2) OK(MPI_Type_create_indexed_block(count, 2, units, part->type, &made->type));
  if (how == 3) OK(MPI_Type_create_hindexed_block(count, 2, bytes, part->type, &made->type));
}

static void subarray(struct Layout* made, const struct Layout* part) {
  int sizes[2], subsizes[2], starts[2];
  for (int i = 0; i < 2; ++i) {
    sizes[i] = 1 + (int)next(6);
    subsizes[i] = 1 + (int)next((unsigned)sizes[i]);
    starts[i] = (int)next((unsigned)(sizes[i] - subsizes[i] + 1));
  }
  for (int row = 0; row < subsizes[0]; ++row)
    place(made, part, subsizes[1], ((starts[0] + row) * sizes[1] + starts[1]) * extent(part));
  made->marked = 1;
  made->lb = 0;
  made->ub = sizes[0] * sizes[1] * extent(part);
  OK(MPI_Type_create_subarray(2, sizes, subsizes, starts, MPI_ORDER_C, part->type, &made->type));
}

static struct Layout grow(int depth);

static void structure(struct Layout* made, const struct Layout* part, int depth) {
  struct Layout second = grow(depth - 1);
  const int lengths[3] = {1 + (int)next(2), 1, (int)next(3)};
  const MPI_Aint from[3] = {gap(), lengths[0] * extent(part) + 64, -extent(&second) - 128};
  const MPI_Datatype types[3] = {part->type, MPI_INT, second.type};
  long origin = 0;
  const struct Layout one = {MPI_INT, 1, 0, 0, 4, &origin};
  place(made, part, lengths[0], from[0]);
  place(made, &one, 1, from[1]);
  place(made, &second, lengths[2], from[2]);
  OK(MPI_Type_create_struct(3, lengths, from, types, &made->type));
  drop(&second);
}

static void bounds(struct Layout* made, const struct Layout* part) {
  place(made, part, 1, 0);
  made->marked = 1;
  made->lb = part->lb - 4 * (long)next(3);
  made->ub = part->ub + 4 * (long)next(5);
  OK(MPI_Type_create_resized(part->type, made->lb, extent(made), &made->type));
}

static struct Layout grow(int depth) {
  if (depth == 0) return basic();
  struct Layout part = grow(depth - 1), made = empty();
  switch (next(6)) {
    case 0: {
      const int count = 1 + (int)next(40);
      place(&made, &part, count, 0);
      OK(MPI_Type_contiguous(count, part.type, &made.type));
      break;
    }
    case 1:
      vectors(&made, &part);
      break;
    case 2:
      blocks(&made, &part);
      break;
    case 3:
      subarray(&made, &part);
      break;
    case 4:
      structure(&made, &part, depth);
      break;
    default:
      bounds(&made, &part);
  }
  drop(&part);
  return made;
}

static void expect_bounds(const struct Layout* made) {
  MPI_Aint lb, got;
  int bytes;
  OK(MPI_Type_get_extent(made->type, &lb, &got));
  OK(MPI_Type_size(made->type, &bytes));
  CHECK_EQ(lb, made->lb);
  CHECK_EQ(got, extent(made));
  CHECK_EQ(bytes, 4 * made->ints);
}

static long offset(const struct Layout* layout, long i) {
  return layout->at[i % layout->ints] + i / layout->ints * extent(layout);
}
static UNUSED int* integer(char* origin, const struct Layout* layout, long i) {
  return (int*)(origin + offset(layout, i));
}

static UNUSED void reach(const struct Layout* layout, long count, long* from, long* to) {
  *from = kMostSpan, *to = -kMostSpan;
  for (int k = 0; k < layout->ints && count > 0; ++k) {
    const long last = layout->at[k] + (count - 1) * extent(layout);
    if (layout->at[k] < *from) *from = layout->at[k];
    if (last + 4 > *to) *to = last + 4;
  }
  if (*to < *from) *from = *to = 0;
}

// separate() returns 1 if no integers overlap. `seen` has 2 kMostSpan bytes, changed to 0 or 1.
static UNUSED int separate(const struct Layout* layout, long count, char* seen) {
  long from, to;
  reach(layout, count, &from, &to);
  memset(seen + kMostSpan + from, 0, (size_t)(to - from));
  for (long i = 0; i < count * layout->ints; ++i)
    if (seen[kMostSpan + offset(layout, i)]++) return 0;
  return 1;
}

// fits() returns 1 if elements do not overlap and take less than `most` bytes.
static UNUSED int fits(const struct Layout* layout, long elements, long most, char* seen) {
  long from, to;
  if (layout->ints == 0 || layout->ints >= kMostInts || extent(layout) <= 0) return 0;
  if (elements * extent(layout) > kMostSpan / 2) return 0;
  reach(layout, elements, &from, &to);
  return from > -kMostSpan && to < kMostSpan && to - from < most &&
         separate(layout, elements, seen);
}

struct Room {
  char *memory, *origin;
  long bytes;
};
static UNUSED struct Room make_room(const struct Layout* layout, long elements, int byte) {
  long from, to;
  reach(layout, elements, &from, &to);
  char* memory = (char*)malloc((size_t)(to - from) + 1);
  CHECK(memory != NULL);
  memset(memory, byte, (size_t)(to - from));
  const struct Room room = {memory, memory - from, to - from};
  return room;
}

#endif
