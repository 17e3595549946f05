// SPDX-License-Identifier: Apache-2.0
// Messages with equal envelopes never overtake, in any mix of eager and rendezvous sizes.
// ranks: 1 2 4
#include "check.h"

enum { kMessages = 400, kMost = 200000 };

static int bytes_of(int i) {
  static const int sizes[] = {8, 200000, 4, 9000, 0x8001, 64, 65536, 8192, 12, 140001, 8193, 16};
  return sizes[i % 12];
}

static void send_all(char* buffer, int to, MPI_Request* requests) {
  for (int i = 0; i < kMessages; ++i) {
    if (i >= 16) OK(MPI_Wait(&requests[i - 16], MPI_STATUS_IGNORE));
    memcpy(buffer + (size_t)(i % 16) * kMost, &i, sizeof i);
    OK(MPI_Isend(buffer + (size_t)(i % 16) * kMost, bytes_of(i), MPI_BYTE, to, 7, MPI_COMM_WORLD,
                 &requests[i]));
  }
  OK(MPI_Waitall(16, requests + kMessages - 16, MPI_STATUSES_IGNORE));
}

static void receive_all(char* buffer, int from, int wild) {
  for (int i = 0; i < kMessages; ++i) {
    MPI_Status status;
    int found = -1;
    const int source = wild & 1 ? MPI_ANY_SOURCE : from, tag = wild & 2 ? MPI_ANY_TAG : 7;
    OK(MPI_Recv(buffer, kMost, MPI_BYTE, source, tag, MPI_COMM_WORLD, &status));
    memcpy(&found, buffer, sizeof found);
    CHECK_EQ(found, i);
    check_status(&status, from, 7, MPI_BYTE, bytes_of(i));
  }
}

static void receive_posted(int from) {
  enum { kPosted = 48 };
  char* buffer = malloc((size_t)kPosted * kMost);
  MPI_Request requests[kPosted];
  for (int i = 0; i < kPosted; ++i)
    OK(MPI_Irecv(buffer + (size_t)i * kMost, kMost, MPI_BYTE, i % 2 ? MPI_ANY_SOURCE : from,
                 i % 3 ? MPI_ANY_TAG : 7, MPI_COMM_WORLD, &requests[i]));
  int token = 0;
  OK(MPI_Send(&token, 1, MPI_INT, from, 8, MPI_COMM_WORLD));
  MPI_Status statuses[kPosted];
  OK(MPI_Waitall(kPosted, requests, statuses));
  for (int i = 0; i < kPosted; ++i) {
    int found = -1;
    memcpy(&found, buffer + (size_t)i * kMost, sizeof found);
    CHECK_EQ(found, i);
    check_status(&statuses[i], from, 7, MPI_BYTE, bytes_of(i));
  }
  free(buffer);
}

static void send_posted(char* buffer, int to) {
  MPI_Request requests[48];
  int token;
  OK(MPI_Recv(&token, 1, MPI_INT, to, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  for (int i = 0; i < 48; ++i) {
    memcpy(buffer + (size_t)i * kMost, &i, sizeof i);
    OK(MPI_Isend(buffer + (size_t)i * kMost, bytes_of(i), MPI_BYTE, to, 7, MPI_COMM_WORLD,
                 &requests[i]));
  }
  OK(MPI_Waitall(48, requests, MPI_STATUSES_IGNORE));
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  const int partner = rank ^ 1;
  char* out = malloc((size_t)48 * kMost);
  char* in = malloc(kMost);
  MPI_Request requests[kMessages];
  if (partner < size) {
    for (int wild = 0; wild < 4; ++wild) {
      if (rank < partner)
        send_all(out, partner, requests);
      else
        receive_all(in, partner, wild);
    }
    rank < partner ? send_posted(out, partner) : receive_posted(partner);
  }
  free(out);
  free(in);
  return end();
}
