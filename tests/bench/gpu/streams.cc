// SPDX-License-Identifier: Apache-2.0
// Enqueued operations between two events of a stream, by Tern and by NCCL: the time of a call and
// the bus bandwidth by the formulas of nccl-tests. BENCH_MOST: bytes of the largest size. Output:
// `streams_NAME_LIBRARY bytes ranks value us` and `busbw_NAME_LIBRARY ... GB/s`. Bytes are the size
// of a rank's larger buffer.
#include "nccl.hpp"
#include "tests/gpu/mpi/stream.hpp"

using namespace tern::bench;

namespace {

constexpr size_t kKi = 1024, kMi = kKi * kKi;
constexpr size_t kLengths[] = {8,   64,      512,      4 * kKi,  32 * kKi, 256 * kKi,
                               kMi, 4 * kMi, 16 * kMi, 64 * kMi, 256 * kMi};
constexpr size_t kMostCompared = kMi;

struct Side {
  float* from;
  float* to;
  int count;
};

int next() { return (rank + 1) % size; }
int before() { return (rank + size - 1) % size; }

void exchange(const Side& s, MPI_Comm comm) {
  MPI_Request requests[2];
  OK(MPIX_Irecv_enqueue(s.to, s.count, MPI_FLOAT, before(), 0, comm, &requests[0]));
  OK(MPIX_Isend_enqueue(s.from, s.count, MPI_FLOAT, next(), 0, comm, &requests[1]));
  OK(MPIX_Waitall_enqueue(2, requests, MPI_STATUSES_IGNORE));
}

void nccl_alltoall(const Nccl& nccl, const Side& s, CUstream queue) {
  CHECK_EQ(nccl.GroupStart(), 0);
  const auto count = static_cast<size_t>(s.count);
  for (int peer = 0; peer < size; ++peer) {
    const size_t at = static_cast<size_t>(peer) * count;
    CHECK_EQ(nccl.Send(s.from + at, count, kNcclFloat, peer, nccl.comm, queue), 0);
    CHECK_EQ(nccl.Recv(s.to + at, count, kNcclFloat, peer, nccl.comm, queue), 0);
  }
  CHECK_EQ(nccl.GroupEnd(), 0);
}

void nccl_exchange(const Nccl& nccl, const Side& s, CUstream queue) {
  const auto count = static_cast<size_t>(s.count);
  CHECK_EQ(nccl.GroupStart(), 0);
  CHECK_EQ(nccl.Send(s.from, count, kNcclFloat, next(), nccl.comm, queue), 0);
  CHECK_EQ(nccl.Recv(s.to, count, kNcclFloat, before(), nccl.comm, queue), 0);
  CHECK_EQ(nccl.GroupEnd(), 0);
}

struct Operation {
  const char* name;
  bool in_blocks;
  double (*factor)();  // of nccl-tests: bus bandwidth of bytes / time
  void (*expect)(const Side&);
  void (*tern)(const Side&, MPI_Comm);
  void (*nccl)(const Nccl&, const Side&, CUstream);
};

double of_one() { return 1; }
double of_others() { return (size - 1) / static_cast<double>(size); }
double of_two_ways() { return 2 * of_others(); }
size_t length(const Side& s) { return static_cast<size_t>(s.count); }

const Operation kOperations[] = {
    {"allreduce", false, of_two_ways,
     [](const Side& s) {
       OK(MPI_Allreduce(s.from, s.to, s.count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD));
     },
     [](const Side& s, MPI_Comm comm) {
       OK(MPIX_Allreduce_enqueue(s.from, s.to, s.count, MPI_FLOAT, MPI_SUM, comm));
     },
     [](const Nccl& n, const Side& s, CUstream q) {
       CHECK_EQ(n.AllReduce(s.from, s.to, length(s), kNcclFloat, kNcclSum, n.comm, q), 0);
     }},
    {"allgather", true, of_others,
     [](const Side& s) {
       OK(MPI_Allgather(s.from, s.count, MPI_FLOAT, s.to, s.count, MPI_FLOAT, MPI_COMM_WORLD));
     },
     [](const Side& s, MPI_Comm comm) {
       OK(MPIX_Allgather_enqueue(s.from, s.count, MPI_FLOAT, s.to, s.count, MPI_FLOAT, comm));
     },
     [](const Nccl& n, const Side& s, CUstream q) {
       CHECK_EQ(n.AllGather(s.from, s.to, length(s), kNcclFloat, n.comm, q), 0);
     }},
    {"reduce_scatter", true, of_others,
     [](const Side& s) {
       OK(MPI_Reduce_scatter_block(s.from, s.to, s.count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD));
     },
     [](const Side& s, MPI_Comm comm) {
       OK(MPIX_Reduce_scatter_block_enqueue(s.from, s.to, s.count, MPI_FLOAT, MPI_SUM, comm));
     },
     [](const Nccl& n, const Side& s, CUstream q) {
       CHECK_EQ(n.ReduceScatter(s.from, s.to, length(s), kNcclFloat, kNcclSum, n.comm, q), 0);
     }},
    {"broadcast", false, of_one,
     [](const Side& s) {
       OK(MPI_Bcast(rank == 0 ? s.from : s.to, s.count, MPI_FLOAT, 0, MPI_COMM_WORLD));
     },
     [](const Side& s, MPI_Comm comm) {
       OK(MPIX_Bcast_enqueue(rank == 0 ? s.from : s.to, s.count, MPI_FLOAT, 0, comm));
     },
     [](const Nccl& n, const Side& s, CUstream q) {
       float* const data = rank == 0 ? s.from : s.to;
       CHECK_EQ(n.Broadcast(data, data, length(s), kNcclFloat, 0, n.comm, q), 0);
     }},
    {"alltoall", true, of_others,
     [](const Side& s) {
       OK(MPI_Alltoall(s.from, s.count, MPI_FLOAT, s.to, s.count, MPI_FLOAT, MPI_COMM_WORLD));
     },
     [](const Side& s, MPI_Comm comm) {
       OK(MPIX_Alltoall_enqueue(s.from, s.count, MPI_FLOAT, s.to, s.count, MPI_FLOAT, comm));
     },
     nccl_alltoall},
    {"sendrecv", false, of_one,
     [](const Side& s) {
       OK(MPI_Sendrecv(s.from, s.count, MPI_FLOAT, next(), 0, s.to, s.count, MPI_FLOAT, before(), 0,
                       MPI_COMM_WORLD, MPI_STATUS_IGNORE));
     },
     exchange, nccl_exchange},
};

int calls_of(size_t bytes) { return quick ? 2 : bytes <= kMi ? 50 : bytes <= 16 * kMi ? 20 : 5; }

/// seconds_by_events() times several calls between two events: the median of batches, of the
/// slowest rank.
double seconds_by_events(int calls, CUstream queue, const std::function<void()>& call) {
  CUevent begin = nullptr, end = nullptr;
  CU(cuEventCreate(&begin, 0));
  CU(cuEventCreate(&end, 0));
  std::vector<double> batches;
  for (int batch = 0; batch < (quick ? 2 : 12); ++batch) {
    OK(MPI_Barrier(MPI_COMM_WORLD));
    CU(cuEventRecord(begin, queue));
    for (int i = 0; i < calls; ++i) call();
    CU(cuEventRecord(end, queue));
    CU(cuStreamSynchronize(queue));
    float milliseconds = 0;
    CU(cuEventElapsedTime(&milliseconds, begin, end));
    double mine = static_cast<double>(milliseconds) / 1e3 / calls, slowest = 0;
    OK(MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD));
    if (batch > 0) batches.push_back(slowest);
  }
  CU(cuEventDestroy_v2(begin));
  CU(cuEventDestroy_v2(end));
  std::sort(batches.begin(), batches.end());
  return batches[batches.size() / 2];
}

struct Bench {
  const tern::test::OnStream& on;
  const Nccl* nccl;
  Area from, to;

  [[nodiscard]] Side side(int count) const {
    return {static_cast<float*>(from.address()), static_cast<float*>(to.address()), count};
  }
  [[nodiscard]] std::vector<uint8_t> result(size_t bytes, const std::function<void()>& call) const {
    to.put(std::vector<uint8_t>(bytes, 0x5a));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    call();
    CU(cuStreamSynchronize(on.queue));
    return to.get(bytes);
  }
  void way(const Operation& operation, const char* library, size_t bytes,
           const std::vector<uint8_t>& expected, const std::function<void()>& call) const {
    if (!expected.empty() && result(bytes, call) != expected)
      FAIL("%s of %zu bytes by %s has a wrong result", operation.name, bytes, library);
    const double seconds = seconds_by_events(calls_of(bytes), on.queue, call);
    const std::string of = std::string(operation.name) + "_" + library;
    report(("streams_" + of).c_str(), bytes, seconds * 1e6, "us");
    report(("busbw_" + of).c_str(), bytes,
           static_cast<double>(bytes) / seconds * operation.factor() / 1e9, "GB/s");
  }
  void run(const Operation& operation, size_t wanted) const {
    const size_t blocks = operation.in_blocks ? static_cast<size_t>(size) : 1;
    const size_t count = std::max<size_t>(1, wanted / sizeof(float) / blocks);
    const size_t bytes = count * blocks * sizeof(float);
    const Side s = side(static_cast<int>(count));
    std::vector<uint8_t> expected;
    if (bytes <= kMostCompared) expected = result(bytes, [&] { operation.expect(s); });
    way(operation, "tern", bytes, expected, [&] { operation.tern(s, on.comm); });
    if (nccl != nullptr)
      way(operation, "nccl", bytes, expected, [&] { operation.nccl(*nccl, s, on.queue); });
  }
};

}  // namespace

int main(int argc, char** argv) {
  start(&argc, &argv);
  {
    const tern::test::OnStream on;
    Nccl nccl;
    const std::string why_not = open_nccl(&nccl);
    if (!why_not.empty() && rank == 0)
      std::fprintf(stderr, "NCCL is left out: %s\n", why_not.c_str());
    const char* const asked = std::getenv("BENCH_MOST");
    const size_t most = quick              ? large()
                        : asked != nullptr ? std::strtoull(asked, nullptr, 10)
                                           : kLengths[std::size(kLengths) - 1];
    const size_t room = most + static_cast<size_t>(size) * sizeof(float);
    const Bench bench{on, why_not.empty() ? &nccl : nullptr, Area(Kind::kDevice, room),
                      Area(Kind::kDevice, room)};
    // Small whole numbers have sums with the same bits in any order.
    std::vector<float> numbers(room / sizeof(float));
    for (size_t i = 0; i < numbers.size(); ++i)
      numbers[i] = static_cast<float>(rank + static_cast<int>(i % 97));
    bench.from.put(numbers.data(), numbers.size() * sizeof(float));
    for (const Operation& operation : kOperations)
      for (const size_t bytes : kLengths)
        if (bytes <= most) bench.run(operation, bytes);
    if (nccl.comm != nullptr) CHECK_EQ(nccl.CommDestroy(nccl.comm), 0);
  }
  return finish();
}
