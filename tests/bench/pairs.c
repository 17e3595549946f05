// SPDX-License-Identifier: Apache-2.0
// A communicator for each pair of ranks: the time of MPI_Comm_create_group, and of 1,024 rounds. In
// a round each rank does an allreduce of 100 floats with every other rank, in the order of a
// tournament, so no rank waits for a later pair.
#include "bench.h"

enum { kRounds = 1024, kFloats = 100, kMostRanks = 1024 };

typedef struct {
  const Bench* bench;
  MPI_Group world;
  int pairs;
  int partner[kMostRanks];
  MPI_Comm comm[kMostRanks];
  float out[kFloats], in[kFloats];
} State;

// opponent() is the rank that `rank` meets on `day` of a tournament of `teams` (an even number):
// team 0 stays, the other teams move on by one seat a day.
static int opponent(int rank, int day, int teams) {
  const int seats = teams - 1;
  if (rank == 0) return day % seats + 1;
  const int seat = (rank - 1 - day % seats + seats) % seats;  // 0: faces team 0
  if (seat == 0) return 0;
  return (seats - seat + day) % seats + 1;
}

static void find_partners(State* state) {
  const int ranks = state->bench->ranks, teams = ranks + ranks % 2;
  for (int day = 0; day < teams - 1; ++day) {
    const int partner = opponent(state->bench->rank, day, teams);
    if (partner < ranks) state->partner[state->pairs++] = partner;
  }
  if (state->pairs != ranks - 1) bench_fail(state->bench, "pairs: a partner is missing", 0);
}

static void make(State* state) {
  const int rank = state->bench->rank;
  for (int p = 0; p < state->pairs; ++p) {
    const int other = state->partner[p];
    const int both[] = {rank < other ? rank : other, rank < other ? other : rank};
    MPI_Group pair;
    MPI_Group_incl(state->world, 2, both, &pair);
    MPI_Comm_create_group(MPI_COMM_WORLD, pair, 1, &state->comm[p]);
    MPI_Group_free(&pair);
  }
}

static void unmake(State* state) {
  for (int p = 0; p < state->pairs; ++p) MPI_Comm_free(&state->comm[p]);
}

static void make_and_unmake(void* of, long iterations) {
  for (long i = 0; i < iterations; ++i) make(of), unmake(of);
}

// A float changes in each round, so the result of an earlier round is an error.
static void rounds(void* of, long iterations) {
  State* state = of;
  const int rank = state->bench->rank;
  for (long i = 0; i < iterations * kRounds; ++i) {
    const int place = (int)(i % kFloats);
    state->out[place] = (float)(rank + i % 1000);
    for (int p = 0; p < state->pairs; ++p) {
      MPI_Allreduce(state->out, state->in, kFloats, MPI_FLOAT, MPI_SUM, state->comm[p]);
      if (state->in[place] != (float)(rank + state->partner[p] + 2 * (i % 1000)))
        bench_fail(state->bench, "pairs: the sum is wrong", sizeof state->in);
    }
  }
}

static void check_all(State* state) {
  const int rank = state->bench->rank;
  for (int i = 0; i < kFloats; ++i) state->out[i] = (float)(rank * 1000 + i);
  for (int p = 0; p < state->pairs; ++p) {
    MPI_Allreduce(state->out, state->in, kFloats, MPI_FLOAT, MPI_SUM, state->comm[p]);
    for (int i = 0; i < kFloats; ++i)
      if (state->in[i] != (float)((rank + state->partner[p]) * 1000 + 2 * i))
        bench_fail(state->bench, "pairs: a sum is wrong", sizeof state->in);
  }
}

int main(int argc, char** argv) {
  const Bench bench = bench_open(argc, argv, 1);
  static State state;
  bench_need_ranks(&bench, 2);
  if (bench.ranks > kMostRanks) bench_fail(&bench, "pairs: too many ranks", 0);
  state.bench = &bench;
  MPI_Comm_group(MPI_COMM_WORLD, &state.world);
  find_partners(&state);
  const double making = bench_time(&bench, make_and_unmake, &state) / state.pairs;
  bench_report(&bench, "pairs_create", 0, making * 1e6, "us");
  make(&state);
  check_all(&state);
  bench_report(&bench, "pairs_rounds", 0, bench_time(&bench, rounds, &state) * 1e3, "ms");
  unmake(&state);
  MPI_Group_free(&state.world);
  return bench_close();
}
