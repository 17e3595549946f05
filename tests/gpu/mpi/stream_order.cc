// SPDX-License-Identifier: Apache-2.0
// Enqueued operations follow stream order, without a wait in any call.
// ranks: 1 2 3
// configurations: 1 4-peers 2-apart jitter 13.1
#include "settings.hpp"
#include "stream.hpp"

using namespace tern::test;

namespace {

constexpr int kCounts[] = {0, 1, 3, 1000, 8191, 8192, 8193, 50001};

double value(int of, int i, int round) { return of * 3 + i % 1000 + round; }

void allreduce(const OnStream& on, int count, int round, bool in_place) {
  Vector<double> send(static_cast<size_t>(count)), recv(static_cast<size_t>(count));
  Vector<double>& mine = in_place ? recv : send;
  for (int i = 0; i < count; ++i) mine[static_cast<size_t>(i)] = value(rank, i, round);
  mine.put(on.queue);
  if (in_place)
    OK(MPIX_Allreduce_enqueue(MPI_IN_PLACE, recv.on_device(), count, MPI_DOUBLE, MPI_SUM, on.comm));
  else
    OK(MPIX_Allreduce_enqueue(send.on_device(), recv.on_device(), count, MPI_DOUBLE, MPI_SUM,
                              on.comm));
  send.spoil(on.queue);
  recv.get(on.queue);
  recv.spoil(on.queue);
  on.sync();
  for (int i = 0; i < count; ++i) {
    double sum = 0;
    for (int of = 0; of < size; ++of) sum += value(of, i, round);
    if (recv[static_cast<size_t>(i)] != sum)
      FAIL("allreduce of %d, round %d, in place %d: element %d is %g, expected %g", count, round,
           in_place, i, recv[static_cast<size_t>(i)], sum);
  }
}

void broadcast(const OnStream& on, int count, int root) {
  Vector<int> data(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) data[static_cast<size_t>(i)] = rank == root ? i * 7 + root : -1;
  data.put(on.queue);
  OK(MPIX_Bcast_enqueue(data.on_device(), count, MPI_INT, root, on.comm));
  data.get(on.queue);
  data.spoil(on.queue);
  on.sync();
  for (int i = 0; i < count; ++i)
    if (data[static_cast<size_t>(i)] != i * 7 + root)
      FAIL("bcast of %d from %d: element %d is %d", count, root, i, data[static_cast<size_t>(i)]);
}

void messages(const OnStream& on, int count, bool nonblocking) {
  const int room = count + 5, right = (rank + 1) % size, left = (rank + size - 1) % size;
  Vector<int> send(static_cast<size_t>(count)), recv(static_cast<size_t>(room));
  for (int i = 0; i < count; ++i) send[static_cast<size_t>(i)] = rank * 100000 + i;
  for (int i = 0; i < room; ++i) recv[static_cast<size_t>(i)] = -7;
  send.put(on.queue);
  recv.put(on.queue);
  MPI_Status statuses[2];
  if (nonblocking) {
    MPI_Request requests[2];
    OK(MPIX_Irecv_enqueue(recv.on_device(), room, MPI_INT, left, 3, on.comm, &requests[0]));
    OK(MPIX_Isend_enqueue(send.on_device(), count, MPI_INT, right, 3, on.comm, &requests[1]));
    OK(MPIX_Waitall_enqueue(2, requests, statuses));
    CHECK(requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL);
  } else if (rank == 0) {
    OK(MPIX_Send_enqueue(send.on_device(), count, MPI_INT, right, 3, on.comm));
    OK(MPIX_Recv_enqueue(recv.on_device(), room, MPI_INT, left, 3, on.comm, &statuses[0]));
  } else {
    OK(MPIX_Recv_enqueue(recv.on_device(), room, MPI_INT, left, 3, on.comm, &statuses[0]));
    OK(MPIX_Send_enqueue(send.on_device(), count, MPI_INT, right, 3, on.comm));
  }
  send.spoil(on.queue);
  recv.get(on.queue);
  recv.spoil(on.queue);
  on.sync();
  check_status(&statuses[0], left, 3, MPI_INT, count);
  for (int i = 0; i < room; ++i)
    if (recv[static_cast<size_t>(i)] != (i < count ? left * 100000 + i : -7))
      FAIL("message of %d (nonblocking %d): element %d is %d", count, nonblocking, i,
           recv[static_cast<size_t>(i)]);
}

}  // namespace

int main(int argc, char** argv) {
  set_for_test("stream_chunk", "65536");
  begin(&argc, &argv);
  start_cuda();
  {
    const OnStream on;
    int round = 0;
    for (const int count : kCounts) {
      allreduce(on, count, ++round, false);
      allreduce(on, count, ++round, true);
      broadcast(on, count, round % size);
      if (size > 1 || count < 1000) messages(on, count, true);
      if (size > 1) messages(on, count, false);
    }
    OK(MPIX_Barrier_enqueue(on.comm));
  }
  return end();
}
