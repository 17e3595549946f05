// SPDX-License-Identifier: Apache-2.0
// Every enqueued collective matches the ordinary one: many sizes, in place, all roots, device and
// host memory, holes, stream order.
// ranks: 1 2 3 4
// configurations: 1 4-peers 2-apart jitter queue-peers
// timeout: 120
// variant: multicast
//   Multimem requested, with and without multicast memory.
//   configurations: 1 4-peers 2-apart mps
//   env: TERN_GPU_WIRE=multimem
// variant: kernel
//   Kernels first: a device per rank, a device shared by MPS, weakly ordered memory.
//   configurations: 1 4-peers weak mps
//   env: TERN_GPU_ENGINE=kernel
// variant: lines
//   LL128 requested, with NVLink and without.
//   configurations: 1 4-peers weak pcie mps
//   env: TERN_GPU_ENGINE=kernel TERN_GPU_WIRE=ll128
#include <string>

#include "settings.hpp"
#include "stream.hpp"

using namespace tern::test;

namespace {

const OnStream* on = nullptr;
MPI_Datatype with_holes = MPI_DATATYPE_NULL;

class Both {
 public:
  Both(Kind kind, int ints, unsigned seed)
      : ints_(static_cast<size_t>(ints)),
        reference_(std::max<size_t>(1, ints_)),
        area_(kind, std::max<size_t>(1, ints_) * sizeof(int)),
        staging_(pinned(std::max<size_t>(1, ints_) * sizeof(int))) {
    for (size_t i = 0; i < ints_; ++i)
      reference_[i] =
          static_cast<int>((i * 31 + seed * 1009 + static_cast<unsigned>(rank) * 77) % 1000);
  }
  void put() {
    if (area_.on_host) {
      on->sync();
      std::memcpy(area_.address(), reference_.data(), bytes());
      return;
    }
    std::memcpy(staging_.address(), reference_.data(), bytes());
    if (bytes() > 0) CU(cuMemcpyHtoDAsync_v2(area_.at, staging_.address(), bytes(), on->queue));
  }
  void check(const std::string& what) {
    if (!area_.on_host && bytes() > 0)
      CU(cuMemcpyDtoHAsync_v2(staging_.address(), area_.at, bytes(), on->queue));
    on->sync();
    const int* const found =
        static_cast<const int*>(area_.on_host ? area_.address() : staging_.address());
    for (size_t i = 0; i < ints_; ++i)
      if (found[i] != reference_[i])
        FAIL("%s: int %zu of %zu is %d, expected %d", what.c_str(), i, ints_, found[i],
             reference_[i]);
  }
  [[nodiscard]] int* there() const { return static_cast<int*>(area_.address()); }
  [[nodiscard]] int* here() { return reference_.data(); }

 private:
  [[nodiscard]] size_t bytes() const { return ints_ * sizeof(int); }
  size_t ints_;
  std::vector<int> reference_;
  Area area_, staging_;
};

struct Case {
  int count;
  bool in_place;
  Kind kind;
  int root;
  [[nodiscard]] std::string words(const char* name) const {
    return std::string(name) + ", count " + std::to_string(count) + ", in place " +
           std::to_string(in_place) + ", " + name_of(kind) + ", root " + std::to_string(root);
  }
};

template <class Ordinary, class Enqueued>
void compare(const Case& the, const char* name, int send_ints, int recv_ints, Ordinary&& ordinary,
             Enqueued&& enqueued) {
  Both send(the.kind, send_ints, 1), recv(the.kind, recv_ints, 2);
  send.put();
  recv.put();
  ordinary(send.here(), recv.here());
  enqueued(send.there(), recv.there());
  recv.check(the.words(name));
  send.check(the.words(name) + ", what was sent");
}

#define COMPARE(the, name, send_ints, recv_ints, ...) \
  compare(                                            \
      the, #name, send_ints, recv_ints,               \
      [&](const int* send, int* recv) {               \
        const MPI_Comm comm = MPI_COMM_WORLD;         \
        (void)send;                                   \
        OK(MPI_##name(__VA_ARGS__));                  \
      },                                              \
      [&](const int* send, int* recv) {               \
        const MPI_Comm comm = on->comm;               \
        (void)send;                                   \
        OK(MPIX_##name##_enqueue(__VA_ARGS__));       \
      })

void vectors(const Case& the) {
  const int n = the.count;
  const auto input = [&](const int* send) { return the.in_place ? MPI_IN_PLACE : send; };
  COMPARE(the, Allreduce, n, n, input(send), recv, n, MPI_INT, MPI_SUM, comm);
  COMPARE(the, Scan, n, n, input(send), recv, n, MPI_INT, MPI_MAX, comm);
  COMPARE(the, Exscan, n, n, input(send), recv, n, MPI_INT, MPI_SUM, comm);
  COMPARE(the, Reduce, n, n, the.in_place && rank == the.root ? MPI_IN_PLACE : send, recv, n,
          MPI_INT, MPI_BXOR, the.root, comm);
  if (!the.in_place) COMPARE(the, Bcast, 0, n, recv, n, MPI_INT, the.root, comm);
}

void equal_blocks(const Case& the) {
  const int n = the.count, all = n * size;
  const auto input = [&](const int* send) { return the.in_place ? MPI_IN_PLACE : send; };
  const bool at_root = the.in_place && rank == the.root;
  COMPARE(the, Allgather, n, all, input(send), n, MPI_INT, recv, n, MPI_INT, comm);
  COMPARE(the, Alltoall, all, all, input(send), n, MPI_INT, recv, n, MPI_INT, comm);
  COMPARE(the, Gather, n, all, at_root ? MPI_IN_PLACE : send, n, MPI_INT, recv, n, MPI_INT,
          the.root, comm);
  COMPARE(the, Scatter, all, n, send, n, MPI_INT, at_root ? MPI_IN_PLACE : recv, n, MPI_INT,
          the.root, comm);
  if (!the.in_place)
    COMPARE(the, Reduce_scatter_block, all, n, send, recv, n, MPI_INT, MPI_SUM, comm);
}

void any_blocks(const Case& the) {
  std::vector<int> counts, displs;
  int room = 0, sum = 0;
  for (int i = 0; i < size; ++i) {
    counts.push_back(the.count * i / 2 + (i == 1 ? 0 : 1));
    displs.push_back(room + i % 3);
    room = displs.back() + counts.back();
    sum += counts.back();
  }
  const int mine = counts[static_cast<size_t>(rank)];
  const auto input = [&](const int* send) { return the.in_place ? MPI_IN_PLACE : send; };
  const bool at_root = the.in_place && rank == the.root;
  const int* const c = counts.data();
  const int* const d = displs.data();
  COMPARE(the, Allgatherv, mine, room, input(send), mine, MPI_INT, recv, c, d, MPI_INT, comm);
  COMPARE(the, Gatherv, mine, room, at_root ? MPI_IN_PLACE : send, mine, MPI_INT, recv, c, d,
          MPI_INT, the.root, comm);
  COMPARE(the, Scatterv, room, mine, send, c, d, MPI_INT, at_root ? MPI_IN_PLACE : recv, mine,
          MPI_INT, the.root, comm);
  if (!the.in_place)
    COMPARE(the, Reduce_scatter, sum, mine, send, recv, c, MPI_INT, MPI_SUM, comm);
  else
    COMPARE(the, Reduce_scatter, 0, sum, MPI_IN_PLACE, recv, c, MPI_INT, MPI_SUM, comm);
  std::vector<int> pairs, places;
  int all = 0;
  for (int i = 0; i < size; ++i) {
    pairs.push_back((rank + i) % 3 * the.count);
    places.push_back(all);
    all += pairs.back() + 1;
  }
  COMPARE(the, Alltoallv, all, all, input(send), pairs.data(), places.data(), MPI_INT, recv,
          pairs.data(), places.data(), MPI_INT, comm);
}

void holes(const Case& the) {
  const int n = the.count, ints = n * 8;
  if (the.in_place) return;
  COMPARE(the, Allreduce, ints, ints, send, recv, n, with_holes, MPI_SUM, comm);
  COMPARE(the, Bcast, 0, ints, recv, n, with_holes, the.root, comm);
  COMPARE(the, Allgather, ints, n * 2 * size, send, n, with_holes, recv, 2 * n, MPI_INT, comm);
  COMPARE(the, Alltoall, ints * size, ints * size, send, n, with_holes, recv, n, with_holes, comm);
}

void all_of(const Case& the) {
  vectors(the);
  equal_blocks(the);
  any_blocks(the);
  holes(the);
  OK(MPIX_Barrier_enqueue(on->comm));
}

}  // namespace

int main(int argc, char** argv) {
  set_for_test("stream_chunk", "4096");
  begin(&argc, &argv);
  start_cuda();
  OK(MPI_Type_vector(2, 1, 4, MPI_INT, &with_holes));
  MPI_Datatype resized = MPI_DATATYPE_NULL;
  OK(MPI_Type_create_resized(with_holes, 0, 8 * sizeof(int), &resized));
  OK(MPI_Type_free(&with_holes));
  with_holes = resized;
  OK(MPI_Type_commit(&with_holes));
  {
    const OnStream made;
    on = &made;
    int root = 0;
    for (const int count : {0, 1, 3, 200, 1023, 1025, 3001})
      for (const bool in_place : {false, true})
        for (const Kind kind : {Kind::kDevice, Kind::kHost, Kind::kManaged})
          all_of({count, in_place, kind, root++ % size});
  }
  OK(MPI_Type_free(&with_holes));
  return end();
}
