// SPDX-License-Identifier: Apache-2.0
// Checks with place and rank of a failure, and known data. The first failure ends the job.
#ifndef TERN_TESTS_CHECK_H
#define TERN_TESTS_CHECK_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNUSED __attribute__((unused))

static int rank UNUSED, size UNUSED;

static UNUSED void (*before_abort)(void);

#define FAIL(...)                                                   \
  do {                                                              \
    fprintf(stderr, "%s:%d: [rank %d] ", __FILE__, __LINE__, rank); \
    fprintf(stderr, __VA_ARGS__);                                   \
    fprintf(stderr, "\n");                                          \
    fflush(stderr);                                                 \
    if (before_abort) before_abort();                               \
    MPI_Abort(MPI_COMM_WORLD, 1);                                   \
    abort();                                                        \
  } while (0)

#define CHECK(condition)                      \
  do {                                        \
    if (!(condition)) FAIL("%s", #condition); \
  } while (0)

#define CHECK_EQ(value, expected)                                                   \
  do {                                                                              \
    const long long value_ = (long long)(value), expected_ = (long long)(expected); \
    if (value_ != expected_)                                                        \
      FAIL("%s is %lld, expected %lld (%s)", #value, value_, expected_, #expected); \
  } while (0)

#define OK(call)                                                             \
  do {                                                                       \
    const int code_ = (call);                                                \
    if (code_ != MPI_SUCCESS) FAIL("%s gives %s", #call, error_text(code_)); \
  } while (0)

// FAILS needs an error handler that returns.
#define FAILS(call, error_class)                                                             \
  do {                                                                                       \
    const int code_ = (call);                                                                \
    if (class_of(code_) != (error_class))                                                    \
      FAIL("%s gives class %d (%s), expected %s", #call, class_of(code_), error_text(code_), \
           #error_class);                                                                    \
  } while (0)

static UNUSED const char* error_text(int code) {
  static char text[MPI_MAX_ERROR_STRING + 1];
  int length = 0;
  if (code == MPI_SUCCESS) return "MPI_SUCCESS";
  MPI_Error_string(code, text, &length);
  return text;
}

static UNUSED int class_of(int code) {
  int found = -1;
  MPI_Error_class(code, &found);
  return found;
}

static UNUSED void find_place(void) {
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
}

static UNUSED void begin(int* argc, char*** argv) {
  OK(MPI_Init(argc, argv));
  find_place();
}

static UNUSED void begin_with_threads(int* argc, char*** argv) {
  int provided = -1;
  OK(MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &provided));
  find_place();
}

static UNUSED int end(void) {
  OK(MPI_Finalize());
  return 0;
}

static UNUSED void need(int ranks) {
  if (size >= ranks) return;
  if (rank == 0) printf("needs %d ranks\n", ranks);
  MPI_Finalize();
  exit(77);
}

// The byte depends on seed and place, to detect lost, doubled and moved bytes.
static UNUSED unsigned char pattern(size_t place, unsigned seed) {
  const unsigned long long x = (place + 1) * 0x9e3779b97f4a7c15ULL + seed * 0xd1342543de82ef95ULL;
  return (unsigned char)(x >> 56 ^ x >> 31);
}

static UNUSED void fill(void* buffer, size_t bytes, unsigned seed) {
  unsigned char* at = (unsigned char*)buffer;
  for (size_t i = 0; i < bytes; ++i) at[i] = pattern(i, seed);
}

// first_wrong() returns the index of the first byte unlike fill(), or `bytes`.
static UNUSED size_t first_wrong(const void* buffer, size_t bytes, unsigned seed) {
  const unsigned char* at = (const unsigned char*)buffer;
  for (size_t i = 0; i < bytes; ++i)
    if (at[i] != pattern(i, seed)) return i;
  return bytes;
}

#define CHECK_FILLED(buffer, bytes, seed)                                                        \
  do {                                                                                           \
    const size_t bytes_ = (bytes), wrong_ = first_wrong(buffer, bytes_, seed);                   \
    if (wrong_ != bytes_)                                                                        \
      FAIL("%s: byte %zu of %zu is wrong (seed %u)", #buffer, wrong_, bytes_, (unsigned)(seed)); \
  } while (0)

static UNUSED int untouched(const void* buffer, size_t from, size_t to, int value) {
  const unsigned char* at = (const unsigned char*)buffer;
  for (size_t i = from; i < to; ++i)
    if (at[i] != (unsigned char)value) return 0;
  return 1;
}

#define check_status(status, source, tag, type, count)                                     \
  do {                                                                                     \
    const MPI_Status* const of_ = (status);                                                \
    int found_ = -1;                                                                       \
    if (of_->MPI_SOURCE != (source) || of_->MPI_TAG != (tag))                              \
      FAIL("%s has source %d and tag %d, expected %d and %d", #status, of_->MPI_SOURCE,    \
           of_->MPI_TAG, (source), (tag));                                                 \
    OK(MPI_Get_count(of_, type, &found_));                                                 \
    if (found_ != (count)) FAIL("%s has count %d, expected %d", #status, found_, (count)); \
  } while (0)

static const int kSizes[] UNUSED = {
    0,     1,     3,     8,      15,     31,     47,     48,      49,      63,      64,     65,
    127,   128,   1000,  1023,   1024,   1025,   2047,   2049,    4095,    4096,    4097,   8143,
    8144,  8145,  8191,  8192,   8193,   12345,  16383,  16384,   16385,   32767,   32768,  32769,
    65535, 65536, 65537, 131071, 131072, 131073, 262147, 1000003, 4194303, 4194304, 4194305};
enum { kSizeCount = sizeof kSizes / sizeof kSizes[0], kLargest = 4194305 };

#endif
