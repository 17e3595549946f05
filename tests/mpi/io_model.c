// SPDX-License-Identifier: Apache-2.0
// Random views and transfers against a byte array, which has the whole file with all holes. Each
// rank writes bytes of its own. Arguments: operations, seed, folder. SEED=number replaces the
// seed. A full run has 10,000 operations for each 300.
// timeout: 300
// ranks: 2 3 4
// full-ranks: 8
// args: 300 1
// hosts: no, all ranks share the model and the file
// variant: plain
//   ranks: 3
//   env: TERN_IO=plain
// variant: mapped
//   ranks: 3
//   env: TERN_IO=mapped
// variant: exchange
//   ranks: 2 4
//   full-ranks: 8
//   env: TERN_IO=exchange
// variant: rounds
//   Many rounds.
//   ranks: 3
//   env: TERN_IO=exchange TERN_IO_BUFFER=65536
// variant: memory
//   args: 300 2 /dev/shm
//   ranks: 4
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "io_layout.h"

enum { kMostLive = 5, kMostSegments = 60000 };

// The model is shared: each rank has its end of the file, then the bytes follow.
static MPI_Win window;
static long* ends;
static unsigned char* model;
static long limit, most_limit;  // bytes of the file that views reach

static Seed common, own;  // the first is the same on all ranks
static long seed, operation, operations;
static char folder[512], name[600];

static void remove_files(void) {
  unlink(name);
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

// ---- views

static int owner_of(long block, Seed deal) {
  return (int)(mix(deal + (Seed)block) % (Seed)(size + 1)) - 1;  // -1: nobody
}

// deal_tile() gives each block of a tile to a rank, or to nobody.
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

// ---- transfers

static void end_split(void) {
  struct Live* const one = split;
  void* const buffer = one->buffer;
  split = NULL;
  if (one->where == kAt)
    OK(one->writes ? MPI_File_write_at_all_end(handle->file, buffer, &one->status)
                   : MPI_File_read_at_all_end(handle->file, buffer, &one->status));
  else
    OK(one->writes ? MPI_File_write_all_end(handle->file, buffer, &one->status)
                   : MPI_File_read_all_end(handle->file, buffer, &one->status));
}

static const char* what(const struct Live* one) {
  static const char* const forms[] = {"blocking", "nonblocking", "split"};
  static char text[200];
  snprintf(text, sizeof text, "%s %s %s %s of bytes %ld to %ld of the file", forms[one->form],
           one->collective ? "collective" : "independent",
           one->where == kAt ? "explicit" : "individual", one->writes ? "write" : "read", one->low,
           one->high);
  return text;
}

static void finish(struct Live* one) {
  if (!one->in_use) return;
  if (one == split) end_split();
  if (one->form == kNonblocking) OK(MPI_Wait(&one->request, &one->status));
  MPI_Count count = -1;
  OK(MPI_Get_count_c(&one->status, MPI_BYTE, &count));
  if (count != one->done)
    FAIL("a %s has a count of %lld bytes, expected %ld", what(one), (long long)count, one->done);
  if (memcmp(one->buffer, one->expected, (size_t)one->bytes) != 0) {
    long i = 0;
    while (one->buffer[i] == one->expected[i]) ++i;
    FAIL("byte %ld of %ld of the buffer of a %s is %d, expected %d", i, one->bytes, what(one),
         one->buffer[i], one->expected[i]);
  }
  free(one->buffer), free(one->expected);
  drop(&one->memory);
  one->in_use = 0;
}
static void finish_all(void) {
  for (int i = 0; i < kMostLive; ++i) finish(&live[i]);
}

static struct Live* free_live(void) {
  for (int i = 0; i < kMostLive; ++i)
    if (!live[i].in_use) return &live[i];
  struct Live* one = &live[draw(&own, kMostLive)];
  if (one == split) one = one == live ? live + 1 : live;
  finish(one);
  return one;
}

// Concurrent transfers of a rank must not conflict.
static void finish_conflicts(const struct Live* with) {
  for (int i = 0; i < kMostLive; ++i)
    if (&live[i] != with && live[i].low < with->high && with->low < live[i].high &&
        (live[i].writes || with->writes))
      finish(&live[i]);
}

// A map of memory for about *etypes elementary types; *etypes becomes a multiple of the map.
static struct Map memory_for(long* etypes, long* count) {
  const struct Map* const etype = &handle->etype;
  struct Map made = grow(etype, (int)draw(&own, 4), extent(etype) == 1 ? 1 : 8, 1, &own);
  const long in_one = made.size / etype->size;
  if (made.size == 0 || in_one > *etypes || *etypes / in_one * extent(&made) > 2 * most_limit) {
    drop(&made);
    made = no_bytes();
    place(&made, etype, 1, 0);
    OK(MPI_Type_contiguous(1, etype->type, &made.type));
  }
  OK(MPI_Type_commit(&made.type));
  *count = *etypes / (made.size / etype->size);
  *etypes = *count * (made.size / etype->size);
  return made;
}

// move() copies between the model and a buffer, up to the end of the file.
static void move(struct Live* one, long first, long bytes, long end, unsigned char* buffer) {
  struct Cursor file = cursor_at(&handle->tile, handle->disp, first);
  struct Cursor memory = cursor_at(&one->memory, 0, 0);
  one->low = 1L << 60, one->high = one->done = 0;
  while (one->done < bytes) {
    const long at = cursor_place(&file), to = cursor_place(&memory);
    long some = bytes - one->done;
    if (cursor_left(&file) < some) some = cursor_left(&file);
    if (cursor_left(&memory) < some) some = cursor_left(&memory);
    if (at + some > end) some = end - at;
    if (some <= 0) break;
    if (one->writes)
      memcpy(model + at, buffer + to, (size_t)some);
    else
      memcpy(buffer + to, model + at, (size_t)some);
    one->done += some;
    if (at < one->low) one->low = at;
    if (at + some > one->high) one->high = at + some;
    cursor_move(&file, some);
    cursor_move(&memory, some);
  }
}

#define FORMS(of, ...)                                                                  \
  (!collective         ? form == kBlocking ? MPI_File_##of(__VA_ARGS__, &one->status)   \
                                           : MPI_File_i##of(__VA_ARGS__, &one->request) \
           : form == kBlocking ? MPI_File_##of##_all(__VA_ARGS__, &one->status)         \
   : form == kSplit    ? MPI_File_##of##_all_begin(__VA_ARGS__)                         \
                       : MPI_File_i##of##_all(__VA_ARGS__, &one->request))
static int traced(void) {
  const char* from = getenv("TRACE");  // prints operations from this number on
  return from != NULL && operation >= atol(from);
}

static void call(struct Live* one, long at, int count) {
  const int form = one->form, collective = one->collective;
  const MPI_Datatype type = one->memory.type;
  const MPI_File file = handle->file;
  unsigned char* const buffer = one->buffer;
  if (one->where == kAt)
    OK(one->writes ? FORMS(write_at, file, at, buffer, count, type)
                   : FORMS(read_at, file, at, buffer, count, type));
  else
    OK(one->writes ? FORMS(write, file, buffer, count, type)
                   : FORMS(read, file, buffer, count, type));
}

static long random_count(void) {
  const long most[] = {1, 4, 30, 300, 4000, 60000};
  return draw(&own, 8) == 0 ? 0 : draw(&own, most[draw(&own, 6)]) + 1;
}

// `known`: the bytes of the file that this rank may read; with `behind`, also behind the end.
static void transfer(int writes, int collective, int form, int where, long known, int behind) {
  long etypes = random_count(), count;
  const long end = writes ? limit : behind ? 2 * limit : known;
  struct Live* const one = free_live();
  if (where == kAt || draw(&own, 3) == 0) {
    const long whole = room(0, most_limit, end), at = whole > 0 ? draw(&own, whole) : 0;
    if (where == kPointer) OK(MPI_File_seek(handle->file, at, MPI_SEEK_SET));
    if (where == kPointer) handle->position = at;
    if (where == kAt) etypes = room(at, etypes, end);
    one->low = at;
  }
  const long position = where == kAt ? one->low : handle->position;
  etypes = room(position, etypes, end);
  memset(one, 0, sizeof *one);
  one->in_use = 1, one->writes = writes, one->where = where, one->form = form;
  one->collective = collective, one->request = MPI_REQUEST_NULL;
  one->memory = memory_for(&etypes, &count);
  for (int k = 0; k < one->memory.runs; ++k) {
    const long stop = one->memory.run[k].at + one->memory.run[k].bytes;
    if (stop > one->bytes) one->bytes = stop;
  }
  one->bytes += count > 0 ? (count - 1) * extent(&one->memory) : 0;
  one->buffer = malloc((size_t)one->bytes + 1), one->expected = malloc((size_t)one->bytes + 1);
  CHECK(one->buffer != NULL && one->expected != NULL);
  random_bytes(one->buffer, one->bytes, (Seed)draw(&own, 1L << 40));
  memcpy(one->expected, one->buffer, (size_t)one->bytes);
  const long bytes = etypes * handle->etype.size;
  if (bytes > 0) {
    const struct Cursor first =
        cursor_at(&handle->tile, handle->disp, position * handle->etype.size);
    const struct Cursor last =
        cursor_at(&handle->tile, handle->disp, position * handle->etype.size + bytes - 1);
    one->low = cursor_place(&first), one->high = cursor_place(&last) + 1;
  }
  finish_conflicts(one);
  move(one, position * handle->etype.size, bytes,
       writes   ? limit
       : behind ? known
                : 2 * limit,
       one->expected);
  if (writes && one->high > ends[rank]) ends[rank] = one->high;
  if (traced())
    fprintf(stderr, "%ld: rank %d: %s, etype %ld, %ld bytes, memory of %d runs\n", operation, rank,
            what(one), position, bytes, one->memory.runs);
  call(one, position, (int)count);
  if (form == kSplit) split = one;
  if (where == kPointer) handle->position += etypes;
  MPI_Offset got = -1;
  OK(MPI_File_get_position(handle->file, &got));
  CHECK_EQ(got, handle->position);
  if (form == kBlocking) finish(one);
}

// ---- epochs

static void meet(void) {
  finish_all();
  OK(MPI_File_sync(handle->file));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (draw(&common, 2)) OK(MPI_File_sync(handle->file));
}

static void check_file(void) {
  static unsigned char* got;
  struct stat facts;
  MPI_Offset asked = -1;
  const long end = end_of_file();
  if (operation % size == rank) {
    if (got == NULL) got = malloc((size_t)most_limit * 2);
    const int fd = open(name, O_RDONLY);
    CHECK(fd >= 0 && got != NULL);
    CHECK(fstat(fd, &facts) == 0);
    CHECK_EQ(facts.st_size, end);
    CHECK_EQ(read_raw(fd, got, end), end);
    close(fd);
    if (memcmp(got, model, (size_t)end) != 0) {
      long first = -1, last = -1;
      for (long i = 0, shown = 0; i < end; ++i) {
        if (got[i] == model[i]) continue;
        if (first < 0) first = i;
        if (last >= 0 && i > last + 1 && ++shown < 20)
          fprintf(stderr, "... to %ld, and from %ld\n", last, i);
        last = i;
      }
      FAIL("byte %ld of %ld of the file is %d, expected %d; the last wrong byte is %ld", first, end,
           got[first], model[first], last);
    }
  }
  OK(MPI_File_get_size(handle->file, &asked));
  CHECK_EQ(asked, end);
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

// Writes under way may extend the file later.
static long known_end(long start) {
  for (int i = 0; i < kMostLive; ++i)
    if (live[i].in_use && live[i].writes) return start;
  return ends[rank] > start ? ends[rank] : start;
}

static void mixed_epoch(int writing) {
  const int steps = (int)between(&common, 2, 8), reads = (handle->amode & MPI_MODE_WRONLY) == 0;
  const long start = end_of_file();
  OK(MPI_Barrier(MPI_COMM_WORLD));
  for (int i = 0; i < steps; ++i, ++operation) {
    const int collective = draw(&common, 5) < 2, drawn = (int)draw(&common, 3);
    const int form = collective ? drawn : drawn != 0, where = (int)draw(&common, 2);
    const int writes = writing && (!reads || draw(&common, 3) > 0);
    if (collective && split != NULL) finish(split);
    if (collective)
      transfer(writes, 1, form, where, writing ? known_end(start) : start, !writing);
    else
      for (long k = draw(&own, 3); k > 0; --k)
        transfer(writing && (!reads || draw(&own, 3) > 0), 0, (int)draw(&own, 2),
                 (int)draw(&own, 2), writing ? known_end(start) : start, !writing);
    if (draw(&own, 3) == 0) finish(&live[draw(&own, kMostLive)]);
    if (!writing && draw(&own, 4) == 0) {
      long etypes = 0, bytes = 0;
      struct Cursor at = cursor_at(&handle->tile, handle->disp, 0);
      if (handle->tile.size == 0 || !handle->rises) continue;
      for (; cursor_place(&at) < start; cursor_move(&at, cursor_left(&at))) {
        const long left = cursor_left(&at), before = start - cursor_place(&at);
        bytes += left < before ? left : before;
      }
      etypes = (bytes + handle->etype.size - 1) / handle->etype.size;
      OK(MPI_File_seek(handle->file, 0, MPI_SEEK_END));
      MPI_Offset got = -1;
      OK(MPI_File_get_position(handle->file, &got));
      CHECK_EQ(got, etypes);
      const long back = draw(&own, etypes + 1);
      OK(MPI_File_seek(handle->file, -back, MPI_SEEK_CUR));
      handle->position = etypes - back;
    }
  }
}

// Records at the shared pointer. All ranks know all records.
enum { kMostRecords = 4 };
static Seed records_seed;
static long record_etypes(int of, int number, long most) {
  Seed from = records_seed + (Seed)(of * 64 + number);
  return draw(&from, 6) == 0 ? 0 : between(&from, 8, most);
}
static Seed record_seed(int of, int number) {
  return mix(records_seed + 7919 * (Seed)(of * 64 + number + 1));
}

// match() compares packed bytes from etype `at` on with the file of the model, or stores them.
static int match(long at, const unsigned char* bytes, long count, const unsigned char* file,
                 unsigned char* into) {
  struct Cursor place_of = cursor_at(&handle->tile, handle->disp, at * handle->etype.size);
  while (count > 0) {
    const long place_here = cursor_place(&place_of), left = cursor_left(&place_of);
    const long some = left < count ? left : count;
    if (file != NULL && memcmp(file + place_here, bytes, (size_t)some) != 0) return 0;
    if (into != NULL) memcpy(into + place_here, bytes, (size_t)some);
    if (into == model && place_here + some > ends[rank]) ends[rank] = place_here + some;
    bytes += some;
    count -= some;
    cursor_move(&place_of, some);
  }
  return 1;
}

static void find_records(long from, int records, long most, const unsigned char* all, long equal) {
  static unsigned char* file;
  if (file == NULL) file = malloc((size_t)most_limit * 2);
  unsigned char* const record = malloc((size_t)most_limit);
  const int fd = open(name, O_RDONLY);
  CHECK(fd >= 0 && file != NULL && record != NULL);
  const ssize_t bytes = read_raw(fd, file, most_limit * 2);
  CHECK(bytes >= 0);
  memset(file + bytes, 0, (size_t)(2 * most_limit - bytes));
  close(fd);
  char found[64][kMostRecords] = {{0}};
  for (int left = size * records; left > 0; --left) {
    int matched = 0;
    for (int r = 0; r < size && !matched; ++r)
      for (int i = 0; i < records && !matched; ++i) {
        const long etypes = all != NULL ? equal : record_etypes(r, i, most);
        const long count = etypes * handle->etype.size;
        if (found[r][i]) continue;
        if (all != NULL)
          memcpy(record, all + (r * records + i) * count, (size_t)count);
        else
          random_bytes(record, count, record_seed(r, i));
        if (!match(from, record, count, all != NULL ? model : file, all != NULL ? NULL : model))
          continue;
        from += etypes;
        matched = found[r][i] = 1;
      }
    if (!matched)
      FAIL("no record of a rank is at etype %ld of the shared view; %d records are left", from,
           left);
  }
  free(record);
}

static void shared_epoch(int writes) {
  const int records = (int)between(&common, 1, kMostRecords), seeks = (int)draw(&common, 2);
  records_seed = mix((Seed)draw(&common, 1L << 40));
  set_view(kShared);
  const long etype = handle->etype.size, end = writes ? limit : end_of_file();
  const long whole = room(0, most_limit, end);
  long start = seeks && whole > 0 ? draw(&common, whole) : 0;
  const long left = room(start, size * records * 3000L, end), most = left / (size * records);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (most < 8) return;
  if (seeks) OK(MPI_File_seek_shared(handle->file, start, MPI_SEEK_SET));
  long total = 0;
  for (int r = 0; r < size; ++r)
    for (int i = 0; i < records; ++i) total += writes ? record_etypes(r, i, most) : most;
  unsigned char* const bytes = malloc((size_t)(records * most * etype) + 1);
  MPI_Request requests[kMostRecords];
  MPI_Status statuses[kMostRecords];
  for (int i = 0; i < records; ++i, ++operation) {
    unsigned char* const at = bytes + i * most * etype;
    const long count = (writes ? record_etypes(rank, i, most) : most) * etype;
    random_bytes(at, count, record_seed(rank, i));
    requests[i] = MPI_REQUEST_NULL;
    MPI_Status* const got = &statuses[i];
    if (draw(&own, 2))
      OK(writes ? MPI_File_iwrite_shared(handle->file, at, (int)count, MPI_BYTE, &requests[i])
                : MPI_File_iread_shared(handle->file, at, (int)count, MPI_BYTE, &requests[i]));
    else
      OK(writes ? MPI_File_write_shared(handle->file, at, (int)count, MPI_BYTE, got)
                : MPI_File_read_shared(handle->file, at, (int)count, MPI_BYTE, got));
  }
  for (int i = 0; i < records; ++i) {
    int count = -1;
    if (requests[i] != MPI_REQUEST_NULL) OK(MPI_Wait(&requests[i], &statuses[i]));
    OK(MPI_Get_count(&statuses[i], MPI_BYTE, &count));
    CHECK_EQ(count, (writes ? record_etypes(rank, i, most) : most) * etype);
  }
  meet();
  MPI_Offset position = -1;
  OK(MPI_File_get_position_shared(handle->file, &position));
  CHECK_EQ(position, start + total);
  const int each = (int)(records * most * etype);
  unsigned char* const all = !writes && rank == 0 ? malloc((size_t)(each * size) + 1) : NULL;
  if (!writes) OK(MPI_Gather(bytes, each, MPI_BYTE, all, each, MPI_BYTE, 0, MPI_COMM_WORLD));
  if (rank == 0) find_records(start, records, most, all, most);
  free(all), free(bytes);
}

static void ordered_epoch(int writes) {
  const int calls = (int)between(&common, 1, 3);
  set_view(kShared);
  const long etype = handle->etype.size, end = writes ? limit : end_of_file();
  const long left = room(0, size * calls * 3000L, end), most = left / (size * calls);
  unsigned char* const bytes = malloc((size_t)(most * etype) + 1);
  unsigned char* const expected = malloc((size_t)(most * etype) + 1);
  long start = 0;
  for (int i = 0; i < calls && most >= 8; ++i, ++operation) {
    MPI_Status status;
    const int splits = (int)draw(&common, 2);
    int got = -1;
    long before = start, mine;
    records_seed = mix((Seed)draw(&common, 1L << 40));
    for (int r = 0; r < size; ++r) {
      if (r < rank) before += record_etypes(r, i, most);
      start += record_etypes(r, i, most);
    }
    mine = record_etypes(rank, i, most) * etype;
    random_bytes(bytes, mine, record_seed(rank, i));
    if (!splits)
      OK(writes ? MPI_File_write_ordered(handle->file, bytes, (int)mine, MPI_BYTE, &status)
                : MPI_File_read_ordered(handle->file, bytes, (int)mine, MPI_BYTE, &status));
    else
      OK(writes ? MPI_File_write_ordered_begin(handle->file, bytes, (int)mine, MPI_BYTE)
                : MPI_File_read_ordered_begin(handle->file, bytes, (int)mine, MPI_BYTE));
    if (splits)
      OK(writes ? MPI_File_write_ordered_end(handle->file, bytes, &status)
                : MPI_File_read_ordered_end(handle->file, bytes, &status));
    OK(MPI_Get_count(&status, MPI_BYTE, &got));
    CHECK_EQ(got, mine);
    random_bytes(expected, mine, record_seed(rank, i));
    if (writes)
      CHECK(memcmp(bytes, expected, (size_t)mine) == 0 && match(before, bytes, mine, NULL, model));
    else
      CHECK(match(before, bytes, mine, model, NULL));
  }
  free(bytes), free(expected);
  MPI_Offset position = -1;
  meet();
  OK(MPI_File_get_position_shared(handle->file, &position));
  CHECK_EQ(position, most >= 8 ? start : 0);
}

static void set_sizes(void) {
  const long before = end_of_file(), to = draw(&common, limit + limit / 4);
  const int exactly = (int)draw(&common, 2), grows = to > before;
  OK(MPI_Barrier(MPI_COMM_WORLD));
  OK(exactly ? MPI_File_set_size(handle->file, to) : MPI_File_preallocate(handle->file, to));
  if (exactly || grows) {
    ends[rank] = to;
    const long low = grows ? before : to;
    if (rank == 0) memset(model + low, 0, (size_t)(2 * most_limit - low));
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

static void epoch(void) {
  handle = &handles[draw(&common, kHandles)];
  const int writable = (handle->amode & MPI_MODE_RDONLY) == 0;
  const int readable = (handle->amode & MPI_MODE_WRONLY) == 0;
  const int writes = writable && (!readable || draw(&common, 5) < 3), kind = (int)draw(&common, 16);
  OK(MPI_File_set_atomicity(handle->file, draw(&common, 5) == 0));
  if (kind == 0 && writable) set_sizes();
  if (kind == 1 || kind == 2) {
    shared_epoch(writes);
  } else if (kind == 3 || kind == 4) {
    ordered_epoch(writes);
  } else {
    if (kind < 13 || !handle->has_view)
      set_view(draw(&common, 3) && (writes || draw(&common, 2)) ? kDeal
               : writes                                         ? kSlot + (int)draw(&common, 2)
                                                                : kFree);
    else if (writes)
      set_view(kArray);
    mixed_epoch(writes);
    meet();
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  check_file();
}

static void open_files(void) {
  const long limits[] = {3000, 65536, 400000, most_limit};
  const int second[] = {MPI_MODE_RDWR, MPI_MODE_RDONLY, MPI_MODE_WRONLY};
  const char* hint[] = {"enable", "disable", "automatic"};
  MPI_Info info;
  limit = limits[draw(&common, 4)];
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "romio_cb_write", hint[draw(&common, 3)]));
  OK(MPI_Info_set(info, "romio_cb_read", hint[draw(&common, 3)]));
  if (traced() && rank == 0) {
    char v[2][MPI_MAX_INFO_VAL];
    int f;
    MPI_Info_get(info, "romio_cb_write", 20, v[0], &f);
    MPI_Info_get(info, "romio_cb_read", 20, v[1], &f);
    fprintf(stderr, "%ld: open with %s %s\n", operation, v[0], v[1]);
  }
  const long end = draw(&common, limit);
  ends[rank] = rank == 0 ? end : 0;
  if (rank == 0) {
    memset(model, 0, (size_t)most_limit * 2);
    random_bytes(model, end, (Seed)seed + (Seed)operation);
    const int fd = open(name, O_CREAT | O_EXCL | O_WRONLY, 0600);
    CHECK(fd >= 0);
    CHECK_EQ(syscall(SYS_pwrite64, fd, model, end, 0L), end);
    close(fd);
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  for (int i = 0; i < kHandles; ++i) {
    handles[i].amode = i == 0 ? MPI_MODE_RDWR | MPI_MODE_CREATE : second[draw(&common, 3)];
    if (i == 0 && draw(&common, 2)) handles[i].amode |= MPI_MODE_DELETE_ON_CLOSE;
    OK(MPI_File_open(MPI_COMM_WORLD, name, handles[i].amode, info, &handles[i].file));
  }
  OK(MPI_Info_free(&info));
}

static void close_files(void) {
  for (int i = kHandles; i-- > 0;) {
    forget_view(&handles[i]);
    OK(MPI_File_close(&handles[i].file));
    CHECK(handles[i].file == MPI_FILE_NULL);
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  const int deletes = (handles[0].amode & MPI_MODE_DELETE_ON_CLOSE) != 0;
  CHECK_EQ(access(name, F_OK), deletes ? -1 : 0);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (!deletes && rank == 0) OK(MPI_File_delete(name, MPI_INFO_NULL));
}

static void make_model(void) {
  const MPI_Aint head = 4096;
  MPI_Aint bytes;
  int unit;
  char* base;
  most_limit = 1500000;
  CHECK(size <= 64);
  OK(MPI_Win_allocate_shared(rank == 0 ? head + 2 * most_limit : 0, 1, MPI_INFO_NULL,
                             MPI_COMM_WORLD, &base, &window));
  OK(MPI_Win_shared_query(window, 0, &bytes, &unit, &base));
  ends = (long*)base;
  model = (unsigned char*)base + head;
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  const char *again = getenv("SEED"), *temporary = getenv("TMPDIR");
  const char* full = getenv("FULL");
  operations = argc > 1 ? atol(argv[1]) : 300;
  if (full != NULL && *full != '\0' && operations == 300) operations = 10000;
  seed = again != NULL ? atol(again) : argc > 2 ? atol(argv[2]) : 1;
  if (argc > 3) temporary = argv[3];
  snprintf(folder, sizeof folder, "%s/io_model.XXXXXX", temporary != NULL ? temporary : "/tmp");
  if (rank == 0) CHECK(mkdtemp(folder) != NULL);
  OK(MPI_Bcast(folder, sizeof folder, MPI_CHAR, 0, MPI_COMM_WORLD));
  snprintf(name, sizeof name, "%s/file", folder);
  before_abort = remove_files;
  OK(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN));
  make_model();
  while (operation < operations) {
    common = mix((Seed)seed * 1000003 + (Seed)operation);
    own = mix(common + (Seed)rank + 1);
    open_files();
    for (const long stop = operation + 60; operation < stop;) epoch();
    close_files();
  }
  OK(MPI_Win_free(&window));
  if (rank == 0) CHECK(rmdir(folder) == 0);
  return end();
}
