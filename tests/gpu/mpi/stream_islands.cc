// SPDX-License-Identifier: Apache-2.0
// Ranks on two linked pairs of GPUs: large enqueued allreduces and broadcasts, in place, from each
// root, with odd counts, in graphs. Only each rank's part passes through the host. All ranks get
// the name of a rank without the call.
// ranks: 4 3
// configurations: islands islands-crossed
// timeout: 60
#include "stream.hpp"
#include "trace.hpp"

using namespace tern::test;

namespace {

struct Data {
  explicit Data(int ints)
      : count(ints), in(static_cast<size_t>(ints)), out(static_cast<size_t>(ints)) {}
  void put(const OnStream& on, int seed) {
    for (int i = 0; i < count; ++i) {
      in[static_cast<size_t>(i)] = i % 1000 + rank * 7 + seed;
      out[static_cast<size_t>(i)] = i % 1000 + rank * 7 + seed;
    }
    in.put(on.queue);
    out.put(on.queue);
  }
  void check(const OnStream& on, const char* what, int seed, int factor, int of_ranks) {
    out.get(on.queue);
    on.sync();
    for (int i = 0; i < count; ++i) {
      const int want = factor * (i % 1000 + seed) + of_ranks;
      if (out[static_cast<size_t>(i)] != want)
        FAIL("%s of %d: element %d is %d, expected %d", what, count, i, out[static_cast<size_t>(i)],
             want);
    }
  }
  void check_sum(const OnStream& on, const char* what, int seed) {
    check(on, what, seed, size, 7 * size * (size - 1) / 2);
  }
  int count;
  Vector<int> in, out;
};

void eager(const OnStream& on, int count) {
  Data data(count);
  data.put(on, 1);
  OK(MPIX_Allreduce_enqueue(data.in.on_device(), data.out.on_device(), count, MPI_INT, MPI_SUM,
                            on.comm));
  data.check_sum(on, "a sum", 1);
  data.put(on, 2);
  OK(MPIX_Allreduce_enqueue(MPI_IN_PLACE, data.out.on_device(), count, MPI_INT, MPI_SUM, on.comm));
  data.check_sum(on, "a sum in place", 2);
  for (int root = 0; root < size; ++root) {
    data.put(on, 3);
    OK(MPIX_Bcast_enqueue(data.out.on_device(), count, MPI_INT, root, on.comm));
    OK(MPIX_Barrier_enqueue(on.comm));
    data.check(on, "a broadcast", 3, 1, 7 * root);
  }
}

void in_graph(const OnStream& on, int count) {
  Data data(count), other(count / 2);
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  CU(cuStreamBeginCapture_v2(on.queue, CU_STREAM_CAPTURE_MODE_GLOBAL));
  OK(MPIX_Allreduce_enqueue(data.in.on_device(), data.out.on_device(), count, MPI_INT, MPI_SUM,
                            on.comm));
  OK(MPIX_Bcast_enqueue(data.out.on_device(), count, MPI_INT, size - 1, on.comm));
  CU(cuStreamEndCapture(on.queue, &graph));
  CU(cuGraphInstantiateWithFlags(&exec, graph, 0));
  for (int i = 0; i < 5; ++i) {
    data.put(on, i);
    CU(cuGraphLaunch(exec, on.queue));
    data.check_sum(on, "a sum of a graph", i);
    other.put(on, i);
    OK(MPIX_Allreduce_enqueue(MPI_IN_PLACE, other.out.on_device(), other.count, MPI_INT, MPI_SUM,
                              on.comm));
    other.check_sum(on, "a sum between graphs", i);
  }
  on.sync();
  CU(cuGraphExecDestroy(exec));
  CU(cuGraphDestroy(graph));
}

void through_host(const OnStream& on, Trace* trace) {
  constexpr int kCount = 1 << 20;
  constexpr size_t kBytes = kCount * sizeof(int);
  Data data(kCount);
  data.put(on, 1);
  on.sync();
  (void)trace->through_host();
  OK(MPIX_Allreduce_enqueue(MPI_IN_PLACE, data.out.on_device(), kCount, MPI_INT, MPI_SUM, on.comm));
  on.sync();
  const size_t bytes = trace->through_host();
  if (bytes > kBytes + 65536) FAIL("%zu bytes of %zu go through the host", bytes, kBytes);
}

void one_takes_no_part() {
  OnStream on;
  OK(MPI_Comm_set_errhandler(on.comm, MPI_ERRORS_RETURN));
  Data data(100000);
  data.put(on, 1);
  const int code = MPIX_Allreduce_enqueue(MPI_IN_PLACE, data.out.on_device(),
                                          rank == 1 ? -1 : data.count, MPI_INT, MPI_SUM, on.comm);
  CHECK(rank != 1 || code != MPI_SUCCESS);
  on.sync();
  int later = rank == 1 ? MPI_SUCCESS : code;
  for (int i = 0; i < 2000 && later == MPI_SUCCESS; ++i) {
    later = MPIX_Allreduce_enqueue(MPI_IN_PLACE, data.out.on_device(), data.count, MPI_INT, MPI_SUM,
                                   on.comm);
    on.sync();
  }
  CHECK(later != MPI_SUCCESS);
  if (rank != 1 && std::string(error_text(later)).find("rank 1") == std::string::npos)
    FAIL("the error does not name rank 1: %s", error_text(later));
}

/// Rank 1's message to itself is too long, so the next call of rank 1 returns an error.
void one_has_an_earlier_error(int count) {
  OnStream on;
  OK(MPI_Comm_set_errhandler(on.comm, MPI_ERRORS_RETURN));
  Data data(count);
  data.put(on, 1);
  if (rank == 1) {
    MPI_Request request = MPI_REQUEST_NULL;
    OK(MPIX_Isend_enqueue(data.in.on_device(), 4, MPI_INT, rank, 5, on.comm, &request));
    OK(MPIX_Recv_enqueue(data.in.on_device(), 2, MPI_INT, rank, 5, on.comm, MPI_STATUS_IGNORE));
    OK(MPIX_Wait_enqueue(&request, MPI_STATUS_IGNORE));
    on.sync();
  }
  const auto call = [&] {
    return MPIX_Allreduce_enqueue(MPI_IN_PLACE, data.out.on_device(), count, MPI_INT, MPI_SUM,
                                  on.comm);
  };
  int code = MPI_SUCCESS;
  if (rank == 1)
    SAYS(code = call(), MPI_ERR_TRUNCATE, "MPIX_Recv_enqueue, enqueued earlier");
  else
    code = call();
  on.sync();
  for (int i = 0; i < 2000 && code == MPI_SUCCESS; ++i) {
    code = call();
    on.sync();
  }
  CHECK(code != MPI_SUCCESS);
  if (rank != 1 && std::string(error_text(code)).find("rank 1") == std::string::npos)
    FAIL("the error of a sum of %d does not name rank 1: %s", count, error_text(code));
}

void duplicate(const OnStream& parent, int count) {
  MPI_Comm twin = MPI_COMM_NULL;
  OK(MPI_Comm_dup(parent.comm, &twin));
  Data data(count);
  data.put(parent, 4);
  OK(MPIX_Allreduce_enqueue(MPI_IN_PLACE, data.out.on_device(), count, MPI_INT, MPI_SUM, twin));
  OK(MPI_Comm_free(&twin));
  data.check_sum(parent, "a sum on a duplicate", 4);
}

}  // namespace

int main(int argc, char** argv) {
  Trace trace;
  begin(&argc, &argv);
  start_cuda();
  {
    const OnStream on;
    for (const int count : {16384, 100003, 5, 600001}) eager(on, count);
    in_graph(on, 50000);
    duplicate(on, 100000);
    if (control().there() && size == 4) through_host(on, &trace);
    Data data(100000);
    OK(MPIX_Allreduce_enqueue(MPI_IN_PLACE, data.out.on_device(), data.count, MPI_INT, MPI_SUM,
                              on.comm));
    on.sync();
  }
  one_takes_no_part();
  if (size == 4)
    for (const int count : {100000, 5}) one_has_an_earlier_error(count);
  {
    const OnStream after;
    eager(after, 100000);
  }
  return end();
}
