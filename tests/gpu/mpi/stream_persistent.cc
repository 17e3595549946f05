// SPDX-License-Identifier: Apache-2.0
// Streams start persistent requests repeatedly, also in a graph, and mark partitions ready.
// Unsuitable requests are refused with the reason.
// ranks: 1 2 3
// configurations: 1 4-peers 2-apart jitter
// queues: many, started operations of several streams wait in different orders
// timeout: 120
#include <vector>

#include "settings.hpp"
#include "stream.hpp"

using namespace tern::test;

namespace {

constexpr int kRounds = 20, kReplays = 200;

int element(int of, int i, int round) { return of * 100000 + i + 7 * round; }

void fill(Vector<int>& data, int count, int of, int round) {
  for (int i = 0; i < count; ++i) data[static_cast<size_t>(i)] = element(of, i, round);
}

void check(Vector<int>& data, int count, int of, int round, const char* what) {
  for (int i = 0; i < count; ++i)
    if (data[static_cast<size_t>(i)] != element(of, i, round))
      FAIL("%s, round %d: element %d of %d is %d, expected %d", what, round, i, count,
           data[static_cast<size_t>(i)], element(of, i, round));
}

class Ring {
 public:
  Ring(const OnStream& on, int count, bool synchronous)
      : on_(on), count_(count), out_(n()), in_(n()) {
    OK(MPI_Recv_init(in_.on_device(), count, MPI_INT, left(), 3, on.comm, &requests_[0]));
    OK((synchronous ? MPI_Ssend_init : MPI_Send_init)(out_.on_device(), count, MPI_INT, right(), 3,
                                                      on.comm, &requests_[1]));
    OK(MPI_Send_init(out_.on_device(), count, MPI_INT, MPI_PROC_NULL, 3, on.comm, &requests_[2]));
  }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;
  ~Ring() {
    for (MPI_Request& request : requests_) OK(MPI_Request_free(&request));
  }
  void enqueue() {
    out_.put(on_.queue);
    for (MPI_Request& request : requests_) OK(MPIX_Start_enqueue(&request));
    OK(MPIX_Waitall_enqueue(3, requests_, statuses_));
    for (const MPI_Request request : requests_) CHECK(request != MPI_REQUEST_NULL);
    out_.spoil(on_.queue);
    in_.get(on_.queue);
    in_.spoil(on_.queue);
  }
  void fill_in(int round) { fill(out_, count_, rank, round); }
  void check_round(int round) {
    check(in_, count_, left(), round, "a persistent message");
    check_status(&statuses_[0], left(), 3, MPI_INT, count_);
  }
  void run(int round) {
    fill_in(round);
    enqueue();
    on_.sync();
    check_round(round);
  }
  void run_by_the_host(int round) {
    fill_in(round);
    out_.put(on_.queue);
    on_.sync();
    OK(MPI_Startall(3, requests_));
    OK(MPI_Waitall(3, requests_, MPI_STATUSES_IGNORE));
    in_.get(on_.queue);
    on_.sync();
    check_round(round);
  }

 private:
  [[nodiscard]] size_t n() const { return static_cast<size_t>(count_); }
  static int left() { return (rank + size - 1) % size; }
  static int right() { return (rank + 1) % size; }
  const OnStream& on_;
  const int count_;
  Vector<int> out_, in_;
  MPI_Request requests_[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Status statuses_[3] = {};
};

void messages(const OnStream& on, int count, bool synchronous) {
  Ring ring(on, count, synchronous);
  for (int round = 0; round < kRounds; ++round)
    round % 5 == 4 ? ring.run_by_the_host(round) : ring.run(round);
}

void replayed(const OnStream& on) {
  constexpr int kCount = 300;
  Ring ring(on, kCount, false);
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  CU(cuStreamBeginCapture_v2(on.queue, CU_STREAM_CAPTURE_MODE_GLOBAL));
  ring.enqueue();
  CU(cuStreamEndCapture(on.queue, &graph));
  CU(cuGraphInstantiateWithFlags(&exec, graph, 0));
  CU(cuGraphDestroy(graph));
  for (int round = 0; round < kReplays; ++round) {
    if (round % 50 == 49) {
      ring.run(round);
      continue;
    }
    ring.fill_in(round);
    CU(cuGraphLaunch(exec, on.queue));
    on.sync();
    ring.check_round(round);
  }
  CU(cuGraphExecDestroy(exec));
}

void collectives(const OnStream& on, int count) {
  const auto n = static_cast<size_t>(count), all = n * static_cast<size_t>(size);
  Vector<int> mine(n), sum(n), from_root(n), gathered(all), summed(all);
  std::vector<int> counts(static_cast<size_t>(size), count);
  MPI_Request requests[4];
  OK(MPI_Allreduce_init(mine.on_device(), sum.on_device(), count, MPI_INT, MPI_MAX, on.comm,
                        MPI_INFO_NULL, &requests[0]));
  OK(MPI_Bcast_init(from_root.on_device(), count, MPI_INT, size - 1, on.comm, MPI_INFO_NULL,
                    &requests[1]));
  OK(MPI_Allgather_init(mine.on_device(), count, MPI_INT, gathered.on_device(), count, MPI_INT,
                        on.comm, MPI_INFO_NULL, &requests[2]));
  OK(MPI_Reduce_scatter_init(MPI_IN_PLACE, summed.on_device(), counts.data(), MPI_INT, MPI_MAX,
                             on.comm, MPI_INFO_NULL, &requests[3]));
  counts.assign(counts.size(), -1);
  for (int round = 0; round < kRounds; ++round) {
    fill(mine, count, rank, round);
    fill(from_root, count, rank, round);
    for (size_t i = 0; i < all; ++i) summed[i] = element(rank, static_cast<int>(i), round);
    for (const Vector<int>* data : {&mine, &from_root, &summed}) data->put(on.queue);
    for (MPI_Request& request : requests) OK(MPIX_Start_enqueue(&request));
    if (round % 2 == 0) OK(MPIX_Waitall_enqueue(4, requests, MPI_STATUSES_IGNORE));
    for (const Vector<int>* data : {&sum, &from_root, &gathered, &summed}) data->get(on.queue);
    on.sync();
    check(sum, count, size - 1, round, "allreduce");
    check(from_root, count, size - 1, round, "bcast");
    for (int of = 0; of < size; ++of)
      for (int i = 0; i < count; ++i)
        CHECK_EQ(gathered[static_cast<size_t>(of) * n + static_cast<size_t>(i)],
                 element(of, i, round));
    for (int i = 0; i < count; ++i)
      CHECK_EQ(summed[static_cast<size_t>(i)], element(size - 1, rank * count + i, round));
  }
  for (MPI_Request& request : requests) OK(MPI_Request_free(&request));
}

void partitions(const OnStream& on, int count) {
  constexpr int kParts = 8;
  if (size == 1) return;
  const auto n = static_cast<size_t>(count);
  std::vector<Vector<int>> parts;
  for (int i = 0; i < kParts; ++i) parts.emplace_back(n);
  const Vector<int> whole(n * kParts);
  Vector<int> arrived(n * kParts);
  MPI_Request requests[2];
  OK(MPI_Psend_init(whole.on_device(), kParts, count, MPI_INT, (rank + 1) % size, 5, on.comm,
                    MPI_INFO_NULL, &requests[0]));
  OK(MPI_Precv_init(arrived.on_device(), kParts, count, MPI_INT, (rank + size - 1) % size, 5,
                    on.comm, MPI_INFO_NULL, &requests[1]));
  for (int round = 0; round < kRounds; ++round) {
    OK(MPI_Startall(2, requests));
    for (int i = 0; i < kParts; ++i) {
      const int part = (i * 5 + round) % kParts;
      fill(parts[static_cast<size_t>(part)], count, rank, round + part);
      const auto at =
          reinterpret_cast<CUdeviceptr>(whole.on_device() + n * static_cast<size_t>(part));
      CU(cuMemcpyHtoDAsync_v2(at, &parts[static_cast<size_t>(part)][0], n * sizeof(int), on.queue));
      OK(MPIX_Pready_enqueue(part, requests[0]));
    }
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    arrived.get(on.queue);
    on.sync();
    for (int part = 0; part < kParts; ++part)
      for (int i = 0; i < count; ++i)
        CHECK_EQ(arrived[n * static_cast<size_t>(part) + static_cast<size_t>(i)],
                 element((rank + size - 1) % size, i, round + part));
  }
  for (MPI_Request& request : requests) OK(MPI_Request_free(&request));
}

void refused_starts(const OnStream& on) {
  Vector<int> data(4);
  int* const at = data.on_device();
  MPI_Request request = MPI_REQUEST_NULL;
  OK(MPI_Recv_init(at, 4, MPI_INT, rank, 1, MPI_COMM_WORLD, &request));
  SAYS(MPIX_Start_enqueue(&request), MPI_ERR_REQUEST, "MPIX_Stream_comm_create");
  OK(MPI_Request_free(&request));
  OK(MPI_Irecv(at, 4, MPI_INT, rank, 1, on.comm, &request));
  SAYS(MPIX_Start_enqueue(&request), MPI_ERR_REQUEST, "not persistent");
  OK(MPI_Cancel(&request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  OK(MPI_Bsend_init(at, 4, MPI_INT, rank, 1, on.comm, &request));
  SAYS(MPIX_Start_enqueue(&request), MPI_ERR_REQUEST, "a stream cannot start");
  OK(MPI_Request_free(&request));
  OK(MPI_Recv_init(at, 4, MPI_INT, rank, 1, on.comm, &request));
  OK(MPIX_Start_enqueue(&request));
  SAYS(MPIX_Start_enqueue(&request), MPI_ERR_REQUEST, "call MPIX_Wait_enqueue before");
  OK(MPIX_Send_enqueue(at, 4, MPI_INT, rank, 1, on.comm));
  OK(MPIX_Wait_enqueue(&request, MPI_STATUS_IGNORE));
  on.sync();
  OK(MPI_Start(&request));
  SAYS(MPIX_Start_enqueue(&request), MPI_ERR_REQUEST, "MPI_Start");
  OK(MPI_Cancel(&request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  OK(MPI_Request_free(&request));
}

void neighbours(const OnStream& on) {
  Vector<int> data(2);
  MPI_Comm loop = MPI_COMM_NULL;
  OK(MPI_Dist_graph_create_adjacent(on.comm, 1, &rank, MPI_UNWEIGHTED, 1, &rank, MPI_UNWEIGHTED,
                                    MPI_INFO_NULL, 0, &loop));
  {
    const OnStream beside(loop);
    OK(MPI_Comm_set_errhandler(beside.comm, MPI_ERRORS_RETURN));
    MPI_Request request = MPI_REQUEST_NULL;
    OK(MPI_Neighbor_allgather_init(data.on_device(), 1, MPI_INT, data.on_device() + 1, 1, MPI_INT,
                                   beside.comm, MPI_INFO_NULL, &request));
    for (int round = 0; round < 3; ++round) {
      data[0] = 17 + round;
      data[1] = -1;
      data.put(beside.queue);
      OK(MPIX_Start_enqueue(&request));
      data.get(beside.queue);
      beside.sync();
      CHECK_EQ(data[1], 17 + round);
    }
    OK(MPI_Request_free(&request));
  }
  OK(MPI_Comm_free(&loop));
}

void refused_partitions(const OnStream& on) {
  Vector<int> data(4);
  MPI_Request requests[2];
  OK(MPI_Psend_init(data.on_device(), 2, 2, MPI_INT, rank, 1, on.comm, MPI_INFO_NULL,
                    &requests[0]));
  OK(MPI_Precv_init(data.on_device(), 2, 2, MPI_INT, rank, 1, on.comm, MPI_INFO_NULL,
                    &requests[1]));
  SAYS(MPIX_Start_enqueue(&requests[0]), MPI_ERR_REQUEST, "partitioned");
  SAYS(MPIX_Pready_enqueue(2, requests[0]), MPI_ERR_ARG, "partition is 2");
  SAYS(MPIX_Pready_enqueue(0, requests[1]), MPI_ERR_REQUEST, "MPI_Psend_init");
  OK(MPIX_Pready_enqueue(0, requests[0]));
  on.sync();
  SAYS(MPIX_Pready_enqueue(0, requests[0]), MPI_ERR_REQUEST, "not active");
  OK(MPI_Startall(2, requests));
  OK(MPIX_Pready_enqueue(0, requests[0]));
  OK(MPIX_Pready_enqueue(0, requests[0]));
  on.sync();
  SAYS(MPIX_Pready_enqueue(1, requests[0]), MPI_ERR_ARG, "already marked ready");
  OK(MPIX_Pready_enqueue(1, requests[0]));
  OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  for (MPI_Request& request : requests) OK(MPI_Request_free(&request));
}

void left_behind() {
  MPI_Request request = MPI_REQUEST_NULL;
  Vector<int> data(4);
  {
    const OnStream on;
    OK(MPI_Comm_set_errhandler(on.comm, MPI_ERRORS_RETURN));
    OK(MPI_Recv_init(data.on_device(), 4, MPI_INT, rank, 1, on.comm, &request));
    CUgraph graph = nullptr;
    CU(cuStreamBeginCapture_v2(on.queue, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(MPIX_Start_enqueue(&request));
    CU(cuStreamEndCapture(on.queue, &graph));
    CU(cuGraphDestroy(graph));
    OK(MPIX_Start_enqueue(&request));
    OK(MPIX_Send_enqueue(data.on_device(), 4, MPI_INT, rank, 1, on.comm));
    OK(MPIX_Wait_enqueue(&request, MPI_STATUS_IGNORE));
    on.sync();
  }
  SAYS(MPIX_Start_enqueue(&request), MPI_ERR_COMM, "freed");
  OK(MPI_Request_free(&request));
}

}  // namespace

int main(int argc, char** argv) {
  set_for_test("stream_chunk", "65536");
  begin(&argc, &argv);
  start_cuda();
  {
    const OnStream on;
    OK(MPI_Comm_set_errhandler(on.comm, MPI_ERRORS_RETURN));
    for (const MPI_Comm comm : {MPI_COMM_WORLD, MPI_COMM_SELF})
      OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    for (const int count : {0, 1, 1000, 50001}) {
      messages(on, count, false);
      messages(on, count, true);
      collectives(on, count);
      partitions(on, count);
    }
    replayed(on);
    refused_starts(on);
    neighbours(on);
    refused_partitions(on);
  }
  left_behind();
  return end();
}
