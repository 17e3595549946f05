// SPDX-License-Identifier: Apache-2.0
// Enqueued neighbourhood collectives and alltoallw: open and periodic grids, a neighbour on both
// sides or the rank itself, repeated edges beyond a launch's capacity; between devices, through the
// host, and in a graph.
// ranks: 1 2 3 4
// configurations: 1 4-peers 2-apart weak
// env: TERN_GPU_SCRATCH=4M
// env: TERN_TEST=stream_chunk=65536
// timeout: 90
#include "said.hpp"
#include "stream.hpp"

using namespace tern::test;

namespace {

class Neighborhood {
 public:
  Neighborhood(MPI_Comm parent, const char* name) : name_(name), comm_(parent), on_(parent) {
    int kind = 0;
    OK(MPI_Topo_test(on_.comm, &kind));
    if (kind == MPI_CART) {
      OK(MPI_Cartdim_get(on_.comm, &in_));
      in_ *= 2;
      out_ = in_;
    } else {
      int weighted = 0;
      OK(MPI_Dist_graph_neighbors_count(on_.comm, &in_, &out_, &weighted));
    }
    send_counts_.resize(n(out_));
    recv_counts_.resize(n(in_));
    for (int i = 0; i < out_; ++i)
      send_counts_[n(i)] = (rank * 7 + i * 13) % 5 == 0 ? 0 : kLengths[(rank + 2 * i) % 4];
    OK(MPI_Neighbor_alltoall(send_counts_.data(), 1, MPI_INT, recv_counts_.data(), 1, MPI_INT,
                             comm_));
    place(send_counts_, &send_displs_);
    place(recv_counts_, &recv_displs_);
  }

  void all(int round) {
    allgather(round);
    alltoall(round);
    allgatherv(round);
    alltoallv(round, false);
    alltoallv(round, true);
  }

  void replayed() {
    const size_t sent = total(send_counts_), received = total(recv_counts_);
    Vector<int> send(sent), recv(received);
    std::vector<int> wanted(received);
    CUgraph graph = nullptr;
    CUgraphExec exec = nullptr;
    CU(cuStreamBeginCapture_v2(on_.queue, CU_STREAM_CAPTURE_MODE_GLOBAL));
    send.put(on_.queue);
    recv.spoil(on_.queue);
    OK(MPIX_Neighbor_alltoallv_enqueue(send.on_device(), send_counts_.data(), send_displs_.data(),
                                       MPI_INT, recv.on_device(), recv_counts_.data(),
                                       recv_displs_.data(), MPI_INT, on_.comm));
    recv.get(on_.queue);
    CU(cuStreamEndCapture(on_.queue, &graph));
    CU(cuGraphInstantiateWithFlags(&exec, graph, 0));
    CU(cuGraphDestroy(graph));
    for (int round = 0; round < 20; ++round) {
      fill(send, sent, round);
      OK(MPI_Neighbor_alltoallv(&send[0], send_counts_.data(), send_displs_.data(), MPI_INT,
                                wanted.data(), recv_counts_.data(), recv_displs_.data(), MPI_INT,
                                comm_));
      CU(cuGraphLaunch(exec, on_.queue));
      on_.sync();
      same(recv, wanted, recv_counts_, "replayed");
      if (round % 5 == 0) alltoall(round);
    }
    CU(cuGraphExecDestroy(exec));
  }

 private:
  static constexpr int kLengths[] = {1, 40, 5003, 20000};
  static size_t n(int count) { return static_cast<size_t>(count); }
  static void place(const std::vector<int>& counts, std::vector<int>* displs) {
    int next = 0;
    for (const int count : counts) {
      displs->push_back(next);
      next += count + 1;
    }
  }
  static size_t total(const std::vector<int>& counts) {
    size_t all = 1;
    for (const int count : counts) all += n(count) + 1;
    return all;
  }
  static void fill(Vector<int>& data, size_t count, int round) {
    for (size_t i = 0; i < count; ++i)
      data[i] = rank * 10000019 + round * 7907 + static_cast<int>(i);
  }
  void same(Vector<int>& found, const std::vector<int>& wanted, const std::vector<int>& counts,
            const char* what) const {
    size_t at = 0;
    for (size_t block = 0; block < counts.size(); ++block, ++at)
      for (int i = 0; i < counts[block]; ++i, ++at)
        if (found[at] != wanted[at])
          FAIL("%s, %s: element %d of block %zu is %d, expected %d", name_, what, i, block,
               found[at], wanted[at]);
  }
  template <class Ordinary, class Enqueued>
  void compare(size_t sent, const std::vector<int>& counts, int round, const char* what,
               const Ordinary& ordinary, const Enqueued& enqueued) const {
    const size_t received = total(counts);
    Vector<int> send(sent), recv(received);
    std::vector<int> wanted(received, -5);
    fill(send, sent, round);
    for (size_t i = 0; i < received; ++i) recv[i] = -5;
    send.put(on_.queue);
    recv.put(on_.queue);
    enqueued(send.on_device(), recv.on_device());
    recv.get(on_.queue);
    ordinary(&send[0], wanted.data());
    on_.sync();
    same(recv, wanted, counts, what);
  }

  void allgather(int round) const {
    const int count = 3001 + round;
    std::vector<int> counts{in_ * count};
    compare(
        n(count), counts, round, "neighbor_allgather",
        [&](const int* send, int* recv) {
          OK(MPI_Neighbor_allgather(send, count, MPI_INT, recv, count, MPI_INT, comm_));
        },
        [&](const int* send, int* recv) {
          OK(MPIX_Neighbor_allgather_enqueue(send, count, MPI_INT, recv, count, MPI_INT, on_.comm));
        });
  }
  void alltoall(int round) const {
    const int count = 700 + round;
    std::vector<int> counts{in_ * count};
    compare(
        n(out_ * count), counts, round, "neighbor_alltoall",
        [&](const int* send, int* recv) {
          OK(MPI_Neighbor_alltoall(send, count, MPI_INT, recv, count, MPI_INT, comm_));
        },
        [&](const int* send, int* recv) {
          OK(MPIX_Neighbor_alltoall_enqueue(send, count, MPI_INT, recv, count, MPI_INT, on_.comm));
        });
  }
  void allgatherv(int round) const {
    const int mine = kLengths[(rank + round) % 4];
    std::vector<int> counts(n(in_)), displs;
    OK(MPI_Neighbor_allgather(&mine, 1, MPI_INT, counts.data(), 1, MPI_INT, comm_));
    place(counts, &displs);
    compare(
        n(mine), counts, round, "neighbor_allgatherv",
        [&](const int* send, int* recv) {
          OK(MPI_Neighbor_allgatherv(send, mine, MPI_INT, recv, counts.data(), displs.data(),
                                     MPI_INT, comm_));
        },
        [&](const int* send, int* recv) {
          OK(MPIX_Neighbor_allgatherv_enqueue(send, mine, MPI_INT, recv, counts.data(),
                                              displs.data(), MPI_INT, on_.comm));
        });
  }
  void alltoallv(int round, bool typed) const {
    std::vector<MPI_Aint> from, to;
    for (const int place : send_displs_) from.push_back(place * MPI_Aint{sizeof(int)});
    for (const int place : recv_displs_) to.push_back(place * MPI_Aint{sizeof(int)});
    const std::vector<MPI_Datatype> out(n(out_), MPI_INT), in(n(in_), MPI_INT);
    const int* const sends = send_counts_.data();
    const int* const recvs = recv_counts_.data();
    compare(
        total(send_counts_), recv_counts_, round,
        typed ? "neighbor_alltoallw" : "neighbor_alltoallv",
        [&](const int* send, int* recv) {
          OK(MPI_Neighbor_alltoallv(send, sends, send_displs_.data(), MPI_INT, recv, recvs,
                                    recv_displs_.data(), MPI_INT, comm_));
        },
        [&](const int* send, int* recv) {
          if (typed)
            OK(MPIX_Neighbor_alltoallw_enqueue(send, sends, from.data(), out.data(), recv, recvs,
                                               to.data(), in.data(), on_.comm));
          else
            OK(MPIX_Neighbor_alltoallv_enqueue(send, sends, send_displs_.data(), MPI_INT, recv,
                                               recvs, recv_displs_.data(), MPI_INT, on_.comm));
        });
  }

  const char* const name_;
  const MPI_Comm comm_;
  const OnStream on_;
  int in_ = 0, out_ = 0;
  std::vector<int> send_counts_, recv_counts_, send_displs_, recv_displs_;
};

void grid(int dimensions, bool periodic, const char* name) {
  int dims[3] = {}, periods[3] = {periodic, periodic, periodic};
  MPI_Comm comm = MPI_COMM_NULL;
  OK(MPI_Dims_create(size, dimensions, dims));
  OK(MPI_Cart_create(MPI_COMM_WORLD, dimensions, dims, periods, 0, &comm));
  {
    Neighborhood one(comm, name);
    for (int round = 0; round < 2; ++round) one.all(round);
    if (periodic) one.replayed();
  }
  OK(MPI_Comm_free(&comm));
}

void graph(int times, const char* name) {
  std::vector<int> ranks, weights;
  for (int i = 0; i < times; ++i)
    for (int to = 0; to < size; ++to)
      if ((rank + to + i) % 3 != 0) ranks.push_back(to);
  std::vector<int> sources;
  for (int i = 0; i < times; ++i)
    for (int from = 0; from < size; ++from)
      if ((rank + from + i) % 3 != 0) sources.push_back(from);
  MPI_Comm comm = MPI_COMM_NULL;
  OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, static_cast<int>(sources.size()),
                                    sources.data(), MPI_UNWEIGHTED, static_cast<int>(ranks.size()),
                                    ranks.data(), MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm));
  {
    Neighborhood one(comm, name);
    one.all(1);
  }
  OK(MPI_Comm_free(&comm));
}

void typed() {
  const OnStream on;
  const auto n = static_cast<size_t>(size);
  std::vector<int> counts(n, 3);
  std::vector<MPI_Datatype> out(n), in(n);
  std::vector<int> places(n);
  for (int i = 0; i < size; ++i) {
    out[static_cast<size_t>(i)] = (rank + i) % 2 == 0 ? MPI_INT : MPI_DOUBLE;
    in[static_cast<size_t>(i)] = out[static_cast<size_t>(i)];
    places[static_cast<size_t>(i)] = 32 * i;
  }
  Vector<char> send(32 * n), recv(32 * n);
  for (size_t i = 0; i < 32 * n; ++i)
    send[i] = static_cast<char>(i + static_cast<size_t>(rank) * 40);
  for (size_t i = 0; i < 32 * n; ++i) recv[i] = 99;
  send.put(on.queue);
  recv.put(on.queue);
  OK(MPIX_Alltoallw_enqueue(send.on_device(), counts.data(), places.data(), out.data(),
                            recv.on_device(), counts.data(), places.data(), in.data(), on.comm));
  recv.get(on.queue);
  on.sync();
  for (int from = 0; from < size; ++from)
    for (int i = 0; i < 32; ++i) {
      const int bytes = (rank + from) % 2 == 0 ? 12 : 24;
      const char expected = i < bytes ? static_cast<char>(32 * rank + i + from * 40) : 99;
      CHECK_EQ(recv[static_cast<size_t>(32 * from + i)], expected);
    }
}

void wrong_calls() {
  const OnStream on;
  OK(MPI_Comm_set_errhandler(on.comm, MPI_ERRORS_RETURN));
  const Vector<int> data(8);
  SAYS(MPIX_Neighbor_alltoall_enqueue(data.on_device(), 1, MPI_INT, data.on_device(), 1, MPI_INT,
                                      on.comm),
       MPI_ERR_TOPOLOGY, "no topology");
  // Tern compares sizes block by block, although both neighbours are the rank itself.
  int dims[1] = {1}, periods[1] = {1};
  MPI_Comm self = MPI_COMM_NULL;
  OK(MPI_Cart_create(MPI_COMM_SELF, 1, dims, periods, 0, &self));
  {
    const OnStream alone(self);
    OK(MPI_Comm_set_errhandler(alone.comm, MPI_ERRORS_RETURN));
    const int out[] = {4, 0}, in[] = {2, 2}, places[] = {0, 2};
    SAYS(MPIX_Neighbor_alltoallv_enqueue(data.on_device(), out, places, MPI_INT,
                                         data.on_device() + 4, in, places, MPI_INT, alone.comm),
         MPI_ERR_TRUNCATE, "sends itself a block of 16 bytes, but receives 8");
    alone.sync();
  }
  OK(MPI_Comm_free(&self));
}

bool all_reach_all() {
  if (devices < size) return false;
  for (int from = 0; from < size; ++from)
    for (int to = 0; to < size; ++to) {
      int can = 1;
      if (from != to) CU(cuDeviceCanAccessPeer(&can, from, to));
      if (can == 0) return false;
    }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (const char* const own = std::getenv("PMIX_RANK"); own != nullptr && own[0] == '0')
    setenv("TERN_EXPLAIN", "1", 1);
  begin(&argc, &argv);
  start_cuda();
  {
    const Heard heard;
    grid(1, true, "a ring");
    if (rank == 0 && size > 1)
      CHECK_EQ(heard.has("neighbor_alltoall pairwise") && heard.has("exchange engine"),
               all_reach_all());
  }
  grid(2, false, "a grid with an edge");
  grid(3, true, "a torus");
  graph(1, "a graph");
  graph(3, "a graph with edges that repeat");
  graph(40, "a graph of many edges");
  typed();
  wrong_calls();
  return end();
}
