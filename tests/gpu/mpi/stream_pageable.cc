// SPDX-License-Identifier: Apache-2.0
// Enqueued collectives with pageable memory return at once: the other ranks enqueue only after a
// later message from rank 0.
// ranks: 2 3
// configurations: 4-peers
// env: SOFTCUDA_PAGEABLE=sync
// env: TERN_TEST=stream_chunk=65536
// timeout: 120
#include <numeric>

#include "stream.hpp"

using namespace tern::test;

namespace {

struct Pageable {
  Pageable(int count, int stride)
      : count(count), stride(stride), memory(static_cast<size_t>(count) * stride, -1) {
    OK(MPI_Type_vector(count, 1, stride, MPI_INT, &type));
    OK(MPI_Type_commit(&type));
  }
  Pageable(const Pageable&) = delete;
  Pageable& operator=(const Pageable&) = delete;
  ~Pageable() { OK(MPI_Type_free(&type)); }
  int& operator[](int i) { return memory[static_cast<size_t>(i) * stride]; }
  void fill(int from) {
    for (int i = 0; i < count; ++i) (*this)[i] = from + i % 997;
  }
  void check_gaps(const char* what) const {
    for (size_t i = 0; i < memory.size(); ++i)
      if (i % static_cast<size_t>(stride) != 0 && memory[i] != -1) FAIL("%s: gap %zu", what, i);
  }

  const int count, stride;
  std::vector<int> memory;
  MPI_Datatype type = MPI_DATATYPE_NULL;
};

int value_of(int of, int i) { return of * 1000 + i % 997; }
int sum_of(int i) {
  int sum = 0;
  for (int of = 0; of < size; ++of) sum += value_of(of, i);
  return sum;
}
void check(int got, int expected, const char* what, int i) {
  if (got != expected) FAIL("%s: element %d is %d, expected %d", what, i, got, expected);
}

template <class Enqueue>
void rank_0_first(const Enqueue& enqueue) {
  int token = 0;
  if (rank != 0) OK(MPI_Recv(&token, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  enqueue();
  for (int to = 1; rank == 0 && to < size; ++to)
    OK(MPI_Send(&token, 1, MPI_INT, to, 7, MPI_COMM_WORLD));
}

void reductions(const OnStream& on, int count) {
  Vector<int> device(static_cast<size_t>(count)), back(static_cast<size_t>(count));
  Pageable sum(count, 1);
  for (int i = 0; i < count; ++i) device[static_cast<size_t>(i)] = value_of(rank, i);
  device.put(on.queue);
  rank_0_first([&] {
    OK(MPIX_Allreduce_enqueue(device.on_device(), sum.memory.data(), count, MPI_INT, MPI_SUM,
                              on.comm));
    OK(MPIX_Allreduce_enqueue(sum.memory.data(), back.on_device(), count, MPI_INT, MPI_MAX,
                              on.comm));
    OK(MPIX_Allreduce_enqueue(MPI_IN_PLACE, sum.memory.data(), count, MPI_INT, MPI_MIN, on.comm));
  });
  back.get(on.queue);
  on.sync();
  for (int i = 0; i < count; ++i) {
    check(sum[i], sum_of(i), "allreduce to the host", i);
    check(back[static_cast<size_t>(i)], sum_of(i), "allreduce from the host", i);
  }
}

void moves(const OnStream& on, int count, int stride) {
  const auto all = static_cast<size_t>(count) * size;
  Vector<int> device(static_cast<size_t>(count)), gathered(all);
  Pageable out(count, stride), in(count * size, stride), root(count, stride);
  out.fill(rank * 1000);
  for (int i = 0; i < count; ++i) device[static_cast<size_t>(i)] = value_of(rank, i);
  if (rank == 0) root.fill(77);
  device.put(on.queue);
  rank_0_first([&] {
    OK(MPIX_Allgather_enqueue(out.memory.data(), 1, out.type, gathered.on_device(), count, MPI_INT,
                              on.comm));
    OK(MPIX_Allgather_enqueue(device.on_device(), count, MPI_INT, in.memory.data(), 1, out.type,
                              on.comm));
    OK(MPIX_Bcast_enqueue(root.memory.data(), 1, root.type, 0, on.comm));
  });
  gathered.get(on.queue);
  on.sync();
  const int extent = (count - 1) * stride + 1;
  for (int i = 0; i < count * size; ++i)
    check(in.memory[static_cast<size_t>(i / count) * extent + i % count * stride],
          value_of(i / count, i % count), "in", i);
  for (size_t i = 0; i < all; ++i)
    check(gathered[i], value_of(static_cast<int>(i) / count, static_cast<int>(i) % count), "out",
          static_cast<int>(i));
  for (int i = 0; i < count; ++i) check(root[i], 77 + i % 997, "bcast", i);
  root.check_gaps("bcast");
  out.check_gaps("allgather");
}

void of_pairs(const OnStream& on, int count) {
  std::vector<int> counts(static_cast<size_t>(size), count), places(static_cast<size_t>(size));
  for (int of = 0; of < size; ++of) places[static_cast<size_t>(of)] = of * count;
  Pageable out(count * size, 1), in(count * size, 1);
  for (int i = 0; i < count * size; ++i) out[i] = rank * 100 + i / count;
  Vector<int> between(static_cast<size_t>(count) * size);
  rank_0_first([&] {
    OK(MPIX_Alltoallv_enqueue(out.memory.data(), counts.data(), places.data(), MPI_INT,
                              between.on_device(), counts.data(), places.data(), MPI_INT, on.comm));
    OK(MPIX_Alltoallv_enqueue(between.on_device(), counts.data(), places.data(), MPI_INT,
                              in.memory.data(), counts.data(), places.data(), MPI_INT, on.comm));
  });
  on.sync();
  for (int i = 0; i < count * size; ++i) check(in[i], rank * 100 + i / count, "alltoallv", i);
}

void in_graph(int count) {
  OnStream on;
  Pageable out(count, 1), in(count, 1);
  Vector<int> between(static_cast<size_t>(count));
  const auto enqueue = [&] {
    OK(MPIX_Allreduce_enqueue(out.memory.data(), between.on_device(), count, MPI_INT, MPI_SUM,
                              on.comm));
    OK(MPIX_Allreduce_enqueue(between.on_device(), in.memory.data(), count, MPI_INT, MPI_MAX,
                              on.comm));
  };
  enqueue();
  on.sync();
  CUgraph graph = nullptr;
  CUgraphExec made = nullptr;
  CU(cuStreamBeginCapture_v2(on.queue, CU_STREAM_CAPTURE_MODE_GLOBAL));
  enqueue();
  CU(cuStreamEndCapture(on.queue, &graph));
  CU(cuGraphInstantiateWithFlags(&made, graph, 0));
  CU(cuGraphDestroy(graph));
  OnStream* next = nullptr;
  for (int round = 0; round < 4; ++round) {
    if (round == 2) {
      OK(MPI_Comm_free(&on.comm));
      next = new OnStream;
      reductions(*next, count);
    }
    for (int i = 0; i < count; ++i) out[i] = value_of(rank, i) + round;
    CU(cuGraphLaunch(made, on.queue));
    on.sync();
    for (int i = 0; i < count; ++i) check(in[i], sum_of(i) + round * size, "a replay", i);
  }
  delete next;
  CU(cuGraphExecDestroy(made));
}

}  // namespace

int main(int argc, char** argv) {
  begin(&argc, &argv);
  start_cuda();
  if (devices < size) return MPI_Finalize(), 77;
  {
    const OnStream on;
    for (const int count : {1, 5, 1001, 60001, 300007}) reductions(on, count);
    for (const int count : {1, 301, 90001}) moves(on, count, 1);
    for (const int count : {3, 9001}) moves(on, count, 3);
    for (const int count : {7, 50001}) of_pairs(on, count);
  }
  in_graph(5001);
  OK(MPI_Finalize());
  return 0;
}
