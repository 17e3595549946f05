// SPDX-License-Identifier: Apache-2.0
// Heat in a rod. A rank kills itself; the survivors start a replacement with the cells kept by the
// right neighbour, and continue from the last checkpoint.
// Why: the cells at the end are the same, to the last bit, as without a death.
// ranks: 2 4
// mpirun: --with-ft ulfm
// args: 2000 1 1030
// sanitizers: no, processes are killed
// hosts: no, the ranks of a job on several hosts end together
// expect-stdout: 2000 steps, 1 replaced: heat \d+\.\d+, the same as on one rank
// variant: first
//   args: 2000 0 2000
// variant: early
//   args: 2000 1 0
// variant: unharmed
//   args: 2000
//   mpirun: --quiet
//   expect-stdout: 2000 steps, 0 replaced: heat \d+\.\d+, the same as on one rank
#include <limits.h>
#include <mpi.h>
#include <mpix.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kCells = 960, kEvery = 100, kLeft = 1, kRight = 2, kSave = 3, kRestore = 4 };

/* The cells of a rank at a step. */
typedef struct {
  long step;
  double cells[kCells];
} State;

static MPI_Comm comm; /* all ranks, in the order of their cells */
static int rank, size, mine, replaced;
static State now;
/* The last two checkpoints, because a death may leave some ranks without the last one. */
static State own[2], of_left[2];
static long saved = -1; /* the step of the last checkpoint that is complete here */

static void must(int code, const char* what) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length;
  MPI_Error_string(code, text, &length);
  fprintf(stderr, "survivor: %s: %s\n", what, text);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void use(MPI_Comm made) {
  comm = made;
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  mine = kCells / size;
}

/* One step of `count` cells between the cells `left` and `right`. */
static void warm(double* cells, int count, double left, double right) {
  for (int i = 0; i < count; ++i) {
    const double old = cells[i], next = i + 1 < count ? cells[i + 1] : right;
    cells[i] = old + 0.25 * (left - 2 * old + next);
    left = old;
  }
}

static int step(void) {
  const int before = rank > 0 ? rank - 1 : MPI_PROC_NULL;
  const int after = rank + 1 < size ? rank + 1 : MPI_PROC_NULL;
  double left = 1, right = 0; /* the left end of the rod is hot */
  int code = MPI_Sendrecv(&now.cells[mine - 1], 1, MPI_DOUBLE, after, kRight, &left, 1, MPI_DOUBLE,
                          before, kRight, comm, MPI_STATUS_IGNORE);
  if (code == MPI_SUCCESS)
    code = MPI_Sendrecv(&now.cells[0], 1, MPI_DOUBLE, before, kLeft, &right, 1, MPI_DOUBLE, after,
                        kLeft, comm, MPI_STATUS_IGNORE);
  if (code != MPI_SUCCESS) return code;
  warm(now.cells, mine, left, right);
  ++now.step;
  return MPI_SUCCESS;
}

static int bytes(void) { return (int)offsetof(State, cells) + mine * (int)sizeof(double); }

/* Keeps the cells here and at the right neighbour; rank 0 keeps those of the last rank. */
static int save(void) {
  const long slot = now.step / kEvery % 2;
  own[slot] = now;
  const int code =
      MPI_Sendrecv(&now, bytes(), MPI_BYTE, (rank + 1) % size, kSave, &of_left[slot], bytes(),
                   MPI_BYTE, (rank + size - 1) % size, kSave, comm, MPI_STATUS_IGNORE);
  if (code == MPI_SUCCESS) saved = now.step;
  return code;
}

/* Goes on up to the last step, and collects all cells at rank 0. `dies_at`: step, or -1. */
static int advance(long steps, long dies_at, double* all) {
  for (;;) {
    if (now.step == dies_at) raise(SIGKILL);
    int code = now.step % kEvery == 0 ? save() : MPI_SUCCESS;
    if (code == MPI_SUCCESS && now.step == steps)
      return MPI_Gather(now.cells, mine, MPI_DOUBLE, all, mine, MPI_DOUBLE, 0, comm);
    if (code == MPI_SUCCESS) code = step();
    if (code != MPI_SUCCESS) return code;
  }
}

/* Ranks go back to the last common checkpoint of the survivors. Neighbours are less than kEvery
 * steps apart, so this is one of the last two. */
static void restore(const int* dead, int deaths, int is_new) {
  long last = is_new ? LONG_MAX : saved;
  must(MPI_Allreduce(MPI_IN_PLACE, &last, 1, MPI_LONG, MPI_MIN, comm), "MPI_Allreduce");
  saved = -1;
  if (last < 0) { /* no checkpoint yet */
    memset(&now, 0, sizeof now);
    return;
  }
  const long slot = last / kEvery % 2;
  now = own[slot];
  for (int i = 0; i < deaths; ++i) {
    const int keeper = (dead[i] + 1) % size;
    if (rank == keeper)
      must(MPI_Send(&of_left[slot], bytes(), MPI_BYTE, dead[i], kRestore, comm), "MPI_Send");
    if (rank == dead[i])
      must(MPI_Recv(&now, bytes(), MPI_BYTE, keeper, kRestore, comm, MPI_STATUS_IGNORE),
           "MPI_Recv");
  }
}

/* Survivors and replacements make a communicator in the old order. The survivors know the ranks of
 * the dead; `dead` has room for all. */
static void join(MPI_Comm inter, int is_new, int* dead, int deaths) {
  MPI_Comm merged, ordered;
  int counts[2] = {deaths, replaced + deaths}, members, place;
  must(MPI_Intercomm_merge(inter, is_new, &merged), "MPI_Intercomm_merge");
  MPI_Comm_free(&inter);
  must(MPI_Bcast(counts, 2, MPI_INT, 0, merged), "MPI_Bcast");
  deaths = counts[0];
  replaced = counts[1];
  must(MPI_Bcast(dead, deaths, MPI_INT, 0, merged), "MPI_Bcast");
  MPI_Comm_size(merged, &members);
  MPI_Comm_rank(merged, &place); /* replacements are behind the survivors */
  if (is_new) rank = dead[place - (members - deaths)];
  must(MPI_Comm_split(merged, 0, rank, &ordered), "MPI_Comm_split");
  MPI_Comm_free(&merged);
  use(ordered);
  restore(dead, deaths, is_new);
}

/* Finds the dead, and starts a replacement for each. */
static void recover(char** argv) {
  MPI_Comm living, inter;
  MPI_Group all, some, gone;
  int dead[kCells], places[kCells], deaths;
  must(MPIX_Comm_shrink(comm, &living), "MPIX_Comm_shrink");
  MPI_Comm_group(comm, &all);
  MPI_Comm_group(living, &some);
  MPI_Group_difference(all, some, &gone);
  MPI_Group_size(gone, &deaths);
  for (int i = 0; i < deaths; ++i) places[i] = i;
  MPI_Group_translate_ranks(gone, deaths, places, all, dead);
  MPI_Group_free(&gone);
  MPI_Group_free(&some);
  MPI_Group_free(&all);
  MPI_Comm_free(&comm);
  for (int i = 0; i < deaths; ++i)
    if (deaths > 1 && (dead[(i + 1) % deaths] - dead[i] + size) % size == 1)
      must(MPI_ERR_OTHER, "two neighbours are dead, and with them a checkpoint");
  must(MPI_Comm_spawn(argv[0], argv + 1, deaths, MPI_INFO_NULL, 0, living, &inter,
                      MPI_ERRCODES_IGNORE),
       "MPI_Comm_spawn");
  MPI_Comm_free(&living);
  join(inter, 0, dead, deaths);
}

static double heat_of(const double* all) {
  double sum = 0;
  for (int i = 0; i < kCells; ++i) sum += all[i];
  return sum;
}

/* Compares with the result of one rank. */
static int is_right(const double* all, long steps) {
  static double cells[kCells];
  for (long i = 0; i < steps; ++i) warm(cells, kCells, 1, 0);
  return memcmp(all, cells, sizeof cells) == 0;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const long steps = argc > 1 ? atol(argv[1]) : 2000;
  const int victim = argc > 2 ? atoi(argv[2]) : -1;
  const long dies_at = argc > 3 ? atol(argv[3]) : steps / 2;
  MPI_Comm parent;
  MPI_Comm_get_parent(&parent);
  if (parent != MPI_COMM_NULL) {
    int dead[kCells];
    join(parent, 1, dead, 0);
  } else {
    int *tolerant, known;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPIX_FT, &tolerant, &known);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    use(comm);
    if (kCells % size != 0) must(MPI_ERR_ARG, "the number of ranks must divide 960");
    if (victim >= 0 && (!known || !*tolerant))
      must(MPI_ERR_ARG, "a death needs mpirun --with-ft ulfm");
  }

  static double all[kCells];
  const int dies = parent == MPI_COMM_NULL && rank == victim;
  for (;;) {
    int done = advance(steps, dies ? dies_at : -1, all) == MPI_SUCCESS;
    /* Ranks waiting for this rank must hear of the death. */
    if (!done) MPIX_Comm_revoke(comm);
    /* A rank may be done before a death is known, so all ranks decide together. */
    if (MPIX_Comm_agree(comm, &done) == MPI_SUCCESS && done) break;
    recover(argv);
  }

  int wrong = 0;
  if (rank == 0) {
    wrong = !is_right(all, steps);
    printf("%ld steps, %d replaced: heat %.10f, %s as on one rank\n", steps, replaced, heat_of(all),
           wrong ? "NOT the same" : "the same");
  }
  MPI_Comm_free(&comm);
  MPI_Finalize();
  return wrong;
}
