// SPDX-License-Identifier: Apache-2.0
// Files of ranks on several hosts: independent and collective transfers, shared pointers, atomic
// mode, sizes, errors on one rank, deletion.
// ranks: 1 2 3 4
// timeout: 120
// variant: ofi
//   Each rank counts as a host.
//   ranks: 2 3 4
//   env: TERN_TRANSPORT=ofi
// variant: ucx
//   ranks: 2 3 4
//   env: TERN_TRANSPORT=ucx
// variant: nfs
//   Partial pages are locked.
//   ranks: 2 4
//   env: TERN_TRANSPORT=ofi TERN_TEST=io_system=nfs
// variant: nfs_alone
//   One host needs no locks.
//   ranks: 3
//   env: TERN_TEST=io_system=nfs
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "io_folder.h"

static char name[128];
static MPI_File file;

static void remove_file(void) { unlink(name); }

static void open_with(int amode) {
  OK(MPI_File_open(MPI_COMM_WORLD, name, amode, MPI_INFO_NULL, &file));
}

static void meet(void) { OK(MPI_Barrier(MPI_COMM_WORLD)); }

// Afterwards the ranks see all earlier writes.
static void sync_all(void) {
  OK(MPI_File_sync(file));
  meet();
  OK(MPI_File_sync(file));
}

static void independent(void) {
  enum { kRounds = 300, kBlock = 61 };
  unsigned char block[kBlock];
  // Neighbours write into the same pages.
  for (int i = 0; i < kRounds; ++i) {
    fill(block, kBlock, (unsigned)(i * size + rank));
    OK(MPI_File_write_at(file, (MPI_Offset)(i * size + rank) * kBlock, block, kBlock, MPI_BYTE,
                         MPI_STATUS_IGNORE));
  }
  sync_all();
  for (int i = 0; i < kRounds * size; ++i) {
    MPI_Status status;
    OK(MPI_File_read_at(file, (MPI_Offset)i * kBlock, block, kBlock, MPI_BYTE, &status));
    int count = 0;
    OK(MPI_Get_count(&status, MPI_BYTE, &count));
    CHECK_EQ(count, kBlock);
    CHECK_FILLED(block, kBlock, (unsigned)i);
  }
  MPI_Offset bytes = 0;
  OK(MPI_File_get_size(file, &bytes));
  CHECK_EQ(bytes, (long)kRounds * size * kBlock);
  meet();
}

// Interleaved blocks of each rank, by one call; blocking, nonblocking and split.
static void collective(int block, int blocks) {
  const int bytes = block * blocks;
  unsigned char *from = malloc((size_t)bytes), *to = malloc((size_t)bytes);
  MPI_Datatype part, tile;
  MPI_Request request;
  OK(MPI_Type_contiguous(block, MPI_BYTE, &part));
  OK(MPI_Type_create_resized(part, 0, (MPI_Aint)block * size, &tile));
  OK(MPI_Type_commit(&tile));
  OK(MPI_File_set_view(file, (MPI_Offset)block * rank, MPI_BYTE, tile, "native", MPI_INFO_NULL));
  for (int form = 0; form < 3; ++form) {
    fill(from, (size_t)bytes, (unsigned)(rank * 3 + form));
    memset(to, 0, (size_t)bytes);
    if (form == 0) {
      OK(MPI_File_write_at_all(file, 0, from, bytes, MPI_BYTE, MPI_STATUS_IGNORE));
      sync_all();
      OK(MPI_File_read_at_all(file, 0, to, bytes, MPI_BYTE, MPI_STATUS_IGNORE));
    } else if (form == 1) {
      OK(MPI_File_iwrite_at_all(file, 0, from, bytes, MPI_BYTE, &request));
      OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
      sync_all();
      OK(MPI_File_iread_at_all(file, 0, to, bytes, MPI_BYTE, &request));
      OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    } else {
      OK(MPI_File_write_at_all_begin(file, 0, from, bytes, MPI_BYTE));
      OK(MPI_File_write_at_all_end(file, from, MPI_STATUS_IGNORE));
      sync_all();
      OK(MPI_File_read_at_all_begin(file, 0, to, bytes, MPI_BYTE));
      OK(MPI_File_read_at_all_end(file, to, MPI_STATUS_IGNORE));
    }
    CHECK_FILLED(to, (size_t)bytes, (unsigned)(rank * 3 + form));
  }
  OK(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
  // The data of the next rank, through a view of all bytes.
  const int other = (rank + 1) % size;
  fill(from, (size_t)bytes, (unsigned)(other * 3 + 2));
  for (int i = 0; i < blocks; i += 7) {
    OK(MPI_File_read_at(file, (MPI_Offset)block * (i * size + other), to, block, MPI_BYTE,
                        MPI_STATUS_IGNORE));
    CHECK(memcmp(to, from + (size_t)block * (size_t)i, (size_t)block) == 0);
  }
  meet();
  OK(MPI_Type_free(&part));
  OK(MPI_Type_free(&tile));
  free(from);
  free(to);
}

static void shared_pointer(void) {
  enum { kEach = 50 };
  OK(MPI_File_set_size(file, 0));
  OK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  for (int i = 0; i < kEach; ++i) {
    const int record[2] = {rank, i};
    MPI_Request request;
    if (i % 2 == 0) {
      OK(MPI_File_write_shared(file, record, 2, MPI_INT, MPI_STATUS_IGNORE));
    } else {
      OK(MPI_File_iwrite_shared(file, record, 2, MPI_INT, &request));
      OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
  }
  sync_all();
  MPI_Offset position = -1;
  OK(MPI_File_get_position_shared(file, &position));
  CHECK_EQ(position, 2L * kEach * size);
  int* all = malloc(sizeof(int) * 2 * kEach * (size_t)size);
  int* next = calloc((size_t)size, sizeof(int));
  OK(MPI_File_read_at(file, 0, all, 2 * kEach * size, MPI_INT, MPI_STATUS_IGNORE));
  for (int i = 0; i < kEach * size; ++i) {
    const int writer = all[2 * i];
    CHECK(writer >= 0 && writer < size);
    CHECK_EQ(all[2 * i + 1], next[writer]++);
  }
  meet();
  // In rank order, with counts of different sizes; rank 0 writes nothing.
  for (int form = 0; form < 2; ++form) {
    OK(MPI_File_seek_shared(file, 3, MPI_SEEK_SET));
    for (int i = 0; i < rank; ++i) all[i] = 100 * rank + i;
    if (form == 0) {
      OK(MPI_File_write_ordered(file, all, rank, MPI_INT, MPI_STATUS_IGNORE));
    } else {
      OK(MPI_File_write_ordered_begin(file, all, rank, MPI_INT));
      OK(MPI_File_write_ordered_end(file, all, MPI_STATUS_IGNORE));
    }
    sync_all();
    OK(MPI_File_get_position_shared(file, &position));
    CHECK_EQ(position, 3 + size * (size - 1) / 2);
    int got = -1;
    for (int i = 0; i < rank; ++i) {
      OK(MPI_File_read_at(file, 3 + rank * (rank - 1) / 2 + i, &got, 1, MPI_INT,
                          MPI_STATUS_IGNORE));
      CHECK_EQ(got, 100 * rank + i);
    }
    meet();
    OK(MPI_File_seek_shared(file, 3, MPI_SEEK_SET));
    OK(MPI_File_read_ordered(file, all, rank, MPI_INT, MPI_STATUS_IGNORE));
    for (int i = 0; i < rank; ++i) CHECK_EQ(all[i], 100 * rank + i);
  }
  free(all);
  free(next);
  OK(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
}

// All ranks write one range; readers see the bytes of one writer.
static void atomic_mode(void) {
  enum { kBytes = 200000, kRounds = 10 };
  unsigned char* block = malloc(kBytes);
  MPI_Request request;
  int on = 0;
  OK(MPI_File_set_size(file, 0));
  memset(block, 250, kBytes);
  if (rank == 0) OK(MPI_File_write_at(file, 0, block, kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
  sync_all();
  OK(MPI_File_set_atomicity(file, 1));
  OK(MPI_File_get_atomicity(file, &on));
  CHECK_EQ(on, 1);
  meet();
  for (int i = 0; i < kRounds; ++i) {
    memset(block, rank, kBytes);
    if (i % 2 == 0) {
      OK(MPI_File_write_at(file, 0, block, kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
    } else {
      OK(MPI_File_iwrite_at(file, 0, block, kBytes, MPI_BYTE, &request));
      OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    OK(MPI_File_read_at(file, 0, block, kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK(untouched(block, 0, kBytes, block[0]) && (block[0] < size || block[0] == 250));
  }
  meet();
  // Collective transfers with ranges beside blocking transfers of the same rank.
  MPI_Request second;
  memset(block, rank, kBytes);
  unsigned char other[1000];
  memset(other, rank, sizeof other);
  OK(MPI_File_iwrite_at_all(file, 0, block, kBytes, MPI_BYTE, &request));
  OK(MPI_File_iwrite_at_all(file, 0, block, kBytes, MPI_BYTE, &second));
  OK(MPI_File_write_at(file, kBytes, other, sizeof other, MPI_BYTE, MPI_STATUS_IGNORE));
  OK(MPI_Wait(&second, MPI_STATUS_IGNORE));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  OK(MPI_File_read_at_all(file, 0, block, kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK(untouched(block, 0, kBytes, block[0]) && block[0] < size);
  OK(MPI_File_set_atomicity(file, 0));
  free(block);
}

static void sizes(void) {
  MPI_Offset bytes = -1;
  OK(MPI_File_set_size(file, 123457));
  OK(MPI_File_get_size(file, &bytes));
  CHECK_EQ(bytes, 123457);
  meet();
  OK(MPI_File_preallocate(file, 200000));
  OK(MPI_File_get_size(file, &bytes));
  CHECK_EQ(bytes, 200000);
  meet();
  OK(MPI_File_set_size(file, 5));
  OK(MPI_File_seek(file, 0, MPI_SEEK_END));
  OK(MPI_File_get_position(file, &bytes));
  CHECK_EQ(bytes, 5);
  meet();
  if (size > 1) FAILS(MPI_File_set_size(file, rank), MPI_ERR_NOT_SAME);
}

// An error of the last rank is an error on all.
static void errors(void) {
  const int last = rank == size - 1;
  char missing[200];
  MPI_File other;
  snprintf(missing, sizeof missing, "%s/missing", name);
  FAILS(MPI_File_open(MPI_COMM_WORLD, last ? missing : name, MPI_MODE_RDWR, MPI_INFO_NULL, &other),
        MPI_ERR_BAD_FILE);
  if (size > 1)
    FAILS(MPI_File_open(MPI_COMM_WORLD, name, last ? MPI_MODE_RDONLY : MPI_MODE_RDWR, MPI_INFO_NULL,
                        &other),
          MPI_ERR_NOT_SAME);
  FAILS(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_EXCL,
                      MPI_INFO_NULL, &other),
        MPI_ERR_FILE_EXISTS);
  char byte = 1;
  FAILS(MPI_File_write_at_all(file, last ? -1 : 0, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE),
        MPI_ERR_ARG);
  OK(MPI_File_write_at_all(file, rank, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE));
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  OK(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN));
  if (rank == 0) {
    name_in_folder(name, sizeof name, "/tmp", "io_hosts");
    const int made = mkstemp(name);
    CHECK(made >= 0);
    close(made);
    unlink(name);
    before_abort = remove_file;
  }
  OK(MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD));
  open_with(MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_EXCL);
  independent();
  collective(64, 1000);
  collective(5000, 40);
  collective(300000, 2);
  shared_pointer();
  atomic_mode();
  sizes();
  errors();
  OK(MPI_File_close(&file));
  open_with(MPI_MODE_RDWR | MPI_MODE_APPEND | MPI_MODE_DELETE_ON_CLOSE);
  MPI_Offset position = -1;
  OK(MPI_File_get_position_shared(file, &position));
  CHECK(position > 0);
  struct stat facts;
  CHECK_EQ(stat(name, &facts), 0);
  meet();
  OK(MPI_File_close(&file));
  CHECK(stat(name, &facts) != 0 && errno == ENOENT);
  return end();
}
