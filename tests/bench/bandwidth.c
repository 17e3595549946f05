// SPDX-License-Identifier: Apache-2.0
// Bandwidth from rank 0 to rank 1: a window of messages, then an answer of zero bytes. All messages
// of a window use one buffer, as in the OSU benchmarks; with --rotate each message has its own
// buffer, beyond L3.
#include "bench.h"

enum { kTag = 1, kAnswerTag = 2 };

typedef struct {
  const Bench* bench;
  BenchBuffer buffer;
  MPI_Request* requests;
  size_t size;
} Stream;

static void stream(void* state, long iterations) {
  Stream* s = state;
  const int window = s->bench->window, count = (int)s->size;
  if (s->bench->rank > 1) return;
  for (long i = 0; i < iterations; ++i) {
    for (int m = 0; m < window; ++m) {
      void* at = bench_next(&s->buffer, s->size);
      if (s->bench->rank == 0)
        MPI_Isend(at, count, MPI_CHAR, 1, kTag, MPI_COMM_WORLD, &s->requests[m]);
      else
        MPI_Irecv(at, count, MPI_CHAR, 0, kTag, MPI_COMM_WORLD, &s->requests[m]);
    }
    MPI_Waitall(window, s->requests, MPI_STATUSES_IGNORE);
    if (s->bench->rank == 0)
      MPI_Recv(NULL, 0, MPI_CHAR, 1, kAnswerTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
      MPI_Send(NULL, 0, MPI_CHAR, 0, kAnswerTag, MPI_COMM_WORLD);
  }
}

static void verify(Stream* s) {
  if (s->bench->rank > 1) return;
  char* first = s->buffer.base;
  if (s->bench->rank == 0)
    bench_fill(first, s->size, 5);
  else
    memset(first, 0, s->size);
  s->buffer.next = 0;
  if (s->bench->rank == 0)
    MPI_Send(bench_next(&s->buffer, s->size), (int)s->size, MPI_CHAR, 1, kTag, MPI_COMM_WORLD);
  else
    MPI_Recv(bench_next(&s->buffer, s->size), (int)s->size, MPI_CHAR, 0, kTag, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
  s->buffer.next = 0;
  if (!s->bench->rotate) stream(s, 1);
  bench_expect(s->bench, first, s->size, 5, "bandwidth: received other bytes than were sent");
}

int main(int argc, char** argv) {
  const Bench bench = bench_open(argc, argv, 4u << 20);
  bench_need_ranks(&bench, 2);
  Stream s = {.bench = &bench, .buffer = bench_buffer(&bench, bench.max)};
  s.requests = calloc((size_t)bench.window, sizeof *s.requests);
  for (s.size = bench.min; s.size <= bench.max; s.size = s.size ? s.size * 2 : 1) {
    bench_rotate_by(&s.buffer, &bench, s.size);
    verify(&s);
    const double seconds = bench_time(&bench, stream, &s);
    const char* name = bench.rotate ? "bandwidth_rotate"
                       : bench.heap ? "bandwidth_heap"
                                    : "bandwidth";
    bench_report(&bench, name, s.size, (double)s.size * bench.window / seconds * 1e-6, "MB/s");
  }
  free(s.requests);
  return bench_close();
}
