/* SPDX-License-Identifier: Apache-2.0
 * Integrates a steep function by intervals: a worker halves an interval that needs smaller steps.
 * The master starts one more worker whenever an interval waits and all workers are busy.
 * Why: the work is unknown at the start, and MPI_Comm_spawn adds processes when it appears.
 * ranks: singleton 1
 * expect-stdout: integral 9\.2104\d+ as expected: \d+ intervals, 4 workers */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kMost = 4, kTask = 1, kStop = 2, kWaiting = 1000, kPoints = 60 };
static const double kShift = 1e-4, kTolerance = 1e-9;
static const double kIntegral = 9.2104403669765169; /* the logarithm of 10,001 */

typedef struct {
  double from, to;
} Interval;

typedef struct {
  double value, error;
} Answer;

static double steep(double x) { return 1 / (x + kShift); }

/* Simpson's rule on `steps` pieces. */
static double simpson(Interval part, int steps) {
  const double width = (part.to - part.from) / steps;
  double sum = steep(part.from) + steep(part.to);
  for (int i = 0; i < steps; ++i) sum += 4 * steep(part.from + (i + 0.5) * width);
  for (int i = 1; i < steps; ++i) sum += 2 * steep(part.from + i * width);
  return sum * width / 6;
}

static int work(MPI_Comm master) {
  for (;;) {
    Interval part;
    MPI_Status status;
    MPI_Recv(&part, 2, MPI_DOUBLE, 0, MPI_ANY_TAG, master, &status);
    if (status.MPI_TAG == kStop) break;
    Answer answer = {.value = simpson(part, kPoints)};
    answer.error = fabs(answer.value - simpson(part, kPoints / 2));
    MPI_Send(&answer, 2, MPI_DOUBLE, 0, kTask, master);
  }
  MPI_Comm_disconnect(&master);
  MPI_Finalize();
  return 0;
}

/* Each worker is a world of its own, so it can leave at any time. */
typedef struct {
  MPI_Comm comm;
  Interval part;
  Answer answer;
} Worker;

static Worker workers[kMost];
static MPI_Request answers[kMost]; /* MPI_REQUEST_NULL: the worker is free */
static int started;
static Interval waiting[kWaiting];
static int waits;

static void add(double from, double to) {
  if (waits == kWaiting) {
    fprintf(stderr, "pool: more than %d intervals wait\n", kWaiting);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  waiting[waits++] = (Interval){from, to};
}

static void give(int to) {
  Worker* worker = &workers[to];
  worker->part = waiting[--waits];
  MPI_Send(&worker->part, 2, MPI_DOUBLE, 0, kTask, worker->comm);
  MPI_Irecv(&worker->answer, 2, MPI_DOUBLE, 0, kTask, worker->comm, &answers[to]);
}

static void give_all(char* program) {
  for (int i = 0; i < started && waits > 0; ++i)
    if (answers[i] == MPI_REQUEST_NULL) give(i);
  for (; waits > 0 && started < kMost; ++started) {
    MPI_Comm_spawn(program, MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF,
                   &workers[started].comm, MPI_ERRCODES_IGNORE);
    give(started);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm master;
  MPI_Comm_get_parent(&master);
  if (master != MPI_COMM_NULL) return work(master);
  int size;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size > 1) {
    fprintf(stderr, "pool: start one rank; it starts the others (got %d)\n", size);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }

  double integral = 0;
  int intervals = 0;
  add(0, 1);
  for (;;) {
    give_all(argv[0]);
    int from;
    MPI_Waitany(started, answers, &from, MPI_STATUS_IGNORE);
    if (from == MPI_UNDEFINED) break; /* no worker is busy, and no interval waits */
    const Worker* worker = &workers[from];
    const Interval part = worker->part;
    ++intervals;
    if (worker->answer.error <= kTolerance * (part.to - part.from)) {
      integral += worker->answer.value;
    } else {
      const double middle = (part.from + part.to) / 2;
      add(part.from, middle);
      add(middle, part.to);
    }
  }
  for (int i = 0; i < started; ++i) {
    MPI_Send(NULL, 0, MPI_DOUBLE, 0, kStop, workers[i].comm);
    MPI_Comm_disconnect(&workers[i].comm);
  }

  const int wrong = !(fabs(integral - kIntegral) < 1e-9);
  printf("integral %.10f %s: %d intervals, %d workers\n", integral,
         wrong ? "IS WRONG" : "as expected", intervals, started);
  MPI_Finalize();
  return wrong;
}
