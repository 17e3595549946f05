// SPDX-License-Identifier: Apache-2.0
// Collective transfers of alternating blocks from static, mapped and absolute memory (MPI_BOTTOM),
// polled by MPI_Test, also with more ranks than cores.
// ranks: 2 6
// timeout: 60
// variant: exchange
//   ranks: 6
//   env: TERN_IO=exchange
// variant: hosts
//   ranks: 3
//   env: TERN_TRANSPORT=ofi
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"

enum { kInts = 4096, kBlock = 16, kRounds = 60 };

static int out[kInts], in[kInts];
static MPI_File file;

static MPI_Datatype at_address(void* memory) {
  const int length = kInts;
  MPI_Aint address;
  MPI_Datatype type;
  OK(MPI_Get_address(memory, &address));
  OK(MPI_Type_create_hindexed(1, &length, &address, MPI_INT, &type));
  OK(MPI_Type_commit(&type));
  return type;
}

static void write_polled(MPI_Datatype absolute) {
  MPI_Request request;
  int done = 0;
  OK(MPI_File_iwrite_at_all(file, 0, MPI_BOTTOM, 1, absolute, &request));
  while (!done) OK(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
}

static void read_mapped(void) {
  void* const memory =
      mmap(NULL, sizeof in, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(memory != MAP_FAILED);
  OK(MPI_File_read_at_all(file, 0, memory, kInts, MPI_INT, MPI_STATUS_IGNORE));
  memcpy(in, memory, sizeof in);
  munmap(memory, sizeof in);
}

int main(int argc, char** argv) {
  char name[] = "/tmp/io_memory.XXXXXX";
  MPI_Datatype block, tile;
  begin(&argc, &argv);
  if (rank == 0) {
    const int made = mkstemp(name);
    CHECK(made >= 0);
    close(made);
  }
  OK(MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD));
  OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                   &file));
  OK(MPI_Type_contiguous(kBlock, MPI_INT, &block));
  OK(MPI_Type_create_resized(block, 0, (MPI_Aint)sizeof(int) * kBlock * size, &tile));
  OK(MPI_Type_commit(&tile));
  OK(MPI_File_set_view(file, (MPI_Offset)sizeof(int) * kBlock * rank, MPI_INT, tile, "native",
                       MPI_INFO_NULL));
  MPI_Datatype from = at_address(out), to = at_address(in);
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < kInts; ++i) out[i] = (rank * kRounds + round) * kInts + i;
    if (round % 3 == 0)
      write_polled(from);
    else
      OK(MPI_File_write_at_all(file, 0, out, kInts, MPI_INT, MPI_STATUS_IGNORE));
    memset(in, 0, sizeof in);
    if (round % 2 == 0)
      read_mapped();
    else
      OK(MPI_File_read_at_all(file, 0, MPI_BOTTOM, 1, to, MPI_STATUS_IGNORE));
    CHECK(memcmp(in, out, sizeof in) == 0);
  }
  OK(MPI_Type_free(&from));
  OK(MPI_Type_free(&to));
  OK(MPI_Type_free(&block));
  OK(MPI_Type_free(&tile));
  OK(MPI_File_close(&file));
  return end();
}
