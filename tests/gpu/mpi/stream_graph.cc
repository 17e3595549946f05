// SPDX-License-Identifier: Apache-2.0
// Enqueued operations in graphs: a capture runs nothing, and each of a thousand launches uses
// current data. A graph may outlive its communicator. Calls unsuitable for a capture fail, and the
// capture stays valid.
// ranks: 1 2 3
// configurations: 1 4-peers 2-apart jitter queue-peers
// timeout: 120
#include <string>

#include "settings.hpp"
#include "stream.hpp"

using namespace tern::test;

namespace {

constexpr int kReplays = 1000;

/// In PyTorch's capture mode no thread may make an unsafe call.
class Graph {
 public:
  explicit Graph(CUstream queue) : queue_(queue) {
    CU(cuStreamBeginCapture_v2(queue, CU_STREAM_CAPTURE_MODE_GLOBAL));
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  void end() {
    CU(cuStreamEndCapture(queue_, &graph_));
    CU(cuGraphInstantiateWithFlags(&exec_, graph_, 0));
    CU(cuGraphDestroy(graph_));
  }
  void launch() const { CU(cuGraphLaunch(exec_, queue_)); }
  ~Graph() { CU(cuGraphExecDestroy(exec_)); }

 private:
  CUstream queue_;
  CUgraph graph_ = nullptr;
  CUgraphExec exec_ = nullptr;
};

class Step {
 public:
  Step(const OnStream& on, int count)
      : on_(on), count_(count), mine_(n()), sum_(n()), right_(n()), left_(n()), all_(n()) {}
  void enqueue() {
    const int to = (rank + 1) % size, from = (rank + size - 1) % size;
    MPI_Request requests[2];
    mine_.put(on_.queue);
    right_.put(on_.queue);
    all_.put(on_.queue);
    OK(MPIX_Allreduce_enqueue(mine_.on_device(), sum_.on_device(), count_, MPI_INT, MPI_SUM,
                              on_.comm));
    OK(MPIX_Irecv_enqueue(left_.on_device(), count_, MPI_INT, from, 1, on_.comm, &requests[0]));
    OK(MPIX_Isend_enqueue(right_.on_device(), count_, MPI_INT, to, 1, on_.comm, &requests[1]));
    OK(MPIX_Waitall_enqueue(2, requests, MPI_STATUSES_IGNORE));
    OK(MPIX_Bcast_enqueue(all_.on_device(), count_, MPI_INT, size - 1, on_.comm));
    sum_.get(on_.queue);
    left_.get(on_.queue);
    all_.get(on_.queue);
  }
  void set(int round) {
    for (int i = 0; i < count_; ++i) {
      const auto at = static_cast<size_t>(i);
      mine_[at] = round + i + rank;
      right_[at] = round * 3 + i + rank;
      all_[at] = rank == size - 1 ? round * 5 + i : -1;
      left_[at] = -2;
    }
  }
  void check(int round, const char* what) {
    const int from = (rank + size - 1) % size, ranks = size * (size - 1) / 2;
    for (int i = 0; i < count_; ++i) {
      const auto at = static_cast<size_t>(i);
      if (sum_[at] != size * (round + i) + ranks || left_[at] != round * 3 + i + from ||
          all_[at] != round * 5 + i)
        FAIL("%s of %d, round %d, element %d: sum %d, from the left %d, broadcast %d", what, count_,
             round, i, sum_[at], left_[at], all_[at]);
    }
  }
  [[nodiscard]] const OnStream& on() const { return on_; }

 private:
  [[nodiscard]] size_t n() const { return static_cast<size_t>(count_); }
  const OnStream& on_;
  int count_;
  Vector<int> mine_, sum_, right_, left_, all_;
};

void replay(const OnStream& on) {
  Step small(on, 3), large(on, 2500), eager(on, 700);
  small.set(-1);
  Graph first(on.queue);
  small.enqueue();
  first.end();
  Graph second(on.queue);
  large.enqueue();
  second.end();
  for (int round = 0; round < kReplays; ++round) {
    small.set(round);
    first.launch();
    if (round % 7 == 0) {
      large.set(round);
      second.launch();
    }
    if (round % 5 == 0) {
      eager.set(round);
      eager.enqueue();
    }
    on.sync();
    small.check(round, "the first graph");
    if (round % 7 == 0) large.check(round, "the second graph");
    if (round % 5 == 0) eager.check(round, "eager calls");
  }
  small.set(7);
  for (int i = 0; i < 20; ++i) first.launch();
  on.sync();
  small.check(7, "the last of many launches");
}

void free_under_graph() {
  OnStream on;
  Step step(on, 300);
  Graph graph(on.queue);
  step.enqueue();
  graph.end();
  OK(MPI_Comm_free(&on.comm));
  OK(MPIX_Stream_free(&on.stream));
  for (int round = 0; round < 20; ++round) {
    step.set(round);
    graph.launch();
    on.sync();
    step.check(round, "a graph whose communicator was freed");
  }
}

void refused_requests(const OnStream& on) {
  Vector<int> data(4);
  for (size_t i = 0; i < 4; ++i) data[i] = 1;
  OK(MPI_Comm_set_errhandler(on.comm, MPI_ERRORS_RETURN));
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  MPI_Request outside = MPI_REQUEST_NULL, inside = MPI_REQUEST_NULL;
  OK(MPIX_Irecv_enqueue(data.on_device(), 4, MPI_INT, rank, 0, on.comm, &outside));
  {
    Graph graph(on.queue);
    FAILS(MPIX_Wait_enqueue(&outside, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
    CHECK(std::string(error_text(MPI_ERR_REQUEST)).find("before the stream's capture") !=
          std::string::npos);
    OK(MPIX_Isend_enqueue(data.on_device(), 4, MPI_INT, rank, 1, on.comm, &inside));
    OK(MPIX_Wait_enqueue(&inside, MPI_STATUS_IGNORE));
    OK(MPIX_Allreduce_enqueue(MPI_IN_PLACE, data.on_device(), 4, MPI_INT, MPI_MAX, on.comm));
    graph.end();
  }
  OK(MPIX_Send_enqueue(data.on_device(), 4, MPI_INT, rank, 0, on.comm));
  OK(MPIX_Wait_enqueue(&outside, MPI_STATUS_IGNORE));
  on.sync();
}

}  // namespace

int main(int argc, char** argv) {
  set_for_test("stream_chunk", "4096");
  begin(&argc, &argv);
  start_cuda();
  const auto before = alive();
  {
    const OnStream on;
    replay(on);
    refused_requests(on);
  }
  free_under_graph();
  end();
  check_alive(before);
  return 0;
}
