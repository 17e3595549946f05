// SPDX-License-Identifier: Apache-2.0
// Messages above 2 and 4 GiB, by a large count and by a large type. Memory: 2 ranks with 4.3 GiB
// each.
// full: yes
// ranks: 2
// timeout: 600
#include "check.h"

// mark() writes a few bytes: filling the whole buffer would test the memory, not the library.
static void mark(unsigned char* buffer, MPI_Count bytes, unsigned seed) {
  for (MPI_Count at = 0; at < bytes; at += 1048573) buffer[at] = pattern((size_t)at, seed);
  buffer[bytes - 1] = pattern((size_t)bytes - 1, seed);
}

static void check_marks(const unsigned char* buffer, MPI_Count bytes, unsigned seed) {
  for (MPI_Count at = 0; at < bytes; at += 1048573) CHECK_EQ(buffer[at], pattern((size_t)at, seed));
  CHECK_EQ(buffer[bytes - 1], pattern((size_t)bytes - 1, seed));
}

static void large_count(unsigned char* buffer, MPI_Count bytes) {
  MPI_Status status;
  MPI_Count count = 0;
  int narrow = 0;
  if (rank == 0) {
    mark(buffer, bytes, 5);
    OK(MPI_Send_c(buffer, bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD));
    return;
  }
  memset(buffer, 0, (size_t)bytes);
  OK(MPI_Recv_c(buffer, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &status));
  OK(MPI_Get_count_c(&status, MPI_BYTE, &count));
  CHECK(count == bytes);
  OK(MPI_Get_count(&status, MPI_BYTE, &narrow));
  CHECK_EQ(narrow, bytes > 0x7fffffff ? MPI_UNDEFINED : (int)bytes);
  check_marks(buffer, bytes, 5);
}

static void large_type(unsigned char* buffer, int megabytes) {
  MPI_Datatype megabyte;
  MPI_Request request;
  MPI_Status status;
  OK(MPI_Type_contiguous(1 << 20, MPI_BYTE, &megabyte));
  OK(MPI_Type_commit(&megabyte));
  if (rank == 1) {
    mark(buffer, (MPI_Count)megabytes << 20, 6);
    OK(MPI_Isend(buffer, megabytes, megabyte, 0, 2, MPI_COMM_WORLD, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  } else {
    memset(buffer, 0, (size_t)megabytes << 20);
    OK(MPI_Recv(buffer, megabytes, megabyte, 1, 2, MPI_COMM_WORLD, &status));
    check_status(&status, 1, 2, megabyte, megabytes);
    check_marks(buffer, (MPI_Count)megabytes << 20, 6);
  }
  OK(MPI_Type_free(&megabyte));
}

static void both_ways(unsigned char* buffer) {
  const int bytes = 1 << 30, other = 1 - rank;
  unsigned char* in = buffer + bytes;
  mark(buffer, bytes, (unsigned)rank);
  memset(in, 0, (size_t)bytes);
  OK(MPI_Sendrecv(buffer, bytes, MPI_BYTE, other, 9, in, bytes, MPI_BYTE, other, 9, MPI_COMM_WORLD,
                  MPI_STATUS_IGNORE));
  check_marks(in, bytes, (unsigned)other);
  check_marks(buffer, bytes, (unsigned)rank);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  need(2);
  const MPI_Count most = (MPI_Count)4300 << 20;
  unsigned char* buffer = malloc((size_t)most);
  CHECK(buffer != NULL);
  both_ways(buffer);
  large_count(buffer, 0x7fffffff);
  large_count(buffer, (MPI_Count)0x80000001);
  large_count(buffer, ((MPI_Count)1 << 32) + 12345);
  large_type(buffer, 2049);
  large_type(buffer, 4097);
  free(buffer);
  return end();
}
