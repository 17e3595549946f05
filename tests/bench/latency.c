// SPDX-License-Identifier: Apache-2.0
// Ping-pong between ranks 0 and 1: half a round trip by size, over hot buffers or (--rotate)
// buffers beyond L3.
#include "bench.h"

enum { kTag = 1 };

typedef struct {
  const Bench* bench;
  BenchBuffer out, in;
  size_t size;
} PingPong;

static void ping_pong(void* state, long iterations) {
  PingPong* p = state;
  const int count = (int)p->size, peer = 1 - p->bench->rank;
  if (p->bench->rank > 1) return;
  for (long i = 0; i < iterations; ++i) {
    if (p->bench->rank == 0)
      MPI_Send(bench_next(&p->out, p->size), count, MPI_CHAR, peer, kTag, MPI_COMM_WORLD);
    MPI_Recv(bench_next(&p->in, p->size), count, MPI_CHAR, peer, kTag, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    if (p->bench->rank == 1)
      MPI_Send(bench_next(&p->out, p->size), count, MPI_CHAR, peer, kTag, MPI_COMM_WORLD);
  }
}

static void verify(PingPong* p) {
  if (p->bench->rank > 1) return;
  bench_fill(p->out.base, p->size, p->bench->rank);
  memset(p->in.base, 0, p->size);
  ping_pong(p, 1);
  bench_expect(p->bench, p->in.base, p->size, 1 - p->bench->rank,
               "latency: received other bytes than were sent");
}

int main(int argc, char** argv) {
  const Bench bench = bench_open(argc, argv, 4u << 20);
  bench_need_ranks(&bench, 2);
  PingPong p = {.bench = &bench,
                .out = bench_buffer(&bench, bench.max),
                .in = bench_buffer(&bench, bench.max)};
  for (p.size = bench.min; p.size <= bench.max; p.size = p.size ? p.size * 2 : 1) {
    bench_rotate_by(&p.out, &bench, p.size);
    bench_rotate_by(&p.in, &bench, p.size);
    verify(&p);
    const char* name = bench.rotate     ? "latency_rotate"
                       : bench.multiple ? "latency_multiple"
                       : bench.heap     ? "latency_heap"
                                        : "latency";
    const double seconds = bench_time(&bench, ping_pong, &p);
    bench_report(&bench, name, p.size, seconds / 2 * 1e6, "us");
  }
  return bench_close();
}
