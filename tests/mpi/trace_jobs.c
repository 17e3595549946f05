// SPDX-License-Identifier: Apache-2.0
// Programs for trace_jobs.sh, one per word: several processes, worlds, threads and communicators.
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, size;

static void barriers(int count, MPI_Comm comm) {
  for (int i = 0; i < count; ++i) MPI_Barrier(comm);
}

// Starts this program once more, while this process records.
static void starts(const char* program) {
  char command[4096];
  barriers(10, MPI_COMM_SELF);
  snprintf(command, sizeof command, "%s child", program);
  if (system(command) != 0) exit(3);
  barriers(10, MPI_COMM_SELF);
}

static void spawns(const char* program) {
  MPI_Comm parent, children;
  MPI_Comm_get_parent(&parent);
  if (parent == MPI_COMM_NULL) {
    char* arguments[] = {"spawns", NULL};
    MPI_Comm_spawn(program, arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children,
                   MPI_ERRCODES_IGNORE);
    barriers(7, children);
    MPI_Comm_disconnect(&children);
  } else {
    barriers(7, parent);
    for (int i = 0; i < 5; ++i) MPI_Bcast(&rank, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Comm_disconnect(&parent);
  }
}

// Short-lived communicators, each with one call.
static void comms(int count) {
  for (int i = 0; i < count; ++i) {
    MPI_Comm dup;
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    MPI_Barrier(dup);
    MPI_Comm_free(&dup);
  }
}

static MPI_Comm halves(int* first) {
  MPI_Comm half, both;
  *first = rank < size / 2;
  MPI_Comm_split(MPI_COMM_WORLD, *first, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, *first ? size / 2 : 0, 1, &both);
  MPI_Comm_free(&half);
  MPI_Barrier(both);
  return both;
}

// Rank 1 is the root of both calls. The first waits for the root, the second for rank 3.
static void inter(void) {
  int first, value = rank;
  MPI_Comm both = halves(&first);
  const int root = !first ? 1 : rank == 1 ? MPI_ROOT : MPI_PROC_NULL;
  if (rank == 1) usleep(100000);
  MPI_Bcast(&value, 1, MPI_INT, root, both);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 3) usleep(100000);
  int sum;
  MPI_Reduce(&value, &sum, 1, MPI_INT, MPI_SUM, root, both);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) usleep(100000);
  MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, both);
  MPI_Comm_free(&both);
}

static MPI_Comm shared;
static pthread_barrier_t together;

static void* first_use(void* argument) {
  int* const number = argument;
  pthread_barrier_wait(&together);
  for (int i = 0; i < 100; ++i)
    MPI_Sendrecv(number, 1, MPI_INT, 0, *number, number, 1, MPI_INT, 0, *number, shared,
                 MPI_STATUS_IGNORE);
  return NULL;
}

// The first calls on a communicator come from four threads at once.
static void threads(int rounds) {
  pthread_t made[4];
  int numbers[4];
  pthread_barrier_init(&together, NULL, 4);
  for (int round = 0; round < rounds; ++round) {
    MPI_Comm_dup(MPI_COMM_SELF, &shared);
    for (int i = 0; i < 4; ++i) {
      numbers[i] = i;
      pthread_create(&made[i], NULL, first_use, &numbers[i]);
    }
    for (int i = 0; i < 4; ++i) pthread_join(made[i], NULL);
    MPI_Comm_free(&shared);
  }
}

static int sessions(void) {
  MPI_Session session;
  MPI_Group group;
  MPI_Comm comm;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "trace", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  MPI_Group_free(&group);
  barriers(5, comm);
  MPI_Comm_free(&comm);
  MPI_Session_finalize(&session);
  return 0;
}

static void reductions(void) {
  int many[64] = {0}, one[64];
  MPI_Reduce(many, one, 8, MPI_INT, MPI_SUM, 1, MPI_COMM_WORLD);
  MPI_Reduce(rank == 1 ? MPI_IN_PLACE : many, rank == 1 ? many : NULL, 8, MPI_INT, MPI_SUM, 1,
             MPI_COMM_WORLD);
  MPI_Reduce_scatter_block(many, one, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Reduce_scatter_block(MPI_IN_PLACE, many, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Gather(many, 2, MPI_INT, one, 2, MPI_INT, 1, MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  const char* const what = argc > 1 ? argv[1] : "";
  const int count = argc > 2 ? atoi(argv[2]) : 0;
  int level;
  if (strcmp(what, "sessions") == 0) return sessions();
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (strcmp(what, "starts") == 0) starts(argv[0]);
  if (strcmp(what, "child") == 0) barriers(3, MPI_COMM_SELF);
  if (strcmp(what, "spawns") == 0) spawns(argv[0]);
  if (strcmp(what, "comms") == 0) comms(count);
  if (strcmp(what, "inter") == 0) inter();
  if (strcmp(what, "threads") == 0) threads(count);
  if (strcmp(what, "reductions") == 0) reductions();
  if (strcmp(what, "aborts") == 0) {
    barriers(10, MPI_COMM_SELF);
    MPI_Abort(MPI_COMM_WORLD, 5);
  }
  if (strcmp(what, "waits") == 0) {
    barriers(10, MPI_COMM_SELF);
    printf("waits\n");
    fflush(stdout);
    sleep(30);
  }
  MPI_Finalize();
  return 0;
}
