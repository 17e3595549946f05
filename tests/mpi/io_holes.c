// SPDX-License-Identifier: Apache-2.0
// A sparse collective write changes no hole, also where the memory of the exchange has data of a
// larger write.
// ranks: 2 3
// hosts: no, all ranks share the file
#include <fcntl.h>
#include <unistd.h>

#include "check.h"
#include "io_folder.h"

enum { kBytes = 1 << 20, kSparse = 8192 };
static unsigned char ones[kBytes], file[kBytes];

// Each rank writes blocks of `block` bytes, one in 64 bytes of each rank.
static void write_blocks(MPI_File to, long from, long end, int block) {
  MPI_Datatype bytes, tile;
  OK(MPI_Type_contiguous(block, MPI_BYTE, &bytes));
  OK(MPI_Type_create_resized(bytes, 0, 64 * size, &tile));
  OK(MPI_Type_commit(&tile));
  OK(MPI_File_set_view(to, from + 64 * rank, MPI_BYTE, tile, "native", MPI_INFO_NULL));
  OK(MPI_File_write_all(to, ones, (int)((end - from) / 64 / size * block), MPI_BYTE,
                        MPI_STATUS_IGNORE));
  OK(MPI_Type_free(&bytes));
  OK(MPI_Type_free(&tile));
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  char name[256];
  int fd = -1;
  memset(ones, 1, sizeof ones);
  name_in_folder(name, sizeof name, "/tmp", "io_holes");
  if (rank == 0) {
    fd = mkstemp(name);
    memset(file, 7, sizeof file);
    CHECK_EQ(pwrite(fd, file, kBytes, 0), kBytes);
  }
  OK(MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD));
  MPI_File to;
  MPI_Info info;
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "romio_cb_write", "enable"));
  OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, info, &to));
  OK(MPI_Info_free(&info));
  write_blocks(to, kBytes / 2, kBytes, 64);
  write_blocks(to, 0, kSparse, 1);
  OK(MPI_File_sync(to));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank == 0) {
    CHECK_EQ(pread(fd, file, kBytes, 0), kBytes);
    const int last = kSparse / 64 / size * size * 64;
    for (int i = 0; i < kBytes / 2; ++i) CHECK_EQ(file[i], i < last && i % 64 == 0 ? 1 : 7);
    close(fd);
  }
  OK(MPI_File_close(&to));
  return end();
}
