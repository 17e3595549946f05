// SPDX-License-Identifier: Apache-2.0
// Large collectives use a switch that reduces and replicates: the default for at least 3 ranks and
// more than 1 MiB. TERN_EXPLAIN names the reason for another path. On request calls of any size use
// the switch.
// ranks: 2 3 4
// configurations: 4-peers 1 mps
// env: TERN_EXPLAIN=1
// timeout: 120
// variant: small
//   The switch on request.
//   ranks: 1 2 3 4
//   configurations: 4-peers
//   env: TERN_GPU_WIRE=multimem TERN_EXPLAIN=1
#include <unistd.h>

#include "said.hpp"
#include "stream.hpp"

using namespace tern::test;

namespace {

const Heard* heard = nullptr;
size_t said_before = 0;
void expect_switch(bool wanted, const char* what) {
  const std::string news = heard->text(said_before);
  said_before += news.size();
  if (rank == 0 && (news.find("(multimem, ") != std::string::npos) != wanted)
    FAIL("%s: the switch was %staken: %s", what, wanted ? "not " : "", news.c_str());
}

int value(int of, size_t i) { return of * 1000 + static_cast<int>(i % 9973); }
int sum(size_t i) { return size * (size - 1) / 2 * 1000 + size * static_cast<int>(i % 9973); }

template <class T>
void allreduce(const OnStream& on, size_t count, MPI_Datatype type, MPI_Op op, bool in_place) {
  Vector<T> data(count), result(count);
  for (size_t i = 0; i < count; ++i) data[i] = static_cast<T>(value(rank, i) % 61);
  data.put(on.queue);
  result.spoil(on.queue);
  OK(MPIX_Allreduce_enqueue(in_place ? MPI_IN_PLACE : data.on_device(),
                            (in_place ? data : result).on_device(), static_cast<int>(count), type,
                            op, on.comm));
  (in_place ? data : result).get(on.queue);
  on.sync();
  for (size_t i = 0; i < count; ++i) {
    T want = static_cast<T>(value(0, i) % 61);
    for (int r = 1; r < size; ++r) {
      const T one = static_cast<T>(value(r, i) % 61);
      want = op == MPI_SUM ? want + one : op == MPI_MAX ? std::max(want, one) : want * one;
    }
    const T found = (in_place ? data : result)[i];
    if (found != want)
      FAIL("%zu elements: element %zu is %g, expected %g", count, i, static_cast<double>(found),
           static_cast<double>(want));
  }
}

void of_many_kinds(const OnStream& on, size_t count, bool reduces) {
  Vector<int> data(3 * count + 1);
  MPI_Datatype spaced = MPI_DATATYPE_NULL;
  OK(MPI_Type_vector(static_cast<int>(count), 1, 3, MPI_INT, &spaced));
  OK(MPI_Type_commit(&spaced));
  const bool is_spaced = rank == 1 && !reduces;
  const size_t step = is_spaced ? 3 : 1, skew = rank > 1 ? 1 : 0;
  for (size_t i = 0; i < 3 * count; ++i) data[i] = -1;
  for (size_t i = 0; i < count; ++i) data[i * step + skew] = value(rank, i);
  data.put(on.queue);
  on.sync();
  int* const place = rank == 0 ? &data[0] : data.on_device() + skew;
  const int root = size - 1, ints = static_cast<int>(count);
  if (reduces)
    OK(MPIX_Allreduce_enqueue(MPI_IN_PLACE, place, ints, MPI_INT, MPI_SUM, on.comm));
  else
    OK(MPIX_Bcast_enqueue(place, is_spaced ? 1 : ints, is_spaced ? spaced : MPI_INT, root,
                          on.comm));
  if (rank != 0) data.get(on.queue);
  on.sync();
  for (size_t i = 0; i < count; ++i) {
    const int want = reduces ? sum(i) : value(root, i);
    if (data[i * step + skew] != want)
      FAIL("of many kinds: element %zu is %d, expected %d", i, data[i * step + skew], want);
    if (is_spaced && data[i * 3 + 1] != -1) FAIL("a hole behind element %zu was written", i);
  }
  OK(MPI_Type_free(&spaced));
}

void blocks(const OnStream& on, size_t count, bool in_place) {
  const size_t all = count * static_cast<size_t>(size);
  Vector<int> data(all), made(count), gathered(all);
  for (size_t i = 0; i < all; ++i) data[i] = value(rank, i);
  data.put(on.queue);
  made.spoil(on.queue);
  gathered.spoil(on.queue);
  OK(MPIX_Reduce_scatter_block_enqueue(in_place ? MPI_IN_PLACE : data.on_device(),
                                       in_place ? data.on_device() : made.on_device(),
                                       static_cast<int>(count), MPI_INT, MPI_SUM, on.comm));
  OK(MPIX_Allgather_enqueue(in_place ? data.on_device() : made.on_device(), static_cast<int>(count),
                            MPI_INT, gathered.on_device(), static_cast<int>(count), MPI_INT,
                            on.comm));
  OK(MPIX_Bcast_enqueue(gathered.on_device(), static_cast<int>(all), MPI_INT, size - 1, on.comm));
  gathered.get(on.queue);
  on.sync();
  for (size_t i = 0; i < all; ++i)
    if (gathered[i] != sum(i))
      FAIL("blocks of %zu: element %zu is %d, expected %d", count, i, gathered[i], sum(i));
}

template <class T>
void ordinary(size_t count, MPI_Datatype type, bool is_switched, const char* what) {
  Vector<T> data(count), result(count);
  std::vector<T> given(count), wanted(count), made(count);
  for (size_t i = 0; i < count; ++i) given[i] = static_cast<T>(value(rank, i)) / 7;
  OK(MPI_Allreduce(given.data(), wanted.data(), static_cast<int>(count), type, MPI_SUM,
                   MPI_COMM_WORLD));
  CU(cuMemcpyHtoD_v2(reinterpret_cast<CUdeviceptr>(data.on_device()), given.data(), data.bytes()));
  said_before = heard->text().size();
  // A busy device moves all ranks to another path for some calls.
  bool taken = false;
  for (int call = 0; call < 64; ++call) {
    if (call % 16 == 0) usleep(50'000);
    result.spoil(nullptr);
    CU(cuCtxSynchronize());
    OK(MPI_Allreduce(data.on_device(), result.on_device(), static_cast<int>(count), type, MPI_SUM,
                     MPI_COMM_WORLD));
    CU(cuMemcpyDtoH_v2(made.data(), reinterpret_cast<CUdeviceptr>(result.on_device()),
                       data.bytes()));
    if (std::memcmp(made.data(), wanted.data(), data.bytes()) != 0)
      FAIL("%s: other bits than from host memory", what);
    taken |= heard->text(said_before).find("(multimem, ") != std::string::npos;
  }
  said_before = heard->text().size();
  if (rank == 0 && taken != is_switched)
    FAIL("%s: the switch was %staken", what, is_switched ? "not " : "");
}

void replay(const OnStream& on) {
  constexpr int kRounds = 40;
  constexpr size_t kCount = 3000;
  Vector<int> data(kCount);
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  CU(cuStreamBeginCapture_v2(on.queue, CU_STREAM_CAPTURE_MODE_GLOBAL));
  data.put(on.queue);
  OK(MPIX_Allreduce_enqueue(MPI_IN_PLACE, data.on_device(), kCount, MPI_INT, MPI_SUM, on.comm));
  data.get(on.queue);
  CU(cuStreamEndCapture(on.queue, &graph));
  CU(cuGraphInstantiateWithFlags(&exec, graph, 0));
  CU(cuGraphDestroy(graph));
  for (int round = 0; round < kRounds; ++round) {
    for (size_t i = 0; i < kCount; ++i) data[i] = value(rank, i) + round;
    CU(cuGraphLaunch(exec, on.queue));
    on.sync();
    for (size_t i = 0; i < kCount; ++i)
      if (data[i] != sum(i) + size * round)
        FAIL("round %d: element %zu is %d, expected %d", round, i, data[i], sum(i) + size * round);
    if (round % 10 == 0) allreduce<int>(on, 100, MPI_INT, MPI_SUM, true);
  }
  CU(cuGraphExecDestroy(exec));
}

void large(const OnStream& on, bool is_switched) {
  const bool taken = is_switched && size > 2;
  expect_switch(false, "nothing yet");
  allreduce<int>(on, 262144, MPI_INT, MPI_SUM, true);
  expect_switch(false, "1 MiB");
  allreduce<int>(on, 262145, MPI_INT, MPI_SUM, true);
  expect_switch(taken, "more than 1 MiB");
  allreduce<float>(on, 2500001, MPI_FLOAT, MPI_SUM, false);
  expect_switch(taken, "floats");
  allreduce<float>(on, 300001, MPI_FLOAT, MPI_MAX, false);
  expect_switch(false, "the largest of floats");
  allreduce<int>(on, 300001, MPI_INT, MPI_PROD, false);
  expect_switch(false, "products");
  of_many_kinds(on, 600011, true);
  blocks(on, 150001, false);
  expect_switch(taken, "blocks");
}

void small(const OnStream& on, bool is_switched) {
  allreduce<int>(on, 1, MPI_INT, MPI_SUM, true);
  expect_switch(is_switched, "one int");
  allreduce<int>(on, 3001, MPI_INT, MPI_MAX, false);
  for (const bool reduces : {true, false}) {
    of_many_kinds(on, 4999, reduces);
    of_many_kinds(on, 2100001, reduces);
  }
  blocks(on, 7, false);
  blocks(on, 2001, true);
  blocks(on, 700001, false);
  if (is_switched) replay(on);
  ordinary<int>(40001, MPI_INT, is_switched, "integers by an ordinary call");
  ordinary<float>(40001, MPI_FLOAT, false, "floats by an ordinary call");
}

}  // namespace

int main(int argc, char** argv) {
  begin(&argc, &argv);
  start_cuda();
  int multicast = 0;
  CU(cuDeviceGetAttribute(&multicast, CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, 0));
  const bool is_switched = multicast != 0 && devices >= size && size > 1;
  const char* const wire = std::getenv("TERN_GPU_WIRE");
  {
    const Heard hears;
    heard = &hears;
    const OnStream on;
    wire != nullptr ? small(on, is_switched) : large(on, is_switched);
  }
  return end();
}
