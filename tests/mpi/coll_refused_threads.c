// SPDX-License-Identifier: Apache-2.0
// The same with locks, and with messages that are announced before their data comes.
// ranks: 2 3 5
// timeout: 120
// env: TERN_EAGER_LIMIT=0
#include <mpi.h>

static int init_threads(int* argc, char*** argv) {
  int provided;
  return MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &provided);
}
#define MPI_Init init_threads
#include "coll_refused.c"
