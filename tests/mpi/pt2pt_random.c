// SPDX-License-Identifier: Apache-2.0
// Random traffic over several communicators against a model computed by all ranks. Only a failure
// prints the seed.
// ranks: 1 2 3 4 8
// timeout: 120
#include "check.h"

enum { kComms = 3, kTags = 4, kMost = 300000, kBatch = 120 };

struct Message {
  int source, dest, comm, tag, bytes, mode;
  unsigned seed;
};

static MPI_Comm comms[kComms];
static unsigned long long state;

static unsigned next(unsigned below) {
  state = state * 6364136223846793005ULL + 1442695040888963407ULL;
  return (unsigned)(state >> 33) % below;
}

static int random_bytes(void) {
  static const unsigned scale[] = {2, 64, 300, 9000, 40000, kMost};
  return (int)next(scale[next(size > 4 ? 5 : 6)]);
}

static void invent(struct Message* messages, unsigned round) {
  state = 88172645463325252ULL + round * 7919ULL;
  for (int i = 0; i < kBatch; ++i) {
    struct Message* m = &messages[i];
    m->source = (int)next((unsigned)size);
    m->dest = (int)next((unsigned)size);
    m->comm = (int)next(kComms);
    m->tag = (int)next(kTags);
    m->bytes = random_bytes();
    m->mode = (int)next(3);
    m->seed = round * 1000 + (unsigned)i;
  }
}

// comms[1] reverses the ranks, to detect the use of world ranks.
static int rank_in(int comm, int world_rank) {
  return comm == 1 ? size - 1 - world_rank : world_rank;
}

static void start_send(const struct Message* m, char* buffer, MPI_Request* request) {
  const int to = rank_in(m->comm, m->dest);
  fill(buffer, (size_t)m->bytes, m->seed);
  if (m->mode == 0)
    OK(MPI_Issend(buffer, m->bytes, MPI_BYTE, to, m->tag, comms[m->comm], request));
  else
    OK(MPI_Isend(buffer, m->bytes, MPI_BYTE, to, m->tag, comms[m->comm], request));
}

static void start_receive(const struct Message* m, char* buffer, MPI_Request* request) {
  memset(buffer, 0x5a, (size_t)m->bytes + 8);
  OK(MPI_Irecv(buffer, m->bytes + 4, MPI_BYTE, rank_in(m->comm, m->source), m->tag, comms[m->comm],
               request));
}

static void check_received(const struct Message* m, const char* buffer, const MPI_Status* status) {
  check_status(status, rank_in(m->comm, m->source), m->tag, MPI_BYTE, m->bytes);
  if (first_wrong(buffer, (size_t)m->bytes, m->seed) != (size_t)m->bytes)
    FAIL("message %u from %d to %d (%d bytes) came wrong", m->seed, m->source, m->dest, m->bytes);
  CHECK(untouched(buffer, (size_t)m->bytes, (size_t)m->bytes + 8, 0x5a));
}

static void complete(int n, MPI_Request* requests, MPI_Status* statuses, unsigned how) {
  int index, flag = 0, indices[2 * kBatch], count, done = 0;
  MPI_Status some[2 * kBatch];
  if (how == 0) OK(MPI_Waitall(n, requests, statuses));
  if (how == 1)
    for (int i = n - 1; i >= 0; --i) OK(MPI_Wait(&requests[i], &statuses[i]));
  if (how == 2)
    for (; done < n; ++done) {
      OK(MPI_Waitany(n, requests, &index, &some[0]));
      statuses[index] = some[0];
    }
  if (how == 3)
    for (; done < n; done += count) {
      OK(MPI_Testsome(n, requests, &count, indices, some));
      for (int i = 0; i < count; ++i) statuses[indices[i]] = some[i];
    }
  if (how == 4)
    while (!flag) OK(MPI_Testall(n, requests, &flag, statuses));
}

static void round_of(unsigned round, char* space) {
  struct Message messages[kBatch];
  const struct Message* of[2 * kBatch];
  MPI_Request requests[2 * kBatch];
  MPI_Status statuses[2 * kBatch];
  char* buffers[2 * kBatch];
  int n = 0;
  invent(messages, round);
  const int receives_first = (int)((round + (unsigned)rank) % 2);
  for (int pass = 0; pass < 2; ++pass)
    for (int i = 0; i < kBatch; ++i) {
      const struct Message* m = &messages[i];
      const int receiving = pass != receives_first;
      if ((receiving ? m->dest : m->source) != rank) continue;
      buffers[n] = space;
      space += m->bytes + 8;
      of[n] = receiving ? m : NULL;
      receiving ? start_receive(m, buffers[n], &requests[n])
                : start_send(m, buffers[n], &requests[n]);
      ++n;
    }
  complete(n, requests, statuses, (round / 2 + (unsigned)rank) % 5);
  for (int i = 0; i < n; ++i)
    if (of[i] != NULL) check_received(of[i], buffers[i], &statuses[i]);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  comms[0] = MPI_COMM_WORLD;
  OK(MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comms[1]));
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[2]));
  char* space = malloc((size_t)2 * kBatch * (kMost + 8));
  const unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 60;
  for (unsigned round = 0; round < rounds; ++round) round_of(round, space);
  free(space);
  OK(MPI_Comm_free(&comms[1]));
  OK(MPI_Comm_free(&comms[2]));
  return end();
}
