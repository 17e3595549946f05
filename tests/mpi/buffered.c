// SPDX-License-Identifier: Apache-2.0
// Buffered sends: early completion, reuse of space, a full buffer, buffers of communicators, detach
// and flush.
// ranks: 1 2 3
// env: TERN_TEST=net_eager=8k
#include "check.h"

enum { kInts = 1000, kMessages = 20 };

static int data[kInts];
static char memory[kMessages * (kInts * sizeof(int) + MPI_BSEND_OVERHEAD)];

static void set(int seed) {
  for (int i = 0; i < kInts; ++i) data[i] = seed * 7919 + i;
}

static void take(int from, int tag, int seed, MPI_Comm comm) {
  static int got[kInts];
  MPI_Status status;
  OK(MPI_Recv(got, kInts, MPI_INT, from, tag, comm, &status));
  int count;
  OK(MPI_Get_count(&status, MPI_INT, &count));
  CHECK_EQ(count, kInts);
  for (int i = 0; i < kInts; ++i) CHECK_EQ(got[i], seed * 7919 + i);
}

static void send_all_first(MPI_Comm comm, int rounds) {
  int size_, rank_;
  OK(MPI_Comm_size(comm, &size_));
  OK(MPI_Comm_rank(comm, &rank_));
  const int right = (rank_ + 1) % size_, left = (rank_ + size_ - 1) % size_;
  for (int round = 0; round < rounds; ++round) {
    MPI_Request request;
    for (int i = 0; i < kMessages; ++i) {
      set(i);
      if (i % 2 == 0) {
        OK(MPI_Bsend(data, kInts, MPI_INT, right, i, comm));
      } else {
        int flag = 0;
        OK(MPI_Ibsend(data, kInts, MPI_INT, right, i, comm, &request));
        OK(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
        CHECK_EQ(flag, 1);
      }
    }
    set(-1);
    for (int i = kMessages - 1; i >= 0; --i) take(left, i, i, comm);
    MPI_Barrier(comm);
  }
}

static void check_attach_and_detach(void) {
  void* address = NULL;
  int bytes = 0;
  FAILS(MPI_Bsend(data, 1, MPI_INT, rank, 0, MPI_COMM_WORLD), MPI_ERR_BUFFER);
  FAILS(MPI_Buffer_detach(&address, &bytes), MPI_ERR_BUFFER);
  OK(MPI_Buffer_attach(memory, sizeof memory));
  FAILS(MPI_Buffer_attach(memory, sizeof memory), MPI_ERR_BUFFER);
  send_all_first(MPI_COMM_WORLD, 3);
  OK(MPI_Buffer_detach(&address, &bytes));
  CHECK(address == memory);
  CHECK_EQ(bytes, sizeof memory);
}

static void check_no_room(void) {
  static char large[100000], got[100000], small[150000 + MPI_BSEND_OVERHEAD];
  void* address;
  int bytes;
  if (size > 1 && rank > 1) return;
  const int other = size == 1 ? 0 : 1 - rank;
  OK(MPI_Buffer_attach(small, sizeof small));
  fill(large, sizeof large, 5);
  if (rank == 0) {
    OK(MPI_Bsend(large, sizeof large, MPI_BYTE, other, 1, MPI_COMM_WORLD));
    FAILS(MPI_Bsend(large, sizeof large, MPI_BYTE, other, 2, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    if (size > 1) OK(MPI_Send(NULL, 0, MPI_BYTE, other, 4, MPI_COMM_WORLD));
  }
  if (size == 1 || rank == 1) {
    if (size > 1) OK(MPI_Recv(NULL, 0, MPI_BYTE, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    OK(MPI_Recv(got, sizeof got, MPI_BYTE, size == 1 ? 0 : 0, 1, MPI_COMM_WORLD,
                MPI_STATUS_IGNORE));
    CHECK_FILLED(got, sizeof got, 5);
  }
  OK(MPI_Buffer_flush());
  if (rank == 0) OK(MPI_Bsend(large, sizeof large, MPI_BYTE, other, 3, MPI_COMM_WORLD));
  if (size == 1 || rank == 1)
    OK(MPI_Recv(got, sizeof got, MPI_BYTE, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  OK(MPI_Buffer_detach(&address, &bytes));
}

// The buffer fits exactly these messages. After a barrier the next sends find free space, although
// the sender made no other call.
static void check_reclaim(void) {
  enum { kLarge = 3, kBytes = 4 << 20 };
  if (size == 1) return;
  static char large[kBytes];
  const size_t room = kLarge * (kBytes + MPI_BSEND_OVERHEAD);
  char* const buffer = malloc(room);
  void* address;
  int bytes;
  if (rank == 0) OK(MPI_Buffer_attach(buffer, (int)room));
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < kLarge; ++i) {
      if (rank == 0) OK(MPI_Bsend(large, kBytes, MPI_BYTE, 1, i, MPI_COMM_WORLD));
      if (rank == 1) OK(MPI_Recv(large, kBytes, MPI_BYTE, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }
  if (rank == 0) OK(MPI_Buffer_detach(&address, &bytes));
  free(buffer);
}

static void check_automatic(void) {
  void* address;
  int bytes = -1;
  OK(MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0));
  send_all_first(MPI_COMM_WORLD, 2);
  OK(MPI_Buffer_detach(&address, &bytes));
  CHECK(address == MPI_BUFFER_AUTOMATIC);
  CHECK_EQ(bytes, 0);
}

static void check_communicators(void) {
  MPI_Comm own;
  MPI_Request flushed;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &own));
  OK(MPI_Comm_attach_buffer(own, memory, sizeof memory));
  send_all_first(own, 2);
  OK(MPI_Comm_flush_buffer(own));
  OK(MPI_Comm_iflush_buffer(own, &flushed));
  OK(MPI_Wait(&flushed, MPI_STATUS_IGNORE));
  FAILS(MPI_Bsend(data, 1, MPI_INT, rank, 0, MPI_COMM_WORLD), MPI_ERR_BUFFER);
  OK(MPI_Comm_free(&own));
  memset(memory, 0, sizeof memory);
}

static void check_persistent(void) {
  MPI_Request request;
  void* address;
  int bytes;
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  OK(MPI_Buffer_attach(memory, sizeof memory));
  OK(MPI_Bsend_init(data, kInts, MPI_INT, right, 9, MPI_COMM_WORLD, &request));
  for (int i = 0; i < 5; ++i) {
    set(100 + i);
    OK(MPI_Start(&request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    set(0);
    take(left, 9, 100 + i, MPI_COMM_WORLD);
  }
  OK(MPI_Request_free(&request));
  OK(MPI_Bsend(data, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD));
  OK(MPI_Buffer_detach(&address, &bytes));
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  check_attach_and_detach();
  check_no_room();
  MPI_Barrier(MPI_COMM_WORLD);
  check_reclaim();
  check_automatic();
  check_communicators();
  check_persistent();
  OK(MPI_Buffer_attach(memory, sizeof memory));
  set(3);
  OK(MPI_Bsend(data, kInts, MPI_INT, (rank + 1) % size, 4, MPI_COMM_WORLD));
  take((rank + size - 1) % size, 4, 3, MPI_COMM_WORLD);
  return end();
}
