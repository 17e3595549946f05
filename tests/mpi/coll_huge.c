// SPDX-License-Identifier: Apache-2.0
// Collectives above 2^31 elements and above 4 GiB. Memory: 2 ranks with 4.5 GiB each, and up to 3
// GiB of scratch.
// full: yes
// ranks: 2
// timeout: 600
#include "check.h"

static const MPI_Count kMany = ((MPI_Count)1 << 31) + 4099;

// Probes: both ends, and places where a 32-bit number would wrap.
static const MPI_Count kProbes[] = {
    0, 1, 1048573, ((MPI_Count)1 << 31) - 1, (MPI_Count)1 << 31, ((MPI_Count)1 << 31) + 4098};
enum { kProbeCount = sizeof kProbes / sizeof kProbes[0] };

static void mark(unsigned char* at, unsigned seed) {
  for (int i = 0; i < kProbeCount; ++i) at[kProbes[i]] = pattern((size_t)kProbes[i], seed);
}
static void expect(const unsigned char* at, unsigned seed) {
  for (int i = 0; i < kProbeCount; ++i) CHECK_EQ(at[kProbes[i]], pattern((size_t)kProbes[i], seed));
}

static void vectors(unsigned char* memory) {
  memset(memory, 0, (size_t)kMany);
  if (rank == 0) mark(memory, 1);
  OK(MPI_Bcast_c(memory, kMany, MPI_BYTE, 0, MPI_COMM_WORLD));
  expect(memory, 1);
  if (rank == 1) memset(memory, 0, (size_t)kMany);
  OK(MPI_Allreduce_c(MPI_IN_PLACE, memory, kMany, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD));
  expect(memory, 1);
  if (rank == 1) memset(memory, 0, (size_t)kMany);
  OK(MPI_Reduce_c(rank == 1 ? MPI_IN_PLACE : memory, rank == 1 ? memory : NULL, kMany, MPI_BYTE,
                  MPI_BOR, 1, MPI_COMM_WORLD));
  expect(memory, 1);
}

static void blocks(unsigned char* memory) {
  unsigned char* mine = memory + kMany * rank;
  memset(memory, 0, (size_t)kMany * 2);
  mark(mine, 7 + (unsigned)rank);
  OK(MPI_Allgather_c(MPI_IN_PLACE, 0, MPI_BYTE, memory, kMany, MPI_BYTE, MPI_COMM_WORLD));
  for (int r = 0; r < 2; ++r) expect(memory + kMany * r, 7 + (unsigned)r);
}

static void exchanged(unsigned char* memory) {
  const MPI_Count half = kMany / 2;
  unsigned char *in = memory, *out = memory + half * 2;
  memset(memory, 0, (size_t)half * 4);
  for (unsigned r = 0; r < 2; ++r)
    in[half * r + half - 1] = in[half * r] = pattern(r, (unsigned)rank);
  OK(MPI_Alltoall_c(in, half, MPI_BYTE, out, half, MPI_BYTE, MPI_COMM_WORLD));
  for (unsigned r = 0; r < 2; ++r) {
    CHECK_EQ(out[half * r], pattern((size_t)rank, r));
    CHECK_EQ(out[half * r + half - 1], pattern((size_t)rank, r));
  }
}

static void rooted(unsigned char* memory) {
  unsigned char* mine = memory + kMany * rank;
  memset(memory, 0, (size_t)kMany * 2);
  mark(mine, 30 + (unsigned)rank);
  OK(MPI_Gather_c(rank == 0 ? MPI_IN_PLACE : mine, kMany, MPI_BYTE, memory, kMany, MPI_BYTE, 0,
                  MPI_COMM_WORLD));
  for (int r = 0; r < 2 && rank == 0; ++r) expect(memory + kMany * r, 30 + (unsigned)r);
  if (rank == 1) memset(memory, 0, (size_t)kMany * 2);
  OK(MPI_Scatter_c(memory, kMany, MPI_BYTE, rank == 0 ? MPI_IN_PLACE : mine, kMany, MPI_BYTE, 0,
                   MPI_COMM_WORLD));
  expect(mine, 30 + (unsigned)rank);
}

static void partial_sums(unsigned char* memory) {
  memset(memory, 0, (size_t)kMany);
  if (rank == 0) mark(memory, 40);
  OK(MPI_Scan_c(MPI_IN_PLACE, memory, kMany, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD));
  expect(memory, 40);
}

static void scattered_sum(unsigned char* memory) {
  const MPI_Count half = kMany / 2;
  memset(memory, 0, (size_t)kMany);
  for (unsigned r = 0; r < 2; ++r) memory[half * r + rank] = memory[half * r + half - 1 - rank] = 1;
  OK(MPI_Reduce_scatter_block_c(MPI_IN_PLACE, memory, half, MPI_UINT8_T, MPI_SUM, MPI_COMM_WORLD));
  for (int r = 0; r < 2; ++r) {
    CHECK_EQ(memory[r], 1);
    CHECK_EQ(memory[half - 1 - r], 1);
  }
}

static void large_type(unsigned char* memory) {
  MPI_Datatype row;
  OK(MPI_Type_contiguous_c(kMany, MPI_BYTE, &row));
  OK(MPI_Type_commit(&row));
  memset(memory, 0, (size_t)kMany);
  if (rank == 1) mark(memory, 3);
  OK(MPI_Bcast(memory, 1, row, 1, MPI_COMM_WORLD));
  expect(memory, 3);
  OK(MPI_Type_free(&row));
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  unsigned char* memory = malloc((size_t)kMany * 2);
  CHECK(memory != NULL);
  vectors(memory);
  large_type(memory);
  blocks(memory);
  exchanged(memory);
  rooted(memory);
  partial_sums(memory);
  scattered_sum(memory);
  free(memory);
  return end();
}
