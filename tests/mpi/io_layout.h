// SPDX-License-Identifier: Apache-2.0
// Random types of files and memory, with their bytes by the standard's definition. A Map lists
// the bytes of a type as runs, in type map order. `unit` divides all holes.
#ifndef TERN_TESTS_IO_LAYOUT_H
#define TERN_TESTS_IO_LAYOUT_H

#include "check.h"

typedef unsigned long long Seed;
static UNUSED Seed mix(Seed x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
  return x ^ x >> 31;
}
// draw() returns a number in [0, below).
static UNUSED long draw(Seed* from, long below) {
  *from += 0x9e3779b97f4a7c15ULL;
  return (long)(mix(*from) % (Seed)below);
}
static UNUSED long between(Seed* from, long low, long high) {
  return low + draw(from, high - low + 1);
}

enum { kMostRuns = 4000, kMostDims = 3 };
struct Run {
  long at, bytes;
};
struct Map {
  MPI_Datatype type;
  int runs, marked;  // marked: explicit bounds, with priority over bounds of the data
  long size, lb, ub;
  struct Run* run;
};

static long extent(const struct Map* map) { return map->ub - map->lb; }

static struct Map no_bytes(void) {
  struct Map made = {MPI_DATATYPE_NULL, 0, 0, 0, 1L << 40, -(1L << 40), NULL};
  made.run = malloc(kMostRuns * sizeof *made.run);
  CHECK(made.run != NULL);
  return made;
}
static UNUSED void drop(struct Map* map) {
  int integers, addresses, types, combiner;
  OK(MPI_Type_get_envelope(map->type, &integers, &addresses, &types, &combiner));
  if (combiner != MPI_COMBINER_NAMED) OK(MPI_Type_free(&map->type));
  free(map->run);
}

static void add_run(struct Map* map, long at, long bytes) {
  map->size += bytes;
  if (map->runs > 0 && map->run[map->runs - 1].at + map->run[map->runs - 1].bytes == at) {
    map->run[map->runs - 1].bytes += bytes;
    return;
  }
  CHECK(map->runs < kMostRuns);
  map->run[map->runs++] = (struct Run){at, bytes};
}
static void bound(struct Map* map, long lb, long ub, int marked) {
  if (map->marked && !marked) return;
  if (marked && !map->marked) map->lb = 1L << 40, map->ub = -(1L << 40), map->marked = 1;
  if (lb < map->lb) map->lb = lb;
  if (ub > map->ub) map->ub = ub;
}
static void place(struct Map* whole, const struct Map* part, long count, long from) {
  for (long i = 0; i < count; ++i) {
    const long by = from + i * extent(part);
    for (int k = 0; k < part->runs; ++k) add_run(whole, by + part->run[k].at, part->run[k].bytes);
    bound(whole, by + part->lb, by + part->ub, part->marked);
  }
}

// An implementation may pad a struct to the alignment of its elements.
static void take_padding(struct Map* map) {
  MPI_Aint lb, got;
  if (map->marked || map->size == 0) return;
  OK(MPI_Type_get_extent(map->type, &lb, &got));
  CHECK(got >= extent(map) && got < extent(map) + 8);
  map->ub = map->lb + got;
}

// make_etype() returns one of six elementary types: 1, 4, 8, 12 bytes, the last with a hole.
enum { kEtypes = 6 };
static UNUSED struct Map make_etype(int kind) {
  struct Map made = no_bytes();
  const MPI_Datatype named[] = {MPI_BYTE, MPI_INT, MPI_DOUBLE}, pair[] = {MPI_INT, MPI_DOUBLE};
  const int bytes[] = {1, 4, 8, 12, 12, 12}, ones[] = {1, 1};
  const MPI_Aint tight[] = {0, 4}, loose[] = {0, 8};
  if (kind < 3) {
    made.type = named[kind];
  } else {
    if (kind == 3) OK(MPI_Type_contiguous(3, MPI_INT, &made.type));
    if (kind == 4) OK(MPI_Type_create_struct(2, ones, tight, pair, &made.type));
    if (kind == 5) OK(MPI_Type_create_struct(2, ones, loose, pair, &made.type));
    OK(MPI_Type_commit(&made.type));
  }
  if (kind == 5) {
    add_run(&made, 0, 4);
    add_run(&made, 8, 8);
    bound(&made, 0, 16, 0);
  } else {
    add_run(&made, 0, bytes[kind]);
    bound(&made, 0, bytes[kind], 0);
  }
  if (kind > 3) take_padding(&made);
  return made;
}

static long gap(Seed* from, long unit) { return draw(from, 2) ? 0 : unit * between(from, 1, 9); }

static void map_vector(struct Map* made, const struct Map* part, long unit, Seed* from) {
  const int count = (int)between(from, 1, 6), block = (int)between(from, 1, 3);
  const int in_bytes = (int)draw(from, 2);
  const long step =
      in_bytes ? block * extent(part) + gap(from, unit) : (block + draw(from, 4)) * extent(part);
  for (int i = 0; i < count; ++i) place(made, part, block, i * step);
  if (in_bytes)
    OK(MPI_Type_create_hvector(count, block, step, part->type, &made->type));
  else
    OK(MPI_Type_vector(count, block, (int)(step / extent(part)), part->type, &made->type));
}

// map_blocks() makes an indexed type, whose displacements fall with `falls`.
static void map_blocks(struct Map* made, const struct Map* part, long unit, int falls, Seed* from) {
  enum { kMost = 6 };
  const int count = (int)between(from, 1, kMost), how = (int)draw(from, 4);
  int lengths[kMost], units[kMost];
  MPI_Aint bytes[kMost];
  const int equal = (int)between(from, 1, 3);
  long at = draw(from, 3);
  for (int i = 0; i < count; ++i) {
    lengths[i] = how < 2 ? (int)draw(from, 4) + (i == 0) : equal;
    units[i] = (int)at;
    at += lengths[i] + draw(from, 3);
  }
  if (falls)
    for (int i = 0; i < count; ++i) units[i] = 5 * (count - i) * equal;
  const long more = how % 2 && !falls ? gap(from, unit) : 0;
  for (int i = 0; i < count; ++i) {
    bytes[i] = units[i] * extent(part) + i * more;
    place(made, part, lengths[i], bytes[i]);
  }
  if (how == 0) OK(MPI_Type_indexed(count, lengths, units, part->type, &made->type));
  if (how == 1) OK(MPI_Type_create_hindexed(count, lengths, bytes, part->type, &made->type));
  if (how == 2) OK(MPI_Type_create_indexed_block(count, equal, units, part->type, &made->type));
  if (how == 3) OK(MPI_Type_create_hindexed_block(count, equal, bytes, part->type, &made->type));
}

static void map_subarray(struct Map* made, const struct Map* part, Seed* from) {
  int sizes[kMostDims] = {1, 1, 1}, subsizes[kMostDims] = {1, 1, 1}, starts[kMostDims] = {0, 0, 0};
  const int dims = (int)between(from, 1, kMostDims), fortran = (int)draw(from, 2);
  for (int d = 0; d < dims; ++d) {
    sizes[d] = (int)between(from, 1, 6);
    subsizes[d] = (int)between(from, 1, sizes[d]);
    starts[d] = (int)between(from, 0, sizes[d] - subsizes[d]);
  }
  // The last of three dimensions is the fastest.
  int of[kMostDims] = {-1, -1, -1};
  for (int d = 0; d < dims; ++d) of[fortran ? kMostDims - 1 - d : kMostDims - dims + d] = d;
  long n[kMostDims], s[kMostDims], b[kMostDims];
  for (int k = 0; k < kMostDims; ++k) {
    n[k] = of[k] < 0 ? 1 : sizes[of[k]];
    s[k] = of[k] < 0 ? 1 : subsizes[of[k]];
    b[k] = of[k] < 0 ? 0 : starts[of[k]];
  }
  for (long i = b[0]; i < b[0] + s[0]; ++i)
    for (long k = b[1]; k < b[1] + s[1]; ++k)
      place(made, part, s[2], ((i * n[1] + k) * n[2] + b[2]) * extent(part));
  bound(made, 0, n[0] * n[1] * n[2] * extent(part), 1);
  OK(MPI_Type_create_subarray(dims, sizes, subsizes, starts,
                              fortran ? MPI_ORDER_FORTRAN : MPI_ORDER_C, part->type, &made->type));
}

static void map_struct(struct Map* made, const struct Map* part, const struct Map* etype, long unit,
                       Seed* from) {
  const int lengths[3] = {(int)between(from, 1, 2), (int)draw(from, 3), (int)between(from, 1, 2)};
  MPI_Aint at[3];
  at[0] = gap(from, unit);
  at[1] = at[0] + lengths[0] * extent(part) + part->lb + gap(from, unit);
  at[2] = at[1] + lengths[1] * extent(etype) + gap(from, unit);
  const MPI_Datatype types[3] = {part->type, etype->type, part->type};
  place(made, part, lengths[0], at[0]);
  place(made, etype, lengths[1], at[1]);
  place(made, part, lengths[2], at[2]);
  OK(MPI_Type_create_struct(3, lengths, at, types, &made->type));
  take_padding(made);
}

static void map_resized(struct Map* made, const struct Map* part, long lb, long ub) {
  place(made, part, 1, 0);
  bound(made, lb, ub, 1);
  OK(MPI_Type_create_resized(part->type, lb, ub - lb, &made->type));
}

// grow() returns a type whose bytes rise and do not overlap, also as tiles; with `falls`,
// displacements may fall.
static struct Map grow(const struct Map* etype, int depth, long unit, int falls, Seed* from) {
  struct Map made = no_bytes();
  if (depth == 0) {
    const int count = (int)between(from, 1, 8);
    place(&made, etype, count, 0);
    OK(MPI_Type_contiguous(count, etype->type, &made.type));
    return made;
  }
  struct Map part = grow(etype, depth - 1, unit, falls, from);
  int how = part.runs > kMostRuns / 300 ? 0 : (int)draw(from, 6);
  if (how == 3 && part.lb != 0) how = 1;
  if (how == 0) map_resized(&made, &part, part.lb, part.ub + gap(from, unit));
  if (how == 1) map_vector(&made, &part, unit, from);
  if (how == 2) map_blocks(&made, &part, unit, falls && draw(from, 2), from);
  if (how == 3) map_subarray(&made, &part, from);
  if (how == 4) map_struct(&made, &part, etype, unit, from);
  if (how == 5) {
    const int count = (int)between(from, 1, 5);
    place(&made, &part, count, 0);
    OK(MPI_Type_contiguous(count, part.type, &made.type));
  }
  drop(&part);
  return made;
}

static UNUSED void check_bounds(const struct Map* map) {
  MPI_Count lb, got, bytes;
  OK(MPI_Type_get_extent_c(map->type, &lb, &got));
  OK(MPI_Type_size_c(map->type, &bytes));
  CHECK_EQ(bytes, map->size);
  if (map->size == 0) return;
  CHECK_EQ(lb, map->lb);
  CHECK_EQ(got, extent(map));
}

// rises() returns 1 if the bytes rise without overlap, also from tile to tile.
static UNUSED int rises(const struct Map* map) {
  for (int k = 1; k < map->runs; ++k)
    if (map->run[k].at < map->run[k - 1].at + map->run[k - 1].bytes) return 0;
  return map->runs == 0 ||
         map->run[0].at + extent(map) >= map->run[map->runs - 1].at + map->run[map->runs - 1].bytes;
}

// A Cursor walks over the bytes of tiles of a map, from a packed byte on.
struct Cursor {
  const struct Map* map;
  long base;  // of the present tile
  int run;
  long inside;  // bytes of the run in front of the cursor
};
static UNUSED struct Cursor cursor_at(const struct Map* map, long origin, long packed) {
  struct Cursor at = {map, origin, 0, 0};
  if (map->size == 0) return at;
  at.base += packed / map->size * extent(map);
  at.inside = packed % map->size;
  for (; at.inside >= map->run[at.run].bytes; ++at.run) at.inside -= map->run[at.run].bytes;
  return at;
}
static UNUSED long cursor_place(const struct Cursor* at) {
  return at->base + at->map->run[at->run].at + at->inside;
}
static UNUSED long cursor_left(const struct Cursor* at) {
  return at->map->run[at->run].bytes - at->inside;
}
static UNUSED void cursor_move(struct Cursor* at, long bytes) {
  at->inside += bytes;
  if (at->inside < at->map->run[at->run].bytes) return;
  at->inside = 0;
  if (++at->run < at->map->runs) return;
  at->run = 0;
  at->base += extent(at->map);
}

#endif
