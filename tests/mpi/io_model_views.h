// SPDX-License-Identifier: Apache-2.0
// The state of io_model.c: the model, and handles with random views.
#ifndef TERN_TESTS_IO_MODEL_VIEWS_H
#define TERN_TESTS_IO_MODEL_VIEWS_H

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "io_layout.h"

enum { kMostLive = 5, kMostSegments = 60000 };

// The model is shared: each rank has its end of the file, then the bytes follow.
enum { kHead = 4096 };  // bytes in front of the model
static char shared[600];
static long* ends;
static unsigned char* model;
static long limit, most_limit;  // bytes of the file that views reach

static Seed common, own;  // the first is the same on all ranks
static long seed, operation, operations;
static char folder[512], name[600];

static void remove_files(void) {
  unlink(name);
  unlink(shared);
  rmdir(folder);
  fprintf(stderr, "again: io_model %ld %ld, operation %ld\n", operations, seed, operation);
}

// The view of a rank, and its handle.
struct Handle {
  MPI_File file;
  int amode;
  long disp, position;  // position: etypes of the individual pointer
  struct Map etype, tile;
  int has_view, rises;
};
enum { kHandles = 2 };
static struct Handle handles[kHandles];
static struct Handle* handle;

// A transfer under way.
enum { kBlocking, kNonblocking, kSplit };
enum { kAt, kPointer };
struct Live {
  int in_use, writes, where, form, collective;
  MPI_Request request;
  MPI_Status status;
  struct Map memory;
  unsigned char *buffer, *expected;
  long bytes;      // of the buffer
  long low, high;  // bytes of the file
  long done;       // bytes of data
};
static struct Live live[kMostLive];
static struct Live* split;  // between begin and end

static void random_bytes(unsigned char* at, long bytes, Seed from) {
  for (long i = 0; i < bytes; i += 8) {
    const Seed word = mix(from + (Seed)i);
    memcpy(at + i, &word, (size_t)(bytes - i < 8 ? bytes - i : 8));
  }
}

// The calls of the test itself pass by io_faults_shim.inc.
static long read_raw(int fd, void* to, long bytes) {
  return syscall(SYS_pread64, fd, to, bytes, 0L);
}

static long end_of_file(void) {
  long end = 0;
  for (int r = 0; r < size; ++r)
    if (ends[r] > end) end = ends[r];
  return end;
}

static int owner_of(long block, Seed deal) {
  return (int)(mix(deal + (Seed)block) % (Seed)(size + 1)) - 1;  // -1: no rank
}

// deal_tile() gives each block of a tile to at most one rank.
static struct Map deal_tile(const struct Map* etype, Seed* same) {
  const long most[] = {1, 2, 7, 64, 500, 4096, 16384, 65536};
  long in_block = most[draw(same, 8)] / etype->size;
  const int blocks = (int)between(same, size, 4 * size + 4), how = (int)draw(&own, 4);
  const Seed deal = mix((Seed)draw(same, 1L << 40));
  if (in_block < 1) in_block = 1;
  if (extent(etype) != etype->size && in_block > 40) in_block = 40;
  if (in_block * blocks * extent(etype) > limit) in_block = 1;
  int *at = malloc(sizeof(int) * (size_t)blocks), *lengths = malloc(sizeof(int) * (size_t)blocks);
  MPI_Aint* bytes = malloc(sizeof(MPI_Aint) * (size_t)blocks);
  MPI_Datatype* types = malloc(sizeof(MPI_Datatype) * (size_t)blocks);
  struct Map map = no_bytes(), made = no_bytes();
  int count = 0;
  for (int b = 0; b < blocks; ++b) {
    if (owner_of(b, deal) != rank) continue;
    at[count] = (int)(b * in_block);
    bytes[count] = at[count] * extent(etype);
    lengths[count] = (int)in_block;
    types[count] = etype->type;
    place(&map, etype, in_block, bytes[count++]);
  }
  if (how == 0) OK(MPI_Type_indexed(count, lengths, at, etype->type, &map.type));
  if (how == 1) OK(MPI_Type_create_hindexed(count, lengths, bytes, etype->type, &map.type));
  if (how == 2) OK(MPI_Type_create_indexed_block(count, (int)in_block, at, etype->type, &map.type));
  if (how == 3) OK(MPI_Type_create_struct(count, lengths, bytes, types, &map.type));
  if (count == 0) map.lb = map.ub = 0;
  map_resized(&made, &map, 0, blocks * in_block * extent(etype));
  drop(&map);
  free(at), free(lengths), free(bytes), free(types);
  return made;
}

// slot_tile() gives each rank a random type in a slot of the tile.
static struct Map slot_tile(const struct Map* etype, Seed* same, long* shift) {
  const long unit = extent(etype);
  struct Map inner = grow(etype, (int)draw(&own, 4), unit, 0, &own), moved = no_bytes(),
             made = no_bytes();
  long width = inner.ub, most;
  OK(MPI_Allreduce(&width, &most, 1, MPI_LONG, MPI_MAX, MPI_COMM_WORLD));
  width = (most + unit - 1) / unit * unit + draw(same, 3) * unit;
  const long slot = (rank + draw(same, size)) % size * width,
             tile = width * size + draw(same, 3) * unit;
  const int one = 1;
  const MPI_Aint at = draw(&own, 2) ? slot : 0;
  *shift = slot - at;
  place(&moved, &inner, 1, at);
  OK(MPI_Type_create_hindexed(1, &one, &at, inner.type, &moved.type));
  map_resized(&made, &moved, 0, tile);
  drop(&inner), drop(&moved);
  return made;
}

// free_tile() ignores the other ranks: for reading only.
static struct Map free_tile(const struct Map* etype, int overlaps) {
  if (!overlaps) return grow(etype, (int)draw(&own, 4), extent(etype), 0, &own);
  const int lengths[3] = {3, 2, 4}, at[3] = {0, 2, 3};
  struct Map made = no_bytes();
  for (int i = 0; i < 3; ++i) place(&made, etype, lengths[i], at[i] * extent(etype));
  OK(MPI_Type_indexed(3, lengths, at, etype->type, &made.type));
  return made;
}

static int owned(int index, int distribution, int chunk, int parts, int part, int whole) {
  if (distribution == MPI_DISTRIBUTE_NONE) return 1;
  if (distribution == MPI_DISTRIBUTE_BLOCK) {
    if (chunk == MPI_DISTRIBUTE_DFLT_DARG) chunk = (whole + parts - 1) / parts;
    return index / chunk == part;
  }
  if (chunk == MPI_DISTRIBUTE_DFLT_DARG) chunk = 1;
  return index / chunk % parts == part;
}

static struct Map array_tile(const struct Map* etype, Seed* same) {
  const int dims = (int)between(same, 1, 3), fortran = (int)draw(same, 2);
  int sizes[3] = {1, 1, 1}, kinds[3], chunks[3], parts[3] = {0, 0, 0}, place_of[3], left = rank;
  OK(MPI_Dims_create(size, dims, parts));
  for (int d = dims; d-- > 0; left /= parts[d]) place_of[d] = left % parts[d];
  for (int d = 0; d < dims; ++d) {
    sizes[d] = (int)between(same, 1, dims == 1 ? 200 : dims == 2 ? 24 : 9);
    kinds[d] = parts[d] == 1 && draw(same, 2) ? MPI_DISTRIBUTE_NONE
               : draw(same, 2)                ? MPI_DISTRIBUTE_BLOCK
                                              : MPI_DISTRIBUTE_CYCLIC;
    chunks[d] = MPI_DISTRIBUTE_DFLT_DARG;
    if (kinds[d] == MPI_DISTRIBUTE_CYCLIC && draw(same, 2)) chunks[d] = (int)between(same, 1, 5);
    if (kinds[d] == MPI_DISTRIBUTE_BLOCK && draw(same, 2))
      chunks[d] = (sizes[d] + parts[d] - 1) / parts[d] + (int)draw(same, 3);
  }
  struct Map made = no_bytes();
  const long all = (long)sizes[0] * sizes[1] * sizes[2];
  for (long i = 0; i < all; ++i) {
    long rest = i;
    int mine = 1;
    for (int k = 0; k < dims; ++k) {
      const int d = fortran ? k : dims - 1 - k;
      mine = mine &&
             owned((int)(rest % sizes[d]), kinds[d], chunks[d], parts[d], place_of[d], sizes[d]);
      rest /= sizes[d];
    }
    if (mine) place(&made, etype, 1, i * extent(etype));
  }
  bound(&made, 0, all * extent(etype), 1);
  OK(MPI_Type_create_darray(size, rank, dims, sizes, kinds, chunks, parts,
                            fortran ? MPI_ORDER_FORTRAN : MPI_ORDER_C, etype->type, &made.type));
  return made;
}

static void forget_view(struct Handle* of) {
  if (!of->has_view) return;
  drop(&of->etype);
  drop(&of->tile);
  of->has_view = 0;
}

enum { kDeal, kSlot, kArray, kFree, kShared };
static void set_view(int kind) {
  MPI_Offset disp;
  MPI_Datatype etype, filetype;
  char datarep[MPI_MAX_DATAREP_STRING];
  long shift = 0;
  forget_view(handle);
  handle->etype = make_etype((int)draw(&common, kEtypes));
  handle->disp = draw(&common, 3) ? draw(&common, limit / 8 + 2) : 0;
  handle->rises = 1;
  if (kind == kDeal) handle->tile = deal_tile(&handle->etype, &common);
  if (kind == kSlot) handle->tile = slot_tile(&handle->etype, &common, &shift);
  if (kind == kArray) handle->tile = array_tile(&handle->etype, &common);
  if (kind == kShared) handle->tile = grow(&handle->etype, 2, extent(&handle->etype), 0, &common);
  if (kind == kFree) {
    const int overlaps = (handle->amode & MPI_MODE_RDONLY) != 0 && handle->etype.runs == 1 &&
                         extent(&handle->etype) == handle->etype.size && draw(&own, 3) == 0;
    handle->tile = free_tile(&handle->etype, overlaps);
    handle->disp = draw(&own, limit / 2);
    handle->rises = !overlaps;
  }
  handle->disp += shift;
  if (getenv("TRACE"))
    fprintf(stderr,
            "%ld: rank %d: view %d of handle %ld: disp %ld, etype %ld, tile of %ld bytes in %ld to "
            "%ld, %d runs\n",
            operation, rank, kind, (long)(handle - handles), handle->disp, handle->etype.size,
            handle->tile.size, handle->tile.lb, handle->tile.ub, handle->tile.runs);
  check_bounds(&handle->tile);
  CHECK_EQ(rises(&handle->tile), handle->rises);
  OK(MPI_Type_commit(&handle->tile.type));
  OK(MPI_File_set_view(handle->file, handle->disp, handle->etype.type, handle->tile.type, "native",
                       MPI_INFO_NULL));
  handle->has_view = 1;
  handle->position = 0;
  OK(MPI_File_get_view(handle->file, &disp, &etype, &filetype, datarep));
  CHECK_EQ(disp, handle->disp);
  struct Map got = {etype, 0, 0, 0, 0, 0, NULL};
  drop(&got);
  got.type = filetype;
  drop(&got);
}

// room() returns the number of etypes of the view in front of `end`, but at most `most`.
static long room(long first, long most, long end) {
  if (handle->tile.size == 0 || most <= 0) return 0;
  const long etype = handle->etype.size, segments = kMostSegments;
  struct Cursor at = cursor_at(&handle->tile, handle->disp, first * etype);
  long bytes = 0;
  for (long i = 0; i < segments && bytes < most * etype; ++i) {
    const long from = cursor_place(&at), left = cursor_left(&at);
    if (from + left > end) break;
    bytes += left;
    cursor_move(&at, left);
  }
  return bytes / etype < most ? bytes / etype : most;
}

#endif
