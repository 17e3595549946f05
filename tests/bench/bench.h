// SPDX-License-Identifier: Apache-2.0
// The common part of all benchmarks. Why: each program treats all MPI libraries alike and prints
// lines for `compare`. Use: bench_open, then bench_time and bench_report for each measurement, then
// bench_close. Output: `name size ranks value unit`, a line per measurement, on rank 0's stdout;
// complaints go to stderr.
#pragma once

#define _GNU_SOURCE 1
#include <malloc.h>
#include <mpi.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

typedef struct {
  int rank, ranks;
  double seconds;   // budget of one measurement
  size_t min, max;  // bytes, by powers of two
  size_t step;      // factor from size to size; 0: the program's
  size_t rotate;    // bytes of rotating buffers; 0: hot buffers
  int window;
  int tags;                // different tags in a window
  int multiple;            // MPI_THREAD_MULTIPLE
  int heap;                // buffers from the heap, else mapped
  int unexpected;          // receives are posted after the arrival
  int fixed_root;          // rank 0 is every root, else roots take turns
  const char* operations;  // comma-separated filter; NULL: all
  const char* folder;      // of files
} Bench;

enum { kMaxBatches = 400, kCacheLine = 64, kPage = 4096, kControlTag = 32003 };

_Noreturn static void bench_usage(const char* program, const char* wrong) {
  if (wrong) fprintf(stderr, "%s: option '%s' is not known or lacks its value\n", program, wrong);
  fprintf(
      wrong ? stderr : stdout,
      "usage: %s [--seconds S] [--min BYTES] [--max BYTES] [--step N] [--rotate MIB] [--window N]\n"
      "          [--tags N] [--unexpected] [--multiple] [--heap] [--fixed-root]\n"
      "          [--operations A,B,...] [--folder FOLDER]\n"
      "  --seconds     budget of one measurement (each size is one), default 0.1\n"
      "  --step        the factor from size to size, where the program takes it\n"
      "  --rotate      move over buffers of this many MiB, beyond the last cache\n"
      "  --heap        take buffers from the heap, not by mmap\n"
      "  --fixed-root  rank 0 is the root of every collective, and may run ahead\n"
      "  --folder      the folder of files, default /dev/shm (tmpfs)\n"
      "  --multiple    ask for MPI_THREAD_MULTIPLE\n"
      "  BENCH_BIND=1  in the environment binds each rank to one of the allowed cores\n"
      "  BENCH_BUSY=1  results are means, and their 99th percentiles follow as NAME_p99\n",
      program);
  exit(wrong ? 2 : 0);
}

// bench_rank_from_launcher() reads the rank from the launcher's variables, before MPI_Init; -1
// without a launcher.
static int bench_rank_from_launcher(void) {
  static const char* const names[] = {"PMIX_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK",
                                      "SLURM_PROCID"};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    const char* value = getenv(names[i]);
    if (value) return atoi(value);
  }
  return -1;
}

static int bench_is_set(const char* variable) {
  const char* value = getenv(variable);
  return value && strcmp(value, "1") == 0;
}

// `allowed` keeps the first mask: a second call must not see the mask set here.
static void bench_bind(int rank) {
  static cpu_set_t allowed;
  if (rank < 0 || !bench_is_set("BENCH_BIND")) return;
  if (CPU_COUNT(&allowed) == 0 && sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  int skipped = rank % CPU_COUNT(&allowed);
  size_t core = 0;
  while (!CPU_ISSET(core, &allowed) || skipped-- > 0) ++core;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0) perror("bench: sched_setaffinity");
}

// The benchmark runs above all other processes of the machine. If the kernel schedules sessions as
// groups, niceness counts only within a group, and some launchers start a session per rank.
static void bench_take_priority(void) {
  if (!bench_is_set("BENCH_PRIORITY")) return;
  if (setpriority(PRIO_PROCESS, 0, -20) != 0) perror("bench: BENCH_PRIORITY");
  FILE* group = fopen("/proc/self/autogroup", "w");
  if (!group) return;
  fputs("-20", group);
  fclose(group);
}

static int bench_option(Bench* bench, const char* name, const char* value) {
  if (strcmp(name, "--unexpected") == 0) return bench->unexpected = 1, 1;
  if (strcmp(name, "--multiple") == 0) return bench->multiple = 1, 1;
  if (strcmp(name, "--heap") == 0) return bench->heap = 1, 1;
  if (strcmp(name, "--fixed-root") == 0) return bench->fixed_root = 1, 1;
  if (!value) return 0;
  if (strcmp(name, "--seconds") == 0) return bench->seconds = atof(value), 2;
  if (strcmp(name, "--min") == 0) return bench->min = strtoull(value, NULL, 10), 2;
  if (strcmp(name, "--max") == 0) return bench->max = strtoull(value, NULL, 10), 2;
  if (strcmp(name, "--step") == 0) return bench->step = strtoull(value, NULL, 10), 2;
  if (strcmp(name, "--rotate") == 0) return bench->rotate = strtoull(value, NULL, 10) << 20, 2;
  if (strcmp(name, "--window") == 0) return bench->window = atoi(value), 2;
  if (strcmp(name, "--tags") == 0) return bench->tags = atoi(value), 2;
  if (strcmp(name, "--operations") == 0) return bench->operations = value, 2;
  if (strcmp(name, "--folder") == 0) return bench->folder = value, 2;
  return 0;
}

// A program may define its thread level before the #include of this header.
#ifndef BENCH_THREAD_LEVEL
#define BENCH_THREAD_LEVEL MPI_THREAD_SINGLE
#endif

static void bench_init(const Bench* bench) {
  int granted;
  const int wanted = bench->multiple ? MPI_THREAD_MULTIPLE : BENCH_THREAD_LEVEL;
  MPI_Init_thread(NULL, NULL, wanted, &granted);
  if (granted >= wanted) return;
  fprintf(stderr, "bench: thread level %d was asked for, %d is granted\n", wanted, granted);
  MPI_Abort(MPI_COMM_WORLD, 3);
}

// bench_open() binds before MPI_Init if the launcher gives the rank, so the library sees the final
// core.
static Bench bench_open(int argc, char** argv, size_t max) {
  Bench bench = {
      .seconds = 0.1, .min = 1, .max = max, .window = 64, .tags = 1, .folder = "/dev/shm"};
  for (int i = 1; i < argc;) {
    if (strcmp(argv[i], "--help") == 0) bench_usage(argv[0], NULL);
    const int used = bench_option(&bench, argv[i], i + 1 < argc ? argv[i + 1] : NULL);
    if (used == 0) bench_usage(argv[0], argv[i]);
    i += used;
  }
  if (bench.window < 1 || bench.tags < 1 || bench.step == 1 || bench.seconds <= 0)
    bench_usage(argv[0], "a value below 1");
  bench_bind(bench_rank_from_launcher());
  bench_take_priority();
  bench_init(&bench);
  MPI_Comm_rank(MPI_COMM_WORLD, &bench.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &bench.ranks);
  bench_bind(bench.rank);
  return bench;
}

static int bench_close(void) {
  MPI_Finalize();
  return 0;
}

_Noreturn static void bench_fail(const Bench* bench, const char* what, size_t size) {
  fprintf(stderr, "bench: rank %d of %d: %s (%zu bytes)\n", bench->rank, bench->ranks, what, size);
  fflush(NULL);
  MPI_Abort(MPI_COMM_WORLD, 3);
  abort();
}

static inline void bench_need_ranks(const Bench* bench, int least) {
  if (bench->ranks >= least) return;
  if (bench->rank == 0)
    fprintf(stderr, "bench: needs at least %d ranks, has %d\n", least, bench->ranks);
  MPI_Finalize();
  exit(2);
}

static inline int bench_wanted(const Bench* bench, const char* name) {
  const size_t length = strlen(name);
  for (const char* at = bench->operations; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
    if (strncmp(at, name, length) == 0 && (at[length] == ',' || at[length] == '\0')) return 1;
  return bench->operations == NULL;
}

typedef void (*BenchBody)(void* state, long iterations);

static int bench_by_value(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

// The benchmark uses plain messages only, so that only the measured part of the library counts.
static inline long bench_agree(const Bench* bench, long iterations) {
  for (int r = 1; bench->rank == 0 && r < bench->ranks; ++r)
    MPI_Send(&iterations, 1, MPI_LONG, r, kControlTag, MPI_COMM_WORLD);
  if (bench->rank != 0)
    MPI_Recv(&iterations, 1, MPI_LONG, 0, kControlTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return iterations;
}

static inline double bench_batch(const Bench* bench, BenchBody body, void* state, long iterations) {
  const double start = MPI_Wtime();
  body(state, iterations);
  double slowest = MPI_Wtime() - start, other;
  for (int r = 1; bench->rank == 0 && r < bench->ranks; ++r) {
    MPI_Recv(&other, 1, MPI_DOUBLE, r, kControlTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (other > slowest) slowest = other;
  }
  if (bench->rank != 0) MPI_Send(&slowest, 1, MPI_DOUBLE, 0, kControlTag, MPI_COMM_WORLD);
  return slowest;
}

// 99th percentile, divided by the result of the last bench_time()
static double bench_tail;

// bench_time() returns seconds of one iteration on rank 0, elsewhere 0: the lower quartile of the
// batches, since disturbances only lengthen a batch (BENCH_BUSY: the mean, since disturbances are
// measured). A batch takes a sixtieth of the budget. Rank 0 alone sets the length and number of
// batches, so a slow library ends in time too.
static inline double bench_time(const Bench* bench, BenchBody body, void* state) {
  double times[kMaxBatches], sum = 0;
  const double begin = MPI_Wtime();
  long next = 1, iterations;
  int batches = 0;
  while ((iterations = bench_agree(bench, next)) > 0) {
    const double elapsed = bench_batch(bench, body, state, iterations);
    const int spent = MPI_Wtime() - begin > bench->seconds;
    if (bench->rank != 0) continue;
    if (elapsed < bench->seconds / 60 && !spent)
      next *= 2, batches = 0, sum = 0;
    else
      sum += times[batches++] = elapsed / (double)iterations;
    if ((spent && batches > 0) || batches == kMaxBatches) next = 0;
  }
  if (bench->rank != 0) return 0;
  qsort(times, (size_t)batches, sizeof *times, bench_by_value);
  const double result = bench_is_set("BENCH_BUSY") ? sum / batches : times[batches / 4];
  bench_tail = times[batches * 99 / 100] / result;
  return result;
}

static inline void bench_report(const Bench* bench, const char* name, size_t size, double value,
                                const char* unit) {
  if (bench->rank != 0) return;
  printf("%s %zu %d %.6g %s\n", name, size, bench->ranks, value, unit);
  if (bench_is_set("BENCH_BUSY") && bench_tail > 0)
    printf("%s_p99 %zu %d %.6g %s\n", name, size, bench->ranks,
           strchr(unit, '/') ? value / bench_tail : value * bench_tail, unit);
  bench_tail = 0;
  fflush(stdout);
}

// A buffer of messages has the same bytes each time (hot), or the next bytes of a pool beyond all
// caches (rotating).
typedef struct {
  char* base;
  size_t bytes, stride, next;
} BenchBuffer;

// bench_allocate() maps memory, as the C library allocates large blocks; with --heap at any size
// from the heap.
static inline void* bench_allocate(const Bench* bench, size_t bytes) {
  if (bench->heap) {
    mallopt(M_MMAP_MAX, 0);
    return aligned_alloc(kPage, bytes);
  }
  void* mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return mapped == MAP_FAILED ? NULL : mapped;
}

static inline BenchBuffer bench_buffer(const Bench* bench, size_t largest) {
  BenchBuffer buffer = {.bytes = bench->rotate > largest ? bench->rotate : largest};
  buffer.bytes = (buffer.bytes + kPage) / kPage * kPage;
  buffer.base = bench_allocate(bench, buffer.bytes);
  if (!buffer.base) bench_fail(bench, "no memory for a buffer", buffer.bytes);
  memset(buffer.base, 1, buffer.bytes);
  return buffer;
}

static inline void bench_rotate_by(BenchBuffer* buffer, const Bench* bench, size_t size) {
  buffer->stride = bench->rotate ? (size + kPage - 1) / kPage * kPage + kCacheLine : 0;
  buffer->next = 0;
}

static inline void* bench_next(BenchBuffer* buffer, size_t size) {
  if (buffer->stride == 0) return buffer->base;
  if (buffer->next + size > buffer->bytes) buffer->next = 0;
  char* at = buffer->base + buffer->next;
  buffer->next += buffer->stride;
  return at;
}

static inline unsigned char bench_pattern(size_t index, int seed) {
  return (unsigned char)(index * 31 + (index >> 8) * 7 + (size_t)seed * 101 + 1);
}

static inline void bench_fill(void* bytes, size_t size, int seed) {
  for (size_t i = 0; i < size; ++i) ((unsigned char*)bytes)[i] = bench_pattern(i, seed);
}

static inline void bench_expect(const Bench* bench, const void* bytes, size_t size, int seed,
                                const char* what) {
  for (size_t i = 0; i < size; ++i)
    if (((const unsigned char*)bytes)[i] != bench_pattern(i, seed)) bench_fail(bench, what, size);
}
