// SPDX-License-Identifier: Apache-2.0
// MPI_COMM_TYPE_SHARED and MPI_Win_allocate_shared agree, for every transport, also in an
// inter-communicator.
// ranks: 1 2 4
// variant: ofi
//   Without a transport in shared memory.
//   ranks: 2 4
//   env: TERN_TRANSPORT=ofi
#include "check.h"

static void share_in(MPI_Comm shared) {
  int members, me, *mine, *next, unit;
  MPI_Win win;
  MPI_Aint bytes;
  OK(MPI_Comm_size(shared, &members));
  OK(MPI_Comm_rank(shared, &me));
  OK(MPI_Win_allocate_shared(sizeof(int), sizeof(int), MPI_INFO_NULL, shared, &mine, &win));
  OK(MPI_Win_fence(0, win));
  *mine = me + 100;
  OK(MPI_Win_fence(0, win));
  OK(MPI_Win_shared_query(win, (me + 1) % members, &bytes, &unit, &next));
  CHECK_EQ(*next, (me + 1) % members + 100);
  OK(MPI_Win_fence(0, win));
  OK(MPI_Win_free(&win));
}

int main(int argc, char** argv) {
  MPI_Comm shared, half, both, merged;
  begin(&argc, &argv);
  OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &shared));
  share_in(shared);
  OK(MPI_Comm_free(&shared));
  if (size > 1) {
    OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half));
    OK(MPI_Comm_split_type(half, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &shared));
    share_in(shared);
    OK(MPI_Comm_free(&shared));
    OK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 0, &both));
    OK(MPI_Comm_split_type(both, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &shared));
    if (shared != MPI_COMM_NULL) {
      OK(MPI_Intercomm_merge(shared, rank % 2, &merged));
      share_in(merged);
      OK(MPI_Comm_free(&merged));
      OK(MPI_Comm_free(&shared));
    }
    OK(MPI_Comm_free(&both));
    OK(MPI_Comm_free(&half));
  }
  return end();
}
