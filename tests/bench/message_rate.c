// SPDX-License-Identifier: Apache-2.0
// Small messages a second from rank 0 to rank 1, a window at a time. With --tags N, rank 1 receives
// N tags in reverse order, so matching has to search. With --unexpected, the whole window arrives
// before its receives are posted.
#include "bench.h"

enum { kSize = 8, kAnswerTag = 32001, kSentTag = 32002 };

typedef struct {
  const Bench* bench;
  uint64_t* out;
  uint64_t* in;
  MPI_Request* requests;
} Flood;

// MPI keeps the order of messages with equal tags.
static int tag_of(const Bench* bench, int m) { return m % bench->tags; }

static void send_window(Flood* f) {
  for (int m = 0; m < f->bench->window; ++m)
    MPI_Isend(&f->out[m], kSize, MPI_CHAR, 1, tag_of(f->bench, m), MPI_COMM_WORLD, &f->requests[m]);
  if (f->bench->unexpected) MPI_Send(NULL, 0, MPI_CHAR, 1, kSentTag, MPI_COMM_WORLD);
  MPI_Waitall(f->bench->window, f->requests, MPI_STATUSES_IGNORE);
  MPI_Recv(NULL, 0, MPI_CHAR, 1, kAnswerTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void receive_window(Flood* f) {
  const int window = f->bench->window, tags = f->bench->tags;
  if (f->bench->unexpected)
    MPI_Recv(NULL, 0, MPI_CHAR, 0, kSentTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  int posted = 0;
  for (int tag = tags - 1; tag >= 0; --tag)
    for (int m = tag; m < window; m += tags)
      MPI_Irecv(&f->in[m], kSize, MPI_CHAR, 0, tag, MPI_COMM_WORLD, &f->requests[posted++]);
  MPI_Waitall(window, f->requests, MPI_STATUSES_IGNORE);
  MPI_Send(NULL, 0, MPI_CHAR, 0, kAnswerTag, MPI_COMM_WORLD);
}

static void flood(void* state, long iterations) {
  Flood* f = state;
  if (f->bench->rank > 1) return;
  for (long i = 0; i < iterations; ++i) f->bench->rank == 0 ? send_window(f) : receive_window(f);
}

static void verify(Flood* f) {
  const size_t window = (size_t)f->bench->window;
  for (size_t m = 0; m < window; ++m) f->out[m] = m * m + 17;
  memset(f->in, 0, window * sizeof *f->in);
  flood(f, 1);
  if (f->bench->rank == 1 && memcmp(f->in, f->out, window * sizeof *f->in) != 0)
    bench_fail(f->bench, "message_rate: messages were lost, changed or matched in the wrong order",
               kSize);
}

int main(int argc, char** argv) {
  Bench bench = bench_open(argc, argv, kSize);
  bench_need_ranks(&bench, 2);
  if (bench.tags > bench.window) bench.tags = bench.window;
  const size_t window = (size_t)bench.window;
  Flood f = {.bench = &bench,
             .out = bench_allocate(&bench, window * kSize),
             .in = bench_allocate(&bench, window * kSize),
             .requests = calloc(window, sizeof *f.requests)};
  verify(&f);
  const double seconds = bench_time(&bench, flood, &f);
  const char* name = bench.unexpected ? "message_rate_unexpected"
                     : bench.tags > 1 ? "message_rate_tags"
                                      : "message_rate";
  bench_report(&bench, name, kSize, bench.window / seconds * 1e-6, "M/s");
  free(f.requests);
  return bench_close();
}
