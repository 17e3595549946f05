// SPDX-License-Identifier: Apache-2.0
// Random views and transfers against a byte array, which has the whole file with all holes. Each
// rank writes bytes of its own. Arguments: operations, seed, folder, "direct" (the first handle
// has the hint direct_io). SEED=number replaces the seed. A full run has 10,000 operations for
// each 300.
// timeout: 300
// ranks: 2 3 4
// full-ranks: 8
// args: 300 1
// variant: checked
//   ranks: 3
//   env: TERN_CHECK=all
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
// variant: hosts
//   Each rank counts as a host.
//   ranks: 2 4
//   full-ranks: 8
//   env: TERN_TRANSPORT=ofi TERN_IO=exchange
//   hosts: no, the default suffices
// variant: hosts_rounds
//   ranks: 3
//   env: TERN_TRANSPORT=ofi TERN_IO=exchange TERN_IO_BUFFER=65536
// variant: hosts_nfs
//   ranks: 3
//   env: TERN_TRANSPORT=ofi TERN_TEST=io_system=nfs
// variant: memory
//   args: 300 2 /dev/shm
//   ranks: 4
//   hosts: no, hosts do not share memory
// variant: direct
//   args: 300 3 /tmp direct
//   ranks: 2 4
// variant: direct_memory
//   args: 300 4 /dev/shm direct
//   ranks: 3
#include <sys/mman.h>

#include "io_model_transfers.h"

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

static int is_direct;

static void open_files(void) {
  const long limits[] = {3000, 65536, 400000, most_limit};
  const int second[] = {MPI_MODE_RDWR, MPI_MODE_RDONLY, MPI_MODE_WRONLY};
  const char* hint[] = {"enable", "disable", "automatic"};
  MPI_Info info;
  limit = limits[draw(&common, 4)];
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "romio_cb_write", hint[draw(&common, 3)]));
  OK(MPI_Info_set(info, "romio_cb_read", hint[draw(&common, 3)]));
  // Half of the files have stripes, or few aggregators.
  const char *unit[] = {"4096", "65536"}, *nodes[] = {"1", "2"}, *list[] = {"*:1", "*:2", "*:*"};
  if (draw(&common, 2)) OK(MPI_Info_set(info, "striping_unit", unit[draw(&common, 2)]));
  if (draw(&common, 2)) OK(MPI_Info_set(info, "cb_nodes", nodes[draw(&common, 2)]));
  if (draw(&common, 2)) OK(MPI_Info_set(info, "cb_config_list", list[draw(&common, 3)]));
  if (draw(&common, 2)) OK(MPI_Info_set(info, "romio_synchronized_flush", "enable"));
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
    if (is_direct) OK(MPI_Info_set(info, "direct_io", i == 0 ? "true" : "false"));
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

// Ranks of several hosts share files, but no windows.
static void make_model(void) {
  most_limit = 1500000;
  CHECK(size <= 64);
  snprintf(shared, sizeof shared, "%s/model", folder);
  int fd = rank == 0 ? open(shared, O_CREAT | O_EXCL | O_RDWR, 0600) : -1;
  if (rank == 0) CHECK_EQ(ftruncate(fd, kHead + 2 * most_limit), 0);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank != 0) fd = open(shared, O_RDWR);
  CHECK(fd >= 0);
  char* const base = (char*)syscall(SYS_mmap, NULL, kHead + 2 * most_limit, PROT_READ | PROT_WRITE,
                                    MAP_SHARED, fd, 0L);
  CHECK(base != MAP_FAILED);
  close(fd);
  ends = (long*)base;
  model = (unsigned char*)base + kHead;
}

static void remove_model(void) {
  CHECK_EQ(munmap(ends, (size_t)(kHead + 2 * most_limit)), 0);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank == 0) CHECK(unlink(shared) == 0 && rmdir(folder) == 0);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  const char *again = getenv("SEED"), *temporary = getenv("TMPDIR");
  const char* full = getenv("FULL");
  operations = argc > 1 ? atol(argv[1]) : 300;
  if (full != NULL && *full != '\0' && operations == 300) operations = 10000;
  seed = again != NULL ? atol(again) : argc > 2 ? atol(argv[2]) : 1;
  if (argc > 3) temporary = argv[3];
  is_direct = argc > 4;
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
  remove_model();
  return end();
}
