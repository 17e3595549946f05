// SPDX-License-Identifier: Apache-2.0
// Warmed calls allocate no memory. call_costs.sh counts instructions of the same calls. Rank 0
// never waits, because rank 1 polls plain memory or has entered the collective.
//
// ranks: 2
// env: TERN_SPIN=1s
// timeout: 120
// transport: sm, the counts are shared memory's
// hosts: no, the counts are shared memory's
// sanitizers: no, a sanitizer brings an allocator
#include <mpi.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else
#define CALLGRIND_ZERO_STATS
#define CALLGRIND_DUMP_STATS_AT(name) (void)(name)
#endif

void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);

static atomic_long allocations;
#define COUNTED atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed)
void* malloc(size_t bytes) { return COUNTED, __libc_malloc(bytes); }
void* calloc(size_t count, size_t bytes) { return COUNTED, __libc_calloc(count, bytes); }
void* realloc(void* old, size_t bytes) { return COUNTED, __libc_realloc(old, bytes); }
void* aligned_alloc(size_t grain, size_t bytes) { return COUNTED, __libc_memalign(grain, bytes); }
int posix_memalign(void** at, size_t grain, size_t bytes) {
  return COUNTED, (*at = __libc_memalign(grain, bytes)) == NULL ? 12 : 0;
}

enum { kWarm = 64, kTimes = 20, kLarge = 65536 };
static int rank, failures;
static atomic_int* word;
static MPI_Win window;
static double small[2], out[kLarge / 8], in[kLarge / 8];

#define SMALL(at) at, 8, MPI_BYTE
static void send(void) { MPI_Send(SMALL(small), 1, 0, MPI_COMM_WORLD); }
static void receive(void) { MPI_Recv(SMALL(small), 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); }
static void isend(void) {
  MPI_Request request;
  MPI_Isend(SMALL(small), 1, 0, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}
static void irecv(void) {
  MPI_Request request;
  MPI_Irecv(SMALL(small), 1, 0, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}
static void sendrecv_self(void) {
  MPI_Sendrecv(SMALL(small), 0, 0, SMALL(small + 1), 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
}
static void put(void) { MPI_Put(SMALL(small), 1, 0, 8, MPI_BYTE, window); }
static void fetch_and_op(void) {
  MPI_Fetch_and_op(out, in, MPI_DOUBLE, 1, 0, MPI_SUM, window);
  MPI_Win_flush(1, window);
}
static void lock_put_unlock(void) {
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, window);
  put();
  MPI_Win_unlock(1, window);
}
static void allreduce_self(void) { MPI_Allreduce(out, in, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF); }
static void allreduce_8(void) { MPI_Allreduce(out, in, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); }
static void allreduce_64k(void) {
  MPI_Allreduce(out, in, kLarge / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

// Peer is rank 1's action for a call of rank 0.
typedef enum { kNothing, kReceivesAfter, kSends, kIsProbed, kJoins } Peer;

static void step_of(int who) {
  static int step = 0;
  ++step;
  if (rank == who) atomic_store(word, step);
  while (atomic_load(word) < step) usleep(100);
}

// `name` is null during warm-up.
static void counted(const char* name, void (*call)(void)) {
  if (name == NULL) return call();
  CALLGRIND_ZERO_STATS;
  call();
  CALLGRIND_DUMP_STATS_AT(name);
}

// Rank 1 sends the next message after the call, because more unexpected messages need memory.
static void call_once(const char* name, Peer peer, void (*call)(void)) {
  const int sends = peer == kSends || peer == kIsProbed;
  if (sends && rank == 1) MPI_Send(SMALL(small), 0, 0, MPI_COMM_WORLD);
  if (sends || peer == kJoins) step_of(1);
  if (rank == 1 && peer == kJoins) call();
  if (rank == 0 && peer == kJoins) usleep(500);
  if (rank == 0 && peer == kIsProbed) MPI_Probe(1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank == 0) counted(name, call);
  if (sends) step_of(0);
}

static long run(const char* name, Peer peer, void (*call)(void), int times) {
  long most = 0;
  step_of(1);
  for (int i = 0; i < times; ++i) {
    const long before = allocations;
    call_once(name, peer, call);
    if (allocations - before > most) most = allocations - before;
  }
  step_of(0);
  for (int i = 0; i < times && peer == kReceivesAfter && rank == 1; ++i)
    MPI_Recv(SMALL(small), 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
  return most;
}

static void measure(const char* name, Peer peer, void (*call)(void)) {
  (void)run(NULL, peer, call, kWarm);
  const long most = run(name, peer, call, kTimes);
  if (most == 0) return;
  ++failures;
  fprintf(stderr, "rank %d: a warmed %s allocates %ld times, but the bound is 0\n", rank, name,
          most);
}

int main(int argc, char** argv) {
  int size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size != 2) MPI_Abort(MPI_COMM_WORLD, 2);
  MPI_Win shared;
  MPI_Aint bytes;
  int unit;
  double* memory;
  MPI_Win_allocate_shared(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &word, &shared);
  MPI_Win_shared_query(shared, 0, &bytes, &unit, &word);
  MPI_Win_allocate(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  MPI_Win_lock_all(0, window);
#define MEASURE(name, peer) measure(#name, peer, name)
  MEASURE(send, kReceivesAfter);
  MEASURE(isend, kReceivesAfter);
  MEASURE(receive, kSends);
  MEASURE(irecv, kIsProbed);
  MEASURE(sendrecv_self, kNothing);
  MEASURE(put, kNothing);
  MEASURE(fetch_and_op, kNothing);
  MEASURE(allreduce_self, kNothing);
  MEASURE(allreduce_8, kJoins);
  MEASURE(allreduce_64k, kJoins);
  const long before = allocations;
  void* volatile some = malloc((size_t)size);
  free(some);
  if (allocations == before) ++failures, fprintf(stderr, "no allocation is counted\n");
  MPI_Win_unlock_all(window);
  MEASURE(lock_put_unlock, kNothing);
  MPI_Win_free(&window);
  MPI_Win_free(&shared);
  MPI_Finalize();
  return failures != 0;
}
