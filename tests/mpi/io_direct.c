// SPDX-License-Identifier: Apache-2.0
// The hint direct_io: whole blocks of the file system go through a descriptor opened with O_DIRECT,
// all other bytes through the page cache. Random transfers of a direct handle, of an ordinary
// handle and of the program alternate; each finds the bytes of the last. The program's own open,
// pwrite and pread count and check the calls of the library.
// ranks: 1 2 4
// hosts: no, all ranks share the file
// sanitizers: no, the program replaces system calls
// timeout: 120
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "check.h"

enum { kBlock = 4096, kMost = 3 << 20, kScratch = 512 << 10 };

static long direct_calls, other_calls, direct_bytes;
static enum { kNothing, kRefuseOpen, kRefuseCalls, kShort } fault;

static int is_direct(int fd) { return (fcntl(fd, F_GETFL) & O_DIRECT) != 0; }

// Counts the call. Returns the bytes to move, or -1.
static long admit(int fd, const void* memory, size_t bytes, off_t at) {
  if (!is_direct(fd)) {
    ++other_calls;
    return (long)bytes;
  }
  __atomic_add_fetch(&direct_calls, 1, __ATOMIC_RELAXED);
  __atomic_add_fetch(&direct_bytes, (long)bytes, __ATOMIC_RELAXED);
  if ((uintptr_t)memory % 512 != 0 || bytes % kBlock != 0 || at % kBlock != 0)
    FAIL("O_DIRECT with %zu bytes of %p at %ld", bytes, memory, (long)at);
  if (fault == kRefuseCalls) {
    errno = EINVAL;
    return -1;
  }
  return fault == kShort && bytes > kBlock ? (long)(bytes / 2 + 512) / 512 * 512 : (long)bytes;
}
ssize_t pwrite(int fd, const void* from, size_t bytes, off_t at) {
  const long some = admit(fd, from, bytes, at);
  return some < 0 ? -1 : syscall(SYS_pwrite64, fd, from, some, at);
}
ssize_t pread(int fd, void* to, size_t bytes, off_t at) {
  const long some = admit(fd, to, bytes, at);
  return some < 0 ? -1 : syscall(SYS_pread64, fd, to, some, at);
}
ssize_t pwrite64(int, const void*, size_t, off_t) __attribute__((alias("pwrite")));
ssize_t pread64(int, void*, size_t, off_t) __attribute__((alias("pread")));
int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = va_arg(more, mode_t);
  va_end(more);
  if (fault == kRefuseOpen && (flags & O_DIRECT) != 0) {
    errno = EINVAL;
    return -1;
  }
  return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}
int open64(const char*, int, ...) __attribute__((alias("open")));

static MPI_File open_file(const char* name, MPI_Comm among, const char* direct) {
  MPI_File file;
  MPI_Info info, used;
  char value[MPI_MAX_INFO_VAL + 1];
  int found;
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "direct_io", direct));
  OK(MPI_File_open(among, name, MPI_MODE_RDWR | MPI_MODE_CREATE, info, &file));
  OK(MPI_File_get_info(file, &used));
  OK(MPI_Info_get(used, "direct_io", MPI_MAX_INFO_VAL, value, &found));
  CHECK(found && strcmp(value, fault == kRefuseOpen ? "false" : direct) == 0);
  OK(MPI_Info_free(&used));
  OK(MPI_Info_free(&info));
  return file;
}

static void forget(void) { direct_calls = other_calls = direct_bytes = 0; }
static void counted(long direct, long bytes, long other) {
  CHECK_EQ(direct_calls, direct);
  CHECK_EQ(direct_bytes, bytes);
  CHECK_EQ(other_calls, other);
  forget();
}

static unsigned long long state = 1;
static long draw(long below) {
  state = state * 6364136223846793005ULL + 1442695040888963407ULL;
  return (long)((state >> 33) % (unsigned long long)below);
}

// The calls of transfers with known places.
static void known_calls(const char* name, char* memory) {
  MPI_File file = open_file(name, MPI_COMM_SELF, "true");
  MPI_Status status;
  fill(memory, kMost, 1);
  forget();
  OK(MPI_File_write_at(file, 0, memory, 1 << 20, MPI_BYTE, MPI_STATUS_IGNORE));
  counted(1, 1 << 20, 0);
  OK(MPI_File_read_at(file, kBlock, memory, 3 * kBlock, MPI_BYTE, MPI_STATUS_IGNORE));
  counted(1, 3 * kBlock, 0);
  OK(MPI_File_write_at(file, 100, memory + 100, 2 * kBlock, MPI_BYTE, MPI_STATUS_IGNORE));
  counted(1, kBlock, 2);
  OK(MPI_File_write_at(file, 100, memory, kBlock, MPI_BYTE, MPI_STATUS_IGNORE));
  counted(0, 0, 2);
  // Memory without alignment.
  OK(MPI_File_write_at(file, 0, memory + 8, 1 << 20, MPI_BYTE, MPI_STATUS_IGNORE));
  counted(2, 1 << 20, 0);
  // Across the end of the file.
  OK(MPI_File_set_size(file, 10000));
  OK(MPI_File_read_at(file, 0, memory, 1 << 20, MPI_BYTE, &status));
  int count;
  OK(MPI_Get_count(&status, MPI_BYTE, &count));
  CHECK_EQ(count, 10000);
  CHECK(direct_calls > 0);
  // Parts of memory are packed first.
  MPI_Datatype parts;
  OK(MPI_Type_vector(64, 1024, 1100, MPI_BYTE, &parts));
  OK(MPI_Type_commit(&parts));
  forget();
  OK(MPI_File_write_at(file, 0, memory, 1, parts, MPI_STATUS_IGNORE));
  counted(1, 65536, 0);
  OK(MPI_File_read_at(file, 0, memory, 1, parts, MPI_STATUS_IGNORE));
  counted(1, 65536, 0);
  OK(MPI_Type_free(&parts));
  OK(MPI_File_close(&file));
  CHECK(unlink(name) == 0);
}

// Transfers by three ways alternate.
static void alternate(const char* name, char* memory, int rounds) {
  static char model[kMost];
  MPI_File files[2];
  files[0] = open_file(name, MPI_COMM_SELF, "true");
  files[1] = open_file(name, MPI_COMM_SELF, "false");
  const int raw = (int)syscall(SYS_openat, AT_FDCWD, name, O_RDWR, 0);
  CHECK(raw >= 0);
  long end = 0;
  memset(model, 0, sizeof model);
  for (int i = 0; i < rounds; ++i) {
    const long bytes = 1 + draw(draw(3) == 0 ? 1 << 20 : 20000);
    long at = draw(kMost - bytes), place = draw(kMost - bytes);
    if (draw(3) == 0) at -= at % kBlock;
    if (draw(2) == 0) place -= place % kBlock;
    const int way = (int)draw(3), waits = (int)draw(2);
    MPI_Request request;
    MPI_Status status;
    if (draw(2) == 0) {
      fill(memory + place, (size_t)bytes, (unsigned)i);
      memcpy(model + at, memory + place, (size_t)bytes);
      if (way == 2) {
        CHECK_EQ(syscall(SYS_pwrite64, raw, memory + place, bytes, at), bytes);
      } else if (waits) {
        OK(MPI_File_iwrite_at(files[way], at, memory + place, (int)bytes, MPI_BYTE, &request));
        OK(MPI_Wait(&request, &status));
      } else {
        OK(MPI_File_write_at(files[way], at, memory + place, (int)bytes, MPI_BYTE, &status));
      }
      if (at + bytes > end) end = at + bytes;
      continue;
    }
    const long want = at >= end ? 0 : at + bytes > end ? end - at : bytes;
    int got = (int)want;
    memset(memory + place, 0xa5, (size_t)bytes);
    if (way == 2) {
      CHECK_EQ(syscall(SYS_pread64, raw, memory + place, bytes, at), want);
    } else {
      if (waits) {
        OK(MPI_File_iread_at(files[way], at, memory + place, (int)bytes, MPI_BYTE, &request));
        OK(MPI_Wait(&request, &status));
      } else {
        OK(MPI_File_read_at(files[way], at, memory + place, (int)bytes, MPI_BYTE, &status));
      }
      OK(MPI_Get_count(&status, MPI_BYTE, &got));
    }
    CHECK_EQ(got, want);
    for (long j = 0; j < want; ++j)
      if (memory[place + j] != model[at + j])
        FAIL("round %d, way %d, at %ld: byte %ld of %ld is wrong", i, way, at, j, want);
    for (long j = want; j < bytes; ++j) CHECK_EQ((unsigned char)memory[place + j], 0xa5);
  }
  close(raw);
  OK(MPI_File_close(&files[0]));
  OK(MPI_File_close(&files[1]));
  CHECK(unlink(name) == 0);
}

// Interleaved blocks of the ranks, through the exchange and alone, and one block of each rank.
static void collective(const char* name, char* memory) {
  enum { kOdd = 700, kCount = 400 };
  MPI_File file = open_file(name, MPI_COMM_WORLD, "true");
  MPI_Datatype block, tile;
  OK(MPI_Type_contiguous(kOdd, MPI_BYTE, &block));
  OK(MPI_Type_create_resized(block, 0, (MPI_Aint)kOdd * size, &tile));
  OK(MPI_Type_commit(&tile));
  for (int way = 0; way < 3; ++way) {
    MPI_Info info;
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "romio_cb_write", way == 0 ? "enable" : "disable"));
    OK(MPI_Info_set(info, "romio_cb_read", way == 1 ? "enable" : "automatic"));
    OK(MPI_File_set_info(file, info));
    OK(MPI_Info_free(&info));
    fill(memory, kOdd * kCount, (unsigned)(rank + 10 * way));
    forget();
    if (way < 2)
      OK(MPI_File_set_view(file, kOdd * rank, MPI_BYTE, tile, "native", MPI_INFO_NULL));
    else
      OK(MPI_File_set_view(file, (MPI_Offset)kOdd * kCount * rank, MPI_BYTE, MPI_BYTE, "native",
                           MPI_INFO_NULL));
    OK(MPI_File_write_at_all(file, 0, memory, kOdd * kCount, MPI_BYTE, MPI_STATUS_IGNORE));
    if (way == 0 || way == 2) CHECK(direct_calls > 0);
    memset(memory, 0, kOdd * kCount);
    forget();
    OK(MPI_File_read_at_all(file, 0, memory, kOdd * kCount, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK(direct_calls > 0);
    CHECK_FILLED(memory, kOdd * kCount, (unsigned)(rank + 10 * way));
    // Independent transfers between.
    OK(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    fill(memory, 9000, (unsigned)rank + 77);
    OK(MPI_File_write_at(file, 9000 * rank + 5, memory, 9000, MPI_BYTE, MPI_STATUS_IGNORE));
    OK(MPI_File_sync(file));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    const int next = (rank + 1) % size;
    OK(MPI_File_read_at_all(file, 9000 * next + 5, memory, 9000, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK_FILLED(memory, 9000, (unsigned)next + 77);
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }
  OK(MPI_Type_free(&tile));
  OK(MPI_Type_free(&block));
  OK(MPI_File_close(&file));
  if (rank == 0) CHECK(unlink(name) == 0);
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  const char* const folders[] = {"/tmp", "/dev/shm"};
  char* memory = aligned_alloc(kBlock, kMost);
  CHECK(memory != NULL);
  for (int i = 0; i < 2; ++i) {
    char own[64] = "", shared[64];
    snprintf(own, sizeof own, "%s/io_direct.XXXXXX", folders[i]);
    int made = mkstemp(own);
    CHECK(made >= 0);
    close(made);
    strcpy(shared, own);
    OK(MPI_Bcast(shared, sizeof shared, MPI_CHAR, 0, MPI_COMM_WORLD));
    strcat(shared, ".all");
    const int probe = (int)syscall(SYS_openat, AT_FDCWD, own, O_RDWR | O_DIRECT, 0);
    if (probe < 0) {  // tmpfs before Linux 6.6
      fault = kRefuseOpen;
      alternate(own, memory, 100);
      fault = kNothing;
      continue;
    }
    close(probe);
    known_calls(own, memory);
    state = (unsigned long long)rank + 1;
    strcpy(own + strlen(own) - 1, "2");
    alternate(own, memory, 600);
    collective(shared, memory);
    for (fault = kRefuseOpen; fault <= kShort; ++fault) {
      forget();
      alternate(own, memory, 150);
      if (fault == kRefuseOpen) CHECK_EQ(direct_calls, 0);
      // The refused call is the last.
      if (fault == kRefuseCalls) CHECK_EQ(direct_calls, 1);
    }
    fault = kNothing;
  }
  free(memory);
  return end();
}
