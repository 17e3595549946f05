// SPDX-License-Identifier: Apache-2.0
// Faults found by libraries above MPI-IO and their tests.
// ranks: 2 4
// hosts: no, all ranks share the file
// variant: checked
//   env: TERN_CHECK=all
#include <unistd.h>

#include "check.h"
#include "io_folder.h"

enum { kLoops = 300, kWrites = 3, kTile = 7 };

// Blocks of one view, then of another view, lie between each other.
static MPI_Datatype tile_of(int first, int blocks) {
  int places[kTile];
  MPI_Datatype some, tile;
  for (int i = 0; i < blocks; ++i) places[i] = first + 2 * i;
  OK(MPI_Type_create_indexed_block(blocks, 1, places, MPI_INT, &some));
  OK(MPI_Type_create_resized(some, 0, kTile * sizeof(int), &tile));
  OK(MPI_Type_commit(&tile));
  OK(MPI_Type_free(&some));
  return tile;
}

// Ranks write small blocks while other ranks enlarge the file. On Linux 6.13 and later, zeros of
// the enlargement must not replace blocks that a rank has stored through a mapping.
static void write_while_growing(MPI_File to) {
  const MPI_Datatype tiles[2] = {tile_of(0, 4), tile_of(1, 3)};
  static int file[8 * kWrites * kTile];
  for (int loop = 0; loop < kLoops; ++loop) {
    OK(MPI_File_set_size(to, 0));
    for (int second = 0; second < 2; ++second) {
      OK(MPI_File_set_view(to, 0, MPI_INT, tiles[second], "native", MPI_INFO_NULL));
      for (int i = 0; i < kWrites; ++i) {
        int data[4];
        for (int j = 0; j < 4; ++j) data[j] = loop + 100 * rank + 10 * i + 2 * j + second + 1;
        OK(MPI_File_write_ordered(to, data, 4 - second, MPI_INT, MPI_STATUS_IGNORE));
      }
    }
    OK(MPI_File_sync(to));
    OK(MPI_File_set_view(to, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    OK(MPI_File_read_at_all(to, 0, file, kWrites * size * kTile, MPI_INT, MPI_STATUS_IGNORE));
    for (int i = 0; i < kWrites; ++i)
      for (int from = 0; from < size; ++from)
        for (int j = 0; j < kTile; ++j)
          CHECK_EQ(file[(i * size + from) * kTile + j], loop + 100 * from + 10 * i + j + 1);
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }
  for (int i = 0; i < 2; ++i) {
    MPI_Datatype tile = tiles[i];
    OK(MPI_Type_free(&tile));
  }
}

// The same, where the last rank enlarges the file with a block of a system call.
static void write_before_a_block(MPI_File to) {
  enum { kBlocks = 20, kEach = 2 * kBlocks };
  MPI_Datatype every_second;
  static int file[8 * kEach];
  OK(MPI_Type_vector(kBlocks, 1, 2, MPI_INT, &every_second));
  OK(MPI_Type_commit(&every_second));
  const int is_last = rank == size - 1;
  for (int loop = 0; loop < kLoops; ++loop) {
    int data[kEach];
    for (int i = 0; i < kEach; ++i) data[i] = loop + 100 * rank + i + 1;
    OK(MPI_File_set_view(to, rank * (MPI_Offset)sizeof data, MPI_INT,
                         is_last ? MPI_INT : every_second, "native", MPI_INFO_NULL));
    OK(MPI_File_set_size(to, 0));
    OK(MPI_File_write_at(to, 0, data, is_last ? kEach : kBlocks, MPI_INT, MPI_STATUS_IGNORE));
    OK(MPI_File_sync(to));
    OK(MPI_File_set_view(to, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    OK(MPI_File_read_at_all(to, 0, file, size * kEach, MPI_INT, MPI_STATUS_IGNORE));
    for (int from = 0; from < size; ++from)
      for (int i = 0; i < kBlocks; ++i)
        CHECK_EQ(file[from * kEach + (from == size - 1 ? i : 2 * i)], loop + 100 * from + i + 1);
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }
  OK(MPI_Type_free(&every_second));
}

// The sum of the ranks' cards begins with no range: a negative offset is equal on all ranks, too.
static void seek_backwards(MPI_File in) {
  MPI_Offset at = 0;
  OK(MPI_File_set_size(in, 100));
  OK(MPI_File_seek_shared(in, -10, MPI_SEEK_END));
  OK(MPI_File_seek_shared(in, -5, MPI_SEEK_CUR));
  OK(MPI_File_get_position_shared(in, &at));
  CHECK_EQ(at, 85);
  OK(MPI_File_seek_shared(in, 0, MPI_SEEK_SET));
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  char name[256];
  name_in_folder(name, sizeof name, "/tmp", "io_regressions");
  if (rank == 0) close(mkstemp(name));
  OK(MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD));
  MPI_File to;
  OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                   &to));
  seek_backwards(to);
  write_while_growing(to);
  write_before_a_block(to);
  OK(MPI_File_close(&to));
  return end();
}
