// SPDX-License-Identifier: Apache-2.0
// Random derived types in messages against a list of bytes: complete and partial receives.
// SEED=number repeats a round.
// ranks: 1 2
// timeout: 120
#include "layout.h"

enum { kRounds = 400 };

static int usable(const struct Layout* made, int count) {
  if (made->ints == 0 || made->ints >= kMostInts || extent(made) <= 0) return 0;
  expect_bounds(made);
  return (long)made->ints * count <= kMostInts && extent(made) * count + 4096 < kMostSpan / 2;
}

static void receive(void* to, int count, MPI_Datatype type, int from, MPI_Status* status) {
  MPI_Message message;
  if (next(2)) {
    OK(MPI_Recv(to, count, type, from, 1, MPI_COMM_WORLD, status));
    return;
  }
  OK(MPI_Mprobe(from, 1, MPI_COMM_WORLD, &message, status));
  OK(MPI_Mrecv(to, count, type, &message, status));
}

static void transfer(struct Layout* out, int outs, struct Layout* in, int ins, char* from,
                     char* to) {
  const int ints = out->ints * outs, peer = size - 1 - rank, early = (int)next(2);
  MPI_Request request, receipt = MPI_REQUEST_NULL;
  MPI_Status status;
  int elements;
  memset(from, 0x11, 2 * kMostSpan);
  memset(to, 0x22, 2 * kMostSpan);
  for (int i = 0; i < ints; ++i) *integer(from + kMostSpan, out, i) = i + 7;
  if (early) OK(MPI_Irecv(to + kMostSpan, ins, in->type, peer, 1, MPI_COMM_WORLD, &receipt));
  if (next(3) == 0)
    OK(MPI_Issend(from + kMostSpan, outs, out->type, peer, 1, MPI_COMM_WORLD, &request));
  else
    OK(MPI_Isend(from + kMostSpan, outs, out->type, peer, 1, MPI_COMM_WORLD, &request));
  if (early)
    OK(MPI_Wait(&receipt, &status));
  else
    receive(to + kMostSpan, ins, in->type, peer, &status);
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  OK(MPI_Get_elements(&status, in->type, &elements));
  CHECK_EQ(elements, ints);
  for (int i = 0; i < ints; ++i) {
    const int sent = *integer(from + kMostSpan, out, i);
    int* got = integer(to + kMostSpan, in, i);
    if (*got != sent) FAIL("integer %d of %d is %d, but %d was sent", i, ints, *got, sent);
    *got = 0x22222222;
  }
  CHECK(untouched(to, 0, 2 * kMostSpan, 0x22));
}

static int round_of(unsigned long long seed, char* from, char* to) {
  state = seed * 0x9e3779b97f4a7c15ULL + 1;
  struct Layout out = grow(1 + (int)next(4)), in = grow(1 + (int)next(3));
  const int outs = 1 + (int)next(next(4) == 0 ? 200 : 4);
  const int ins = in.ints == 0 ? 1 : (out.ints * outs + in.ints - 1) / in.ints + (int)next(2);
  const int fit = usable(&out, outs) && usable(&in, ins) && separate(&in, ins, to);
  if (fit) {
    OK(MPI_Type_commit(&out.type));
    OK(MPI_Type_commit(&in.type));
    transfer(&out, outs, &in, ins, from, to);
  }
  drop(&out);
  drop(&in);
  return fit;
}

int main(int argc, char** argv) {
  const char* one = getenv("SEED");
  begin(&argc, &argv);
  char *from = malloc(2 * kMostSpan), *to = malloc(2 * kMostSpan);
  CHECK(from != NULL && to != NULL);
  int tried = 0;
  for (int round = 0; round < kRounds; ++round) {
    const unsigned long long seed = one != NULL ? strtoull(one, NULL, 10) : 1000ULL + round;
    tried += round_of(seed, from, to);
  }
  CHECK(one != NULL || tried > kRounds / 3);
  free(from);
  free(to);
  return end();
}
