// SPDX-License-Identifier: Apache-2.0
// Enqueued collectives beyond the scratch size take many passes in two alternating streams. A pass
// must not overwrite the input of a later pass.
// ranks: 2 3
// configurations: 4-peers jitter
// full-configurations: mps
// timeout: 60
#include "stream.hpp"

using namespace tern::test;

namespace {

std::vector<int> counts_of(int most) {
  std::vector<int> counts;
  for (int i = 0; i < size; ++i) counts.push_back(i == 1 ? most : most / (i + 3));
  return counts;
}

int sum_of(const std::vector<int>& counts) {
  int sum = 0;
  for (const int one : counts) sum += one;
  return sum;
}

void fill(Vector<int>* data, std::vector<int>* copy) {
  for (size_t i = 0; i < copy->size(); ++i)
    (*data)[i] = (*copy)[i] = static_cast<int>(i * 31 + static_cast<size_t>(rank) * 77) % 1000;
}

void compare(const OnStream& on, Vector<int>* found, const std::vector<int>& want, size_t count,
             const char* what) {
  found->get(on.queue);
  on.sync();
  for (size_t i = 0; i < count; ++i)
    if ((*found)[i] != want[i])
      FAIL("%s: element %zu of %zu is %d, expected %d", what, i, count, (*found)[i], want[i]);
}

void reduce_scatter(const OnStream& on, int most) {
  const std::vector<int> counts = counts_of(most);
  const auto all = static_cast<size_t>(sum_of(counts));
  const auto mine = static_cast<size_t>(counts[static_cast<size_t>(rank)]);
  Vector<int> data(all);
  std::vector<int> host(all);
  fill(&data, &host);
  data.put(on.queue);
  OK(MPIX_Reduce_scatter_enqueue(MPI_IN_PLACE, data.on_device(), counts.data(), MPI_INT, MPI_SUM,
                                 on.comm));
  OK(MPI_Reduce_scatter(MPI_IN_PLACE, host.data(), counts.data(), MPI_INT, MPI_SUM,
                        MPI_COMM_WORLD));
  compare(on, &data, host, mine, "a reduce-scatter in place with blocks of many sizes");
}

void allgather(const OnStream& on, int most) {
  const std::vector<int> counts = counts_of(most);
  const auto all = static_cast<size_t>(sum_of(counts));
  std::vector<int> displs;
  for (int i = 0, at = 0; i < size; at += counts[static_cast<size_t>(i++)]) displs.push_back(at);
  Vector<int> data(all);
  std::vector<int> host(all);
  fill(&data, &host);
  data.put(on.queue);
  OK(MPIX_Allgatherv_enqueue(MPI_IN_PLACE, 0, MPI_INT, data.on_device(), counts.data(),
                             displs.data(), MPI_INT, on.comm));
  OK(MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_INT, host.data(), counts.data(), displs.data(), MPI_INT,
                    MPI_COMM_WORLD));
  compare(on, &data, host, all, "an allgather in place with blocks of many sizes");
}

void equal(const OnStream& on, int count) {
  const auto all = static_cast<size_t>(count * size);
  Vector<int> data(all);
  std::vector<int> host(all);
  fill(&data, &host);
  data.put(on.queue);
  OK(MPIX_Alltoall_enqueue(MPI_IN_PLACE, 0, MPI_INT, data.on_device(), count, MPI_INT, on.comm));
  OK(MPI_Alltoall(MPI_IN_PLACE, 0, MPI_INT, host.data(), count, MPI_INT, MPI_COMM_WORLD));
  compare(on, &data, host, all, "an alltoall in place");
  OK(MPIX_Allreduce_enqueue(MPI_IN_PLACE, data.on_device(), static_cast<int>(all), MPI_INT, MPI_SUM,
                            on.comm));
  OK(MPI_Allreduce(MPI_IN_PLACE, host.data(), static_cast<int>(all), MPI_INT, MPI_SUM,
                   MPI_COMM_WORLD));
  compare(on, &data, host, all, "an allreduce in place");
}

}  // namespace

int main(int argc, char** argv) {
  setenv("TERN_GPU_SCRATCH", "1048576", 1);
  begin(&argc, &argv);
  start_cuda();
  {
    const OnStream on;
    for (const int count : {700001, 30, 262144}) {
      reduce_scatter(on, count);
      allgather(on, count);
      equal(on, count);
    }
  }
  return end();
}
