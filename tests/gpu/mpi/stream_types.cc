// SPDX-License-Identifier: Apache-2.0
// The program frees a type before the stream packs or unpacks data: the layout stays on the device
// while the stream or a graph may use the layout.
// ranks: 2 3
// configurations: 1 4-peers
// env: TERN_GPU_SCRATCH=4M
#include "stream.hpp"

using namespace tern::test;

namespace {

constexpr int kBlocks = 1000;

MPI_Datatype holes(unsigned seed, int* integers) {
  std::vector<int> lengths, places;
  int at = 0;
  *integers = 0;
  for (int i = 0; i < kBlocks; ++i) {
    seed = seed * 1664525 + 1013904223;
    lengths.push_back(1 + static_cast<int>(seed >> 20) % 3);
    places.push_back(at);
    at += lengths.back() + 1 + static_cast<int>(seed >> 24) % 3;
    *integers += lengths.back();
  }
  MPI_Datatype type = MPI_DATATYPE_NULL;
  OK(MPI_Type_indexed(kBlocks, lengths.data(), places.data(), MPI_INT, &type));
  OK(MPI_Type_commit(&type));
  return type;
}
// A second layout buffer must exist early, because the allocation waits for the streams.
void other_types() {
  for (unsigned seed = 100; seed < 120; ++seed) {
    int unused = 0;
    MPI_Datatype type = holes(seed, &unused);
    OK(MPI_Type_free(&type));
  }
}

class Gathering {
 public:
  explicit Gathering(bool irregular)
      : irregular_(irregular),
        type_(holes(1, &each_)),
        send_(static_cast<size_t>(each_)),
        recv_(n()),
        ones_(static_cast<size_t>(size), 1) {
    for (int i = 0; i < size; ++i) places_.push_back(i);
    std::vector<int> flat;
    for (int from = 0; from < size; ++from)
      for (int i = 0; i < each_; ++i) flat.push_back(from * 100000 + i);
    for (int i = 0; i < each_; ++i) send_[static_cast<size_t>(i)] = rank * 100000 + i;
    wanted_.assign(n(), -1);
    int position = 0;
    OK(MPI_Unpack(flat.data(), static_cast<int>(flat.size() * sizeof(int)), &position,
                  wanted_.data(), size, type_, MPI_COMM_SELF));
    for (size_t i = 0; i < n(); ++i) recv_[i] = -1;
  }
  void enqueue(const OnStream& on) const {
    send_.put(on.queue);
    recv_.put(on.queue);
    if (irregular_)
      OK(MPIX_Gatherv_enqueue(send_.on_device(), each_, MPI_INT, recv_.on_device(), ones_.data(),
                              places_.data(), type_, 0, on.comm));
    else
      OK(MPIX_Gather_enqueue(send_.on_device(), each_, MPI_INT, recv_.on_device(), 1, type_, 0,
                             on.comm));
  }
  void free_type() {
    OK(MPI_Type_free(&type_));
    other_types();
  }
  void check(const OnStream& on, const char* what) {
    recv_.get(on.queue);
    on.sync();
    for (size_t i = 0; rank == 0 && i < n(); ++i)
      if (recv_[i] != wanted_[i])
        FAIL("%s, %s: element %zu is %d, expected %d", irregular_ ? "gatherv" : "gather", what, i,
             recv_[i], wanted_[i]);
    for (size_t i = 0; i < n(); ++i) recv_[i] = -1;
  }

 private:
  [[nodiscard]] size_t n() const { return static_cast<size_t>(size * kBlocks * 8); }
  const bool irregular_;
  int each_ = 0;
  MPI_Datatype type_;
  Vector<int> send_, recv_;
  std::vector<int> ones_, places_, wanted_;
};

void freed_while_pending(const OnStream& on, bool irregular) {
  Gathering gathering(irregular);
  gathering.enqueue(on);
  gathering.check(on, "at once");
  other_types();
  if (rank != 0) OK(MPI_Barrier(MPI_COMM_WORLD));
  gathering.enqueue(on);
  gathering.free_type();
  if (rank == 0) OK(MPI_Barrier(MPI_COMM_WORLD));
  gathering.check(on, "its type freed");
}

void freed_with_a_graph(const OnStream& on, bool irregular) {
  Gathering gathering(irregular);
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  gathering.enqueue(on);
  on.sync();
  CU(cuStreamBeginCapture_v2(on.queue, CU_STREAM_CAPTURE_MODE_GLOBAL));
  gathering.enqueue(on);
  CU(cuStreamEndCapture(on.queue, &graph));
  CU(cuGraphInstantiateWithFlags(&exec, graph, 0));
  CU(cuGraphDestroy(graph));
  gathering.free_type();
  for (int i = 0; i < 3; ++i) {
    CU(cuGraphLaunch(exec, on.queue));
    gathering.check(on, "by a graph");
  }
  CU(cuGraphExecDestroy(exec));
}

}  // namespace

int main(int argc, char** argv) {
  begin(&argc, &argv);
  start_cuda();
  {
    const OnStream on;
    for (const bool irregular : {false, true}) {
      freed_while_pending(on, irregular);
      freed_with_a_graph(on, irregular);
    }
  }
  return end();
}
