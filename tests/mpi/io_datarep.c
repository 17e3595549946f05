// SPDX-License-Identifier: Apache-2.0
// Data representations of files: each byte of the file against a model, through views with holes,
// with data with holes in memory, by all ways to write and read; registered functions and errors.
// ranks: 1 2 4
// timeout: 120
// hosts: no, shared file pointers need one host
#include <unistd.h>

#include "check.h"

enum { kItems = 6, kMostReps = 3000, kHole = 0xee, kMagic = 4711 };

// The state of a registered representation for one predefined type.
struct State {
  int magic;
  MPI_Datatype base;
  int base_size;
  long long calls, next_position, items;
  int answer, answer_of_extent;  // returned by the functions
};
static struct State state = {kMagic, MPI_INT, 4, 0, 0, 0, MPI_SUCCESS, MPI_SUCCESS};

static int base_size(MPI_Datatype base) {
  int bytes;
  OK(MPI_Type_size(base, &bytes));
  return bytes;
}

// Two bytes precede the reversed bytes of an item.
static int extent_in_file(MPI_Datatype type, MPI_Aint* extent, void* extra) {
  CHECK_EQ(((struct State*)extra)->magic, kMagic);
  *extent = base_size(type) + 2;
  return ((struct State*)extra)->answer_of_extent;
}

static int native_extent(MPI_Datatype type, MPI_Aint* extent, void* extra) {
  CHECK(extra == NULL);
  *extent = base_size(type);
  return MPI_SUCCESS;
}

static int bad_extent(MPI_Datatype type, MPI_Aint* extent, void* extra) {
  (void)extra;
  *extent = 4;
  return type == MPI_INT ? MPI_SUCCESS : MPI_ERR_TYPE;
}

static int convert(int writes, void* user, MPI_Datatype type, MPI_Count count, void* file,
                   MPI_Offset position, struct State* of) {
  MPI_Count size_of_type;
  CHECK_EQ(of->magic, kMagic);
  CHECK_EQ(position, of->next_position);
  of->next_position += count;
  of->items += count;
  ++of->calls;
  if (of->answer != MPI_SUCCESS) return of->answer;
  OK(MPI_Type_size_c(type, &size_of_type));
  const MPI_Count each = size_of_type / of->base_size;
  const int elements = (int)((position + count + each - 1) / each);
  char* const packed = malloc((size_t)(elements * size_of_type));
  OK(MPI_Pack_c(user, elements, type, packed, elements * size_of_type, &(MPI_Count){0},
                MPI_COMM_SELF));
  for (MPI_Count item = 0; item < count; ++item) {
    char* const memory = packed + (position + item) * of->base_size;
    char* const in_file = (char*)file + item * (of->base_size + 2);
    if (writes) in_file[0] = 'T', in_file[1] = 'n';
    if (in_file[0] != 'T' || in_file[1] != 'n') FAIL("item %lld has no mark", (long long)item);
    for (int i = 0; i < of->base_size; ++i)
      if (writes)
        in_file[2 + i] = memory[of->base_size - 1 - i];
      else
        memory[of->base_size - 1 - i] = in_file[2 + i];
  }
  if (!writes)
    OK(MPI_Unpack_c(packed, elements * size_of_type, &(MPI_Count){0}, user, elements, type,
                    MPI_COMM_SELF));
  free(packed);
  return MPI_SUCCESS;
}

static int read_items(void* user, MPI_Datatype type, int count, void* file, MPI_Offset position,
                      void* extra) {
  return convert(0, user, type, count, file, position, extra);
}
static int write_items(void* user, MPI_Datatype type, int count, void* file, MPI_Offset position,
                       void* extra) {
  return convert(1, user, type, count, file, position, extra);
}
static int read_items_c(void* user, MPI_Datatype type, MPI_Count count, void* file,
                        MPI_Offset position, void* extra) {
  return convert(0, user, type, count, file, position, extra);
}
static int write_items_c(void* user, MPI_Datatype type, MPI_Count count, void* file,
                         MPI_Offset position, void* extra) {
  return convert(1, user, type, count, file, position, extra);
}

static char path[300];

static MPI_File open_file(void) {
  MPI_File file;
  OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
  return file;
}

// The representation's bytes of one item; memory has the order of this machine.
static int item_in_file(const char* name, MPI_Datatype base) {
  const int bytes = base_size(base);
  if (strcmp(name, "external32") == 0) return base == MPI_LONG ? 4 : bytes;
  return strcmp(name, "internal") == 0 ? bytes : bytes + 2;
}

static void model(const char* name, MPI_Datatype base, const char* items, int count, char* out) {
  const int bytes = base_size(base), size_in_file = item_in_file(name, base);
  for (int item = 0; item < count; ++item, items += bytes, out += size_in_file) {
    int to = 0;
    if (size_in_file > bytes) out[to++] = 'T', out[to++] = 'n';
    for (int i = 0; to < size_in_file; ++to, ++i)
      out[to] = items[size_in_file > bytes ? bytes - 1 - i : size_in_file - 1 - i];
  }
}

enum { kFiletypes = 5 };

// Each filetype has kItems items.
static MPI_Datatype filetype(int kind, MPI_Datatype base) {
  MPI_Datatype made, part;
  switch (kind) {
    case 0:
      OK(MPI_Type_contiguous(kItems, base, &made));
      break;
    case 1:
      OK(MPI_Type_vector(3, 2, 5, base, &made));
      break;
    case 2:
      OK(MPI_Type_create_subarray(2, (int[]){4, 6}, (int[]){2, 3}, (int[]){1, 2}, MPI_ORDER_C, base,
                                  &made));
      break;
    case 3:
      OK(MPI_Type_create_hindexed(3, (int[]){2, 1, 3}, (MPI_Aint[]){0, 64, 128}, base, &made));
      break;
    default:
      OK(MPI_Type_indexed_c(3, (MPI_Count[]){1, 4, 1}, (MPI_Count[]){0, 3, 9}, base, &part));
      OK(MPI_Type_create_resized(part, 0, 256, &made));
      OK(MPI_Type_free(&part));
  }
  OK(MPI_Type_commit(&made));
  return made;
}

enum Way { kAt, kOwn, kNonblocking, kAll, kNonblockingAll, kSplit, kShared, kOrdered, kWays };

static void transfer(enum Way way, int writes, MPI_File file, MPI_Offset slot, void* buf, int count,
                     MPI_Datatype type) {
  MPI_Status status;
  MPI_Request request;
  MPI_Datatype copy;
  int got;
  state.next_position = 0;
  switch (way) {
    case kAt:
      OK(writes ? MPI_File_write_at(file, slot, buf, count, type, &status)
                : MPI_File_read_at(file, slot, buf, count, type, &status));
      break;
    case kOwn:
      OK(MPI_File_seek(file, slot, MPI_SEEK_SET));
      OK(writes ? MPI_File_write(file, buf, count, type, &status)
                : MPI_File_read(file, buf, count, type, &status));
      break;
    case kNonblocking:
      OK(MPI_Type_dup(type, &copy));
      OK(writes ? MPI_File_iwrite_at(file, slot, buf, count, copy, &request)
                : MPI_File_iread_at(file, slot, buf, count, copy, &request));
      OK(MPI_Type_free(&copy));
      OK(MPI_Wait(&request, &status));
      break;
    case kAll:
      OK(writes ? MPI_File_write_at_all(file, slot, buf, count, type, &status)
                : MPI_File_read_at_all(file, slot, buf, count, type, &status));
      break;
    case kNonblockingAll:
      OK(writes ? MPI_File_iwrite_at_all(file, slot, buf, count, type, &request)
                : MPI_File_iread_at_all(file, slot, buf, count, type, &request));
      OK(MPI_Wait(&request, &status));
      break;
    case kSplit:
      OK(writes ? MPI_File_write_at_all_begin(file, slot, buf, count, type)
                : MPI_File_read_at_all_begin(file, slot, buf, count, type));
      OK(writes ? MPI_File_write_at_all_end(file, buf, &status)
                : MPI_File_read_at_all_end(file, buf, &status));
      break;
    case kShared:
      OK(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
      for (int turn = 0; turn < size; ++turn) {
        if (turn == rank)
          OK(writes ? MPI_File_write_shared(file, buf, count, type, &status)
                    : MPI_File_read_shared(file, buf, count, type, &status));
        OK(MPI_Barrier(MPI_COMM_WORLD));
      }
      break;
    default:
      OK(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
      OK(writes ? MPI_File_write_ordered(file, buf, count, type, &status)
                : MPI_File_read_ordered(file, buf, count, type, &status));
  }
  OK(MPI_Get_count(&status, type, &got));
  CHECK_EQ(got, count);
}

static void fill_items(char* items, int bytes, int count, int of) {
  for (int i = 0; i < count * bytes; ++i) items[i] = (char)pattern((size_t)i, (unsigned)of + 1);
}

// Creates the file's content: kHole in each byte of all tiles.
static MPI_Aint prepare(MPI_Datatype tile, int reps) {
  MPI_Aint lb, extent;
  OK(MPI_Type_get_extent(tile, &lb, &extent));
  const MPI_Aint span = extent * reps * size;
  if (rank == 0) {
    FILE* const to = fopen(path, "w");
    CHECK(to != NULL);
    for (MPI_Aint i = 0; i < span; ++i) CHECK(fputc(kHole, to) == kHole);
    CHECK(fclose(to) == 0);
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  return span;
}

static void check_file(const char* name, MPI_Datatype base, MPI_Datatype tile, int reps,
                       MPI_Aint span) {
  const int bytes = base_size(base), count = kItems * reps * size;
  const int packed_bytes = count * item_in_file(name, base);
  char* const items = malloc((size_t)count * (size_t)bytes);
  char* const packed = malloc((size_t)packed_bytes);
  char* const expected = malloc((size_t)span);
  char* const found = malloc((size_t)span);
  int at = 0;
  for (int of = 0; of < size; ++of)
    fill_items(items + of * kItems * reps * bytes, bytes, kItems * reps, of);
  model(name, base, items, count, packed);
  if (strcmp(name, "external32") == 0) {
    MPI_Aint external = 0;
    char* const again = malloc((size_t)packed_bytes);
    OK(MPI_Pack_external(name, items, count, base, again, packed_bytes, &external));
    CHECK_EQ(external, packed_bytes);
    CHECK(memcmp(again, packed, (size_t)packed_bytes) == 0);
    free(again);
  }
  memset(expected, kHole, (size_t)span);
  OK(MPI_Unpack(packed, packed_bytes, &at, expected, reps * size, tile, MPI_COMM_SELF));
  FILE* const from = fopen(path, "r");
  CHECK(from != NULL);
  CHECK(fread(found, 1, (size_t)span, from) == (size_t)span);
  CHECK(fgetc(from) == EOF);
  fclose(from);
  for (MPI_Aint i = 0; i < span; ++i)
    if (found[i] != expected[i])
      FAIL("%s: byte %ld of the file is %d, expected %d", name, (long)i, found[i], expected[i]);
  free(items);
  free(packed);
  free(expected);
  free(found);
}

// The longs of these patterns exceed 32 bits; external32 keeps the lower half and its sign.
static void check_items(const char* name, MPI_Datatype base, const char* items, int count) {
  const int bytes = base_size(base);
  char* const expected = malloc((size_t)count * (size_t)bytes);
  fill_items(expected, bytes, count, rank);
  if (base == MPI_LONG && strcmp(name, "external32") == 0)
    for (int i = 0; i < count; ++i) ((long*)expected)[i] = (int)((long*)expected)[i];
  CHECK(memcmp(items, expected, (size_t)count * (size_t)bytes) == 0);
  free(expected);
}

static void round_trip(const char* name, MPI_Datatype base, int kind, enum Way way, int reps,
                       int gaps) {
  const int bytes = base_size(base), count = kItems * reps;
  MPI_Datatype in_file, item, tile, memory, etype, viewed;
  MPI_Aint extent;
  MPI_Offset disp;
  char view_name[MPI_MAX_DATAREP_STRING];
  OK(MPI_Type_contiguous(item_in_file(name, base), MPI_BYTE, &item));
  tile = filetype(kind, item);
  in_file = filetype(kind, base);
  if (gaps)
    OK(MPI_Type_vector(kItems, 1, 2, base, &memory));
  else
    OK(MPI_Type_contiguous(kItems, base, &memory));
  OK(MPI_Type_commit(&memory));
  state.base = base;
  state.base_size = bytes;
  const MPI_Aint span = prepare(tile, reps);

  const size_t buffer_bytes = (size_t)count * (size_t)bytes * 2;
  char* const buffer = malloc(buffer_bytes);
  char* const items = malloc((size_t)count * (size_t)bytes);
  int at = 0;
  MPI_File file = open_file();
  OK(MPI_File_set_view(file, 0, base, in_file, name, MPI_INFO_NULL));
  OK(MPI_File_get_view(file, &disp, &etype, &viewed, view_name));
  OK(MPI_Type_free(&viewed));
  CHECK(strcmp(view_name, name) == 0);
  OK(MPI_File_get_type_extent(file, base, &extent));
  CHECK_EQ(extent, item_in_file(name, base));

  fill_items(items, bytes, count, rank);
  memset(buffer, 0x5a, buffer_bytes);
  OK(MPI_Unpack(items, count * bytes, &at, buffer, reps, memory, MPI_COMM_SELF));
  transfer(way, 1, file, (MPI_Offset)rank * count, buffer, reps, memory);
  OK(MPI_File_sync(file));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank == 0) check_file(name, base, tile, reps, span);
  OK(MPI_File_sync(file));

  memset(buffer, 0x5a, buffer_bytes);
  transfer(way, 0, file, (MPI_Offset)rank * count, buffer, reps, memory);
  at = 0;
  OK(MPI_Pack(buffer, reps, memory, items, count * bytes, &at, MPI_COMM_SELF));
  check_items(name, base, items, count);
  memset(items, 0x5a, (size_t)count * (size_t)bytes);
  at = 0;
  OK(MPI_Unpack(items, count * bytes, &at, buffer, reps, memory, MPI_COMM_SELF));
  CHECK(untouched(buffer, 0, buffer_bytes, 0x5a));
  OK(MPI_File_close(&file));
  OK(MPI_Type_free(&item));
  OK(MPI_Type_free(&tile));
  OK(MPI_Type_free(&in_file));
  OK(MPI_Type_free(&memory));
  free(buffer);
  free(items);
}

static void round_trips(void) {
  static const char* const names[] = {"external32", "internal", "reversed", "reversed_c"};
  static const MPI_Datatype bases[] = {MPI_INT, MPI_LONG, MPI_DOUBLE, MPI_SHORT};
  for (int name = 0; name < 4; ++name)
    for (int kind = 0; kind < kFiletypes; ++kind)
      for (int way = 0; way < kWays; ++way)
        round_trip(names[name], bases[(kind + way) % 4], kind, (enum Way)way,
                   kind == way % kFiletypes ? kMostReps : 2, way % 2);
  CHECK(state.calls > 0);
}

static void predefined_extents(void) {
  MPI_Aint extent;
  MPI_File file = open_file();
  OK(MPI_File_get_type_extent(file, MPI_LONG, &extent));
  CHECK_EQ(extent, 8);
  OK(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "external32", MPI_INFO_NULL));
  OK(MPI_File_get_type_extent(file, MPI_LONG_DOUBLE, &extent));
  CHECK_EQ(extent, 16);
  OK(MPI_File_get_type_extent(file, MPI_WCHAR, &extent));
  CHECK_EQ(extent, 2);
  OK(MPI_File_get_type_extent(file, MPI_SHORT_INT, &extent));
  CHECK_EQ(extent, 6);
  OK(MPI_File_close(&file));
}

// Null functions: data is as in memory.
static void null_functions(void) {
  int number = 0x01020304, read = 0;
  MPI_Status status;
  OK(MPI_Register_datarep("both null", MPI_CONVERSION_FN_NULL, MPI_CONVERSION_FN_NULL,
                          native_extent, NULL));
  OK(MPI_Register_datarep_c("both null, large", MPI_CONVERSION_FN_NULL_C, MPI_CONVERSION_FN_NULL_C,
                            native_extent, NULL));
  OK(MPI_Register_datarep("unequal", read_items, MPI_CONVERSION_FN_NULL, extent_in_file, &state));
  state.base = MPI_INT;
  state.base_size = 4;
  prepare(MPI_INT, 1);
  MPI_File file = open_file();
  OK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "both null", MPI_INFO_NULL));
  OK(MPI_File_write_at_all(file, rank, &number, 1, MPI_INT, &status));
  OK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "both null, large", MPI_INFO_NULL));
  OK(MPI_File_read_at_all(file, rank, &read, 1, MPI_INT, &status));
  CHECK_EQ(read, number);
  OK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "unequal", MPI_INFO_NULL));
  FAILS(MPI_File_write_at(file, rank, &number, 1, MPI_INT, &status), MPI_ERR_CONVERSION);
  FAILS(MPI_File_write_at_all(file, rank, &number, 1, MPI_INT, &status), MPI_ERR_CONVERSION);
  OK(MPI_File_close(&file));
}

static void registering_errors(void) {
  char name[MPI_MAX_DATAREP_STRING + 1];
  memset(name, 'n', sizeof name);
  name[MPI_MAX_DATAREP_STRING] = '\0';
  FAILS(MPI_Register_datarep(name, read_items, write_items, extent_in_file, &state), MPI_ERR_ARG);
  name[MPI_MAX_DATAREP_STRING - 1] = '\0';
  OK(MPI_Register_datarep(name, read_items, write_items, extent_in_file, &state));
  FAILS(MPI_Register_datarep(name, read_items, write_items, extent_in_file, &state),
        MPI_ERR_DUP_DATAREP);
  FAILS(MPI_Register_datarep_c(name, read_items_c, write_items_c, extent_in_file, &state),
        MPI_ERR_DUP_DATAREP);
  FAILS(MPI_Register_datarep("", read_items, write_items, extent_in_file, &state), MPI_ERR_ARG);
  FAILS(MPI_Register_datarep(NULL, read_items, write_items, extent_in_file, &state), MPI_ERR_ARG);
  FAILS(MPI_Register_datarep("x", read_items, write_items, NULL, &state), MPI_ERR_ARG);
  FAILS(MPI_Register_datarep("native", read_items, write_items, extent_in_file, &state),
        MPI_ERR_DUP_DATAREP);
  FAILS(MPI_Register_datarep("internal", read_items, write_items, extent_in_file, &state),
        MPI_ERR_DUP_DATAREP);
  FAILS(MPI_Register_datarep_c("external32", read_items_c, write_items_c, extent_in_file, &state),
        MPI_ERR_DUP_DATAREP);
  MPI_File file = open_file();
  FAILS(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "x", MPI_INFO_NULL),
        MPI_ERR_UNSUPPORTED_DATAREP);
  OK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, name, MPI_INFO_NULL));
  OK(MPI_Register_datarep("bad extent", read_items, write_items, bad_extent, NULL));
  FAILS(MPI_File_set_view(file, 0, MPI_DOUBLE, MPI_DOUBLE, "bad extent", MPI_INFO_NULL),
        MPI_ERR_TYPE);
  OK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "bad extent", MPI_INFO_NULL));
  MPI_Aint extent;
  FAILS(MPI_File_get_type_extent(file, MPI_DOUBLE, &extent), MPI_ERR_TYPE);
  OK(MPI_File_close(&file));
}

static void conversion_errors(void) {
  int numbers[3] = {1, 2, 3}, own_class, own_code;
  MPI_Request request;
  MPI_Status status;
  MPI_Datatype item;
  OK(MPI_Add_error_class(&own_class));
  OK(MPI_Add_error_code(own_class, &own_code));
  OK(MPI_Type_contiguous(6, MPI_BYTE, &item));
  prepare(item, 3);
  MPI_File file = open_file();
  OK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "reversed", MPI_INFO_NULL));
  OK(MPI_File_write_at_all(file, 3 * rank, numbers, 3, MPI_INT, &status));

  const int answers[] = {MPI_ERR_IO, own_code, -17},
            classes[] = {MPI_ERR_IO, own_class, MPI_ERR_CONVERSION};
  for (int i = 0; i < 3; ++i) {
    state.answer = answers[i];
    state.next_position = 0;
    FAILS(MPI_File_write_at(file, 0, numbers, 3, MPI_INT, &status), classes[i]);
    state.next_position = 0;
    FAILS(MPI_File_read_at(file, 0, numbers, 3, MPI_INT, &status), classes[i]);
    state.next_position = 0;
    FAILS(MPI_File_iwrite_at(file, 0, numbers, 3, MPI_INT, &request), classes[i]);
    state.next_position = 0;
    OK(MPI_File_iread_at(file, 0, numbers, 3, MPI_INT, &request));
    FAILS(MPI_Wait(&request, &status), classes[i]);
    state.next_position = 0;
    FAILS(MPI_File_read_at_all(file, 0, numbers, 3, MPI_INT, &status), classes[i]);
    state.next_position = 0;
    state.answer = rank == size - 1 ? answers[i] : MPI_SUCCESS;
    FAILS(MPI_File_write_at_all(file, 3 * rank, numbers, 3, MPI_INT, &status), classes[i]);
    state.next_position = 0;
  }
  state.answer = MPI_SUCCESS;

  // The extent function fails on the last rank alone: no rank waits for ever.
  state.answer_of_extent = rank == size - 1 ? MPI_ERR_TYPE : MPI_SUCCESS;
  FAILS(MPI_File_write_at_all(file, 3 * rank, numbers, 3, MPI_INT, &status), MPI_ERR_TYPE);
  const int read_class = rank == size - 1 ? MPI_ERR_TYPE : MPI_SUCCESS;
  state.next_position = 0;
  FAILS(MPI_File_read_at_all(file, 3 * rank, numbers, 3, MPI_INT, &status), read_class);
  state.next_position = 0;
  OK(MPI_File_iread_at_all(file, 3 * rank, numbers, 3, MPI_INT, &request));
  FAILS(MPI_Wait(&request, &status), read_class);
  state.answer_of_extent = MPI_SUCCESS;
  OK(MPI_File_close(&file));
  OK(MPI_Type_free(&item));
}

// The file ends inside the second item of the last rank.
static void end_of_file(void) {
  int numbers[3] = {1, 2, 3}, got;
  MPI_Request request;
  MPI_Status status;
  MPI_File file = open_file();
  OK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "reversed", MPI_INFO_NULL));
  state.next_position = 0;
  OK(MPI_File_write_at_all(file, 0, numbers, 2, MPI_INT, &status));
  OK(MPI_File_set_size(file, 6 + 3));
  state.next_position = 0;
  numbers[0] = numbers[1] = numbers[2] = 9;
  OK(MPI_File_read_at(file, 0, numbers, 3, MPI_INT, &status));
  OK(MPI_Get_count(&status, MPI_INT, &got));
  CHECK_EQ(got, 1);
  CHECK(numbers[0] == 1 && numbers[1] == 9 && numbers[2] == 9);
  state.next_position = 0;
  OK(MPI_File_iread_at_all(file, 0, numbers, 3, MPI_INT, &request));
  OK(MPI_Wait(&request, &status));
  OK(MPI_Get_count(&status, MPI_INT, &got));
  CHECK_EQ(got, 1);
  CHECK(numbers[1] == 9);
  OK(MPI_File_close(&file));
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  const char* const folder = getenv("TMPDIR");
  if (rank == 0)
    snprintf(path, sizeof path, "%s/io_datarep.%d", folder != NULL ? folder : "/tmp",
             (int)getpid());
  OK(MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD));
  OK(MPI_Register_datarep("reversed", read_items, write_items, extent_in_file, &state));
  OK(MPI_Register_datarep_c("reversed_c", read_items_c, write_items_c, extent_in_file, &state));
  registering_errors();
  predefined_extents();
  null_functions();
  conversion_errors();
  end_of_file();
  round_trips();
  if (rank == 0) OK(MPI_File_delete(path, MPI_INFO_NULL));
  return end();
}
