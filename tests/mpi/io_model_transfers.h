// SPDX-License-Identifier: Apache-2.0
// The transfers of io_model.c at explicit offsets and individual pointers.
#ifndef TERN_TESTS_IO_MODEL_TRANSFERS_H
#define TERN_TESTS_IO_MODEL_TRANSFERS_H

#include "io_model_views.h"

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

#endif
