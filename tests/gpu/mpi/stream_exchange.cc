// SPDX-License-Identifier: Apache-2.0
// Enqueued gatherv, scatterv and alltoallv between devices, with blocks known only to sender and
// receiver: empty to several passes, in place, host memory, holes, beside other kernels, in graphs.
// A call takes one launch and no copy. Mismatched counts are an error.
// ranks: 1 2 3 4
// configurations: 4-peers weak mps
// env: TERN_GPU_SCRATCH=4M
// timeout: 90
#include <limits>

#include "said.hpp"
#include "stream.hpp"

using namespace tern::test;

namespace {

int count_of(int from, int to, int round) {
  constexpr int kCounts[] = {0, 3, 1001, 17, 5000, 1, 90001};
  return kCounts[(from * 3 + to * 5 + round) % 7];
}
int value(int from, int to, int round, int i) {
  return (from * 16 + to) * 1000003 + round * 7919 + i;
}

struct Layout {
  std::vector<int> counts, displs;
  size_t all = 0;
  void add(int count) {
    counts.push_back(count);
    displs.push_back(static_cast<int>(all));
    all += static_cast<size_t>(count) + 1;
  }
};
Layout sent_by(int from, int round) {
  Layout made;
  for (int to = 0; to < size; ++to) made.add(count_of(from, to, round));
  return made;
}
Layout received_by(int to, int round) {
  Layout made;
  for (int from = 0; from < size; ++from) made.add(count_of(from, to, round));
  return made;
}

void fill(Vector<int>& data, const Layout& layout, int round) {
  for (size_t i = 0; i < layout.all; ++i) data[i] = -1;
  for (int to = 0; to < size; ++to)
    for (int i = 0; i < layout.counts[static_cast<size_t>(to)]; ++i)
      data[static_cast<size_t>(layout.displs[static_cast<size_t>(to)] + i)] =
          value(rank, to, round, i);
}
void check(Vector<int>& data, const Layout& layout, int round, const char* what, int but = -1) {
  for (int from = 0; from < size; ++from) {
    const int count = layout.counts[static_cast<size_t>(from)],
              first = layout.displs[static_cast<size_t>(from)];
    for (int i = 0; i <= count; ++i) {
      const int expected = i == count || from == but ? -1 : value(from, rank, round, i);
      if (const int found = data[static_cast<size_t>(first + i)]; found != expected)
        FAIL("%s, round %d: element %d of %d from rank %d is %d, expected %d", what, round, i,
             count, from, found, expected);
    }
  }
}
void blank(Vector<int>& data, size_t count) {
  for (size_t i = 0; i < count; ++i) data[i] = -1;
}

void all_to_all(const OnStream& on, int round, int on_host) {
  const Layout out = sent_by(rank, round), in = received_by(rank, round);
  Vector<int> send(out.all), recv(in.all);
  fill(send, out, round);
  blank(recv, in.all);
  const bool host = rank == on_host;
  if (!host) send.put(on.queue);
  if (!host) recv.put(on.queue);
  OK(MPIX_Alltoallv_enqueue(host ? &send[0] : send.on_device(), out.counts.data(),
                            out.displs.data(), MPI_INT, host ? &recv[0] : recv.on_device(),
                            in.counts.data(), in.displs.data(), MPI_INT, on.comm));
  if (!host) recv.get(on.queue);
  on.sync();
  check(recv, in, round, host ? "alltoallv on the host" : "alltoallv");
}

void in_place(const OnStream& on, int round) {
  Layout both;
  for (int i = 0; i < size; ++i) both.add(count_of(std::min(i, rank), std::max(i, rank), round));
  Vector<int> data(both.all);
  fill(data, both, round);
  data.put(on.queue);
  OK(MPIX_Alltoallv_enqueue(MPI_IN_PLACE, nullptr, nullptr, MPI_DATATYPE_NULL, data.on_device(),
                            both.counts.data(), both.displs.data(), MPI_INT, on.comm));
  data.get(on.queue);
  on.sync();
  check(data, both, round, "alltoallv in place");
}

void gather(const OnStream& on, int round, int root, bool in_place) {
  const Layout in = received_by(root, round);
  const int mine = count_of(rank, root, round);
  const bool holes = rank % 2 == 1;
  Vector<int> send(static_cast<size_t>(mine) * 2 + 1), recv(rank == root ? in.all : 0);
  for (int i = 0; i < mine; ++i)
    send[static_cast<size_t>(holes ? 2 * i : i)] = value(rank, root, round, i);
  if (rank == root) blank(recv, in.all);
  send.put(on.queue);
  recv.put(on.queue);
  MPI_Datatype spaced = MPI_DATATYPE_NULL;
  OK(MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &spaced));
  OK(MPI_Type_commit(&spaced));
  const bool stays = in_place && rank == root;
  OK(MPIX_Gatherv_enqueue(stays ? MPI_IN_PLACE : send.on_device(), mine, holes ? spaced : MPI_INT,
                          recv.on_device(), in.counts.data(), in.displs.data(), MPI_INT, root,
                          on.comm));
  OK(MPI_Type_free(&spaced));
  recv.get(on.queue);
  on.sync();
  if (rank == root) check(recv, in, round, "gatherv", stays ? root : -1);
}

void scatter(const OnStream& on, int round, int root, bool in_place) {
  const Layout out = sent_by(root, round);
  const int mine = count_of(root, rank, round);
  const bool holes = rank % 2 == 0, stays = in_place && rank == root;
  const size_t each = holes ? 2 : 1;
  Vector<int> send(rank == root ? out.all : 0), recv(static_cast<size_t>(mine) * each + 1);
  if (rank == root) fill(send, out, round);
  blank(recv, static_cast<size_t>(mine) * each + 1);
  send.put(on.queue);
  recv.put(on.queue);
  MPI_Datatype spaced = MPI_DATATYPE_NULL;
  OK(MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &spaced));
  OK(MPI_Type_commit(&spaced));
  OK(MPIX_Scatterv_enqueue(send.on_device(), out.counts.data(), out.displs.data(), MPI_INT,
                           stays ? MPI_IN_PLACE : recv.on_device(), mine, holes ? spaced : MPI_INT,
                           root, on.comm));
  OK(MPI_Type_free(&spaced));
  recv.get(on.queue);
  on.sync();
  for (size_t i = 0; i < static_cast<size_t>(mine) * each + 1; ++i) {
    const bool hole = i % each != 0 || i / each >= static_cast<size_t>(mine);
    const int expected = hole || stays ? -1 : value(root, rank, round, static_cast<int>(i / each));
    if (recv[i] != expected)
      FAIL("scatterv, round %d: element %zu is %d, expected %d", round, i, recv[i], expected);
  }
}

void reduce(const OnStream& on, int round) {
  constexpr size_t kCount = 20001;
  Vector<int> data(kCount);
  for (size_t i = 0; i < kCount; ++i) data[i] = rank + round + static_cast<int>(i);
  data.put(on.queue);
  OK(MPIX_Allreduce_enqueue(MPI_IN_PLACE, data.on_device(), kCount, MPI_INT, MPI_SUM, on.comm));
  data.get(on.queue);
  on.sync();
  for (size_t i = 0; i < kCount; ++i)
    if (const int sum = size * (size - 1) / 2 + size * (round + static_cast<int>(i));
        data[i] != sum)
      FAIL("allreduce, round %d: element %zu is %d, expected %d", round, i, data[i], sum);
}

void everything(const OnStream& on) {
  for (int round = 0; round < 7; ++round) {
    all_to_all(on, round, -1);
    if (round % 3 == 0) all_to_all(on, round, size - 1);
    in_place(on, round);
    gather(on, round, round % size, round % 2 == 1);
    reduce(on, round);
    scatter(on, round, (round + 1) % size, round % 2 == 1);
  }
}

// Types have addresses relative to MPI_BOTTOM.
void by_addresses(const OnStream& on) {
  const auto n = static_cast<size_t>(size);
  constexpr int kEach = 3000;
  Vector<int> send(n * kEach), recv(n * kEach);
  std::vector<int> out_counts(n, 1), in_counts(n, 1);
  const std::vector<int> places(n, 0);
  std::vector<MPI_Datatype> out, in;
  for (int peer = 0; peer < size; ++peer) {
    const auto type_at = [&](const Vector<int>& data) {
      const int length = kEach - 7;
      const auto at = reinterpret_cast<MPI_Aint>(data.on_device() + peer * kEach);
      MPI_Datatype type = MPI_DATATYPE_NULL;
      OK(MPI_Type_create_hindexed(1, &length, &at, MPI_INT, &type));
      OK(MPI_Type_commit(&type));
      return type;
    };
    const bool sends = peer != (rank + 1) % size, receives = rank != (peer + 1) % size;
    out_counts[static_cast<size_t>(peer)] = sends ? 1 : 0;
    in_counts[static_cast<size_t>(peer)] = receives ? 1 : 0;
    out.push_back(sends ? type_at(send) : MPI_DATATYPE_NULL);
    in.push_back(receives ? type_at(recv) : MPI_DATATYPE_NULL);
  }
  for (size_t i = 0; i < n * kEach; ++i) {
    send[i] = value(rank, static_cast<int>(i) / kEach, 1, static_cast<int>(i) % kEach);
    recv[i] = -1;
  }
  send.put(on.queue);
  recv.put(on.queue);
  OK(MPIX_Alltoallw_enqueue(MPI_BOTTOM, out_counts.data(), places.data(), out.data(), MPI_BOTTOM,
                            in_counts.data(), places.data(), in.data(), on.comm));
  for (std::vector<MPI_Datatype>* const types : {&out, &in})
    for (MPI_Datatype& type : *types)
      if (type != MPI_DATATYPE_NULL) OK(MPI_Type_free(&type));
  recv.get(on.queue);
  on.sync();
  for (int from = 0; from < size; ++from)
    for (int i = 0; i < kEach; ++i)
      CHECK_EQ(recv[static_cast<size_t>(from * kEach + i)],
               rank == (from + 1) % size || i >= kEach - 7 ? -1 : value(from, rank, 1, i));
}

void one_launch(const OnStream& on) {
  if (!control().there()) return;
  const Layout out = sent_by(rank, 1), in = received_by(rank, 1);
  const Vector<int> send(out.all), recv(in.all);
  const auto call = [&] {
    OK(MPIX_Alltoallv_enqueue(send.on_device(), out.counts.data(), out.displs.data(), MPI_INT,
                              recv.on_device(), in.counts.data(), in.displs.data(), MPI_INT,
                              on.comm));
  };
  call();
  on.sync();
  const auto launches = control().calls("cuLaunchKernel");
  const auto copies = control().calls("cuMemcpyAsync");
  call();
  on.sync();
  CHECK_EQ(control().calls("cuLaunchKernel"), launches + 1);
  CHECK_EQ(control().calls("cuMemcpyAsync"), copies);
  // Tern queries each buffer's location once. A thread that checks exports adds queries to some
  // calls.
  auto asked = std::numeric_limits<unsigned long long>::max();
  for (int i = 0; i < 20; ++i) {
    const auto before = control().calls("cuPointerGetAttributes");
    call();
    asked = std::min(asked, control().calls("cuPointerGetAttributes") - before);
    on.sync();
  }
  CHECK_EQ(asked, 2);
}

void replayed(const OnStream& on) {
  constexpr int kReplays = 50;
  const Layout out = sent_by(rank, 2), in = received_by(rank, 2);
  Vector<int> send(out.all), recv(in.all);
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  CU(cuStreamBeginCapture_v2(on.queue, CU_STREAM_CAPTURE_MODE_GLOBAL));
  send.put(on.queue);
  recv.spoil(on.queue);
  OK(MPIX_Alltoallv_enqueue(send.on_device(), out.counts.data(), out.displs.data(), MPI_INT,
                            recv.on_device(), in.counts.data(), in.displs.data(), MPI_INT,
                            on.comm));
  recv.get(on.queue);
  CU(cuStreamEndCapture(on.queue, &graph));
  CU(cuGraphInstantiateWithFlags(&exec, graph, 0));
  CU(cuGraphDestroy(graph));
  for (int i = 0; i < kReplays; ++i) {
    fill(send, out, i);
    CU(cuGraphLaunch(exec, on.queue));
    on.sync();
    for (int from = 0; from < size; ++from)
      for (int k = 0; k < in.counts[static_cast<size_t>(from)]; ++k)
        CHECK_EQ(recv[static_cast<size_t>(in.displs[static_cast<size_t>(from)] + k)],
                 value(from, rank, i, k));
    if (i % 10 == 0) all_to_all(on, i % 7, -1);
    if (i % 7 == 0) reduce(on, i);
  }
  CU(cuGraphExecDestroy(exec));
}

void lengths_that_differ() {
  const OnStream on;
  OK(MPI_Comm_set_errhandler(on.comm, MPI_ERRORS_RETURN));
  all_to_all(on, 1, -1);
  Layout both;
  for (int i = 0; i < size; ++i) both.add(20);
  const Vector<int> send(both.all + 100), recv(both.all + 100);
  if (rank == size - 1) both.counts[0] = 30;
  Layout in = both;
  in.counts[0] = 20;
  OK(MPIX_Alltoallv_enqueue(send.on_device(), both.counts.data(), both.displs.data(), MPI_INT,
                            recv.on_device(), in.counts.data(), in.displs.data(), MPI_INT,
                            on.comm));
  on.sync();
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank == 0) SAYS(MPIX_Barrier_enqueue(on.comm), MPI_ERR_OTHER, "of a size other than");
  if (rank == 0)
    SAYS(MPIX_Barrier_enqueue(on.comm), MPI_ERR_OTHER,
         ("rank " + std::to_string(size - 1)).c_str());
}

}  // namespace

int main(int argc, char** argv) {
  if (std::getenv("PMIX_RANK") == nullptr || std::getenv("PMIX_RANK")[0] == '0')
    setenv("TERN_EXPLAIN", "1", 1);
  begin(&argc, &argv);
  start_cuda();
  {
    const Heard heard;
    const OnStream on;
    everything(on);
    by_addresses(on);
    one_launch(on);
    replayed(on);
    if (rank == 0 && control().there()) {
      CHECK(heard.has("alltoall pairwise") && heard.has("by the exchange engine"));
      CHECK(heard.has("gather pairwise") && heard.has("scatter pairwise"));
    }
  }
  if (size > 1) {
    const Heard heard;
    lengths_that_differ();
  }
  return end();
}
