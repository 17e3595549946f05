// SPDX-License-Identifier: Apache-2.0
// Each driver function of a device collective fails once on one rank, at the first and the second
// call, in a communicator's first collective and in a later one. Each call ends on both ranks, and
// a later communicator works.
// ranks: 2
// configurations: 4-peers mps
// full-configurations: queue-peers
// env: TERN_GPU_SCRATCH=8M
// timeout: 150
// waits: yes
#include "faults.hpp"

using namespace tern::test;

namespace {

int outcomes[2];
int step = 0;

int reduce(MPI_Comm comm, int count, const Area& area, const std::string& fault) {
  const int base = ++step * 10;
  std::vector<int> data(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) data[static_cast<size_t>(i)] = base + rank + i;
  area.put(data.data(), data.size() * sizeof(int));
  control().fault(fault.c_str());
  const int code = MPI_Allreduce(MPI_IN_PLACE, area.address(), count, MPI_INT, MPI_SUM, comm);
  control().fault("");
  if (code != MPI_SUCCESS) return code;
  area.get(data.data(), data.size() * sizeof(int));
  for (int i = 0; i < count; ++i)
    if (data[static_cast<size_t>(i)] != 2 * (base + i) + 1)
      FAIL("%s: no rank reports an error, but element %d of %d is %d, expected %d", doing, i, count,
           data[static_cast<size_t>(i)], 2 * (base + i) + 1);
  return MPI_SUCCESS;
}

MPI_Comm fresh() {
  MPI_Comm comm = MPI_COMM_NULL;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  return comm;
}

void each(const char* what, int count, bool prepared, const Area& area, const char* only) {
  MPI_Comm comm = fresh();
  if (prepared) OK(reduce(comm, count, area, ""));
  for (const int at : {0, 1}) {
    MPI_Comm other = fresh();
    if (prepared) OK(reduce(other, count, area, ""));
    const auto faults = called(at, [&] { OK(reduce(other, count, area, "")); });
    for (const std::string& fault : faults) {
      // A failing cuCtxGetId means a lost context (context_reset.cc).
      if (fault.find(only) != 0 || fault.find("cuCtxGetId") == 0) continue;
      now(std::string(what) + ", " + fault + " at rank " + std::to_string(at), 20);
      const int code = reduce(comm, count, area, rank == at ? fault + "999" : "");
      ++outcomes[code == MPI_SUCCESS ? 0 : 1];
      int worst = 0;
      OK(MPI_Allreduce(&code, &worst, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
      // If a rank finished before the failure, the next call of the rank returns the error.
      if (worst != MPI_SUCCESS && code == MPI_SUCCESS)
        CHECK(MPI_Barrier(comm) != MPI_SUCCESS);
      else if (code != MPI_SUCCESS)
        (void)MPI_Barrier(comm);
      OK(MPI_Comm_free(&comm));
      comm = fresh();
      OK(reduce(comm, count, area, ""));
      if (!prepared) {
        OK(MPI_Comm_free(&comm));
        comm = fresh();
      }
      alarm(0);
    }
    OK(MPI_Comm_free(&other));
  }
  OK(MPI_Comm_free(&comm));
}

}  // namespace

int main(int argc, char** argv) {
  begin(&argc, &argv);
  if (!control().there()) return end() == 0 ? 77 : 1;  // real drivers do not fail on request
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  end_with_words();
  start_cuda();
  const char* const only = argc > 1 ? argv[1] : "";
  const Area area = plain(400000 * sizeof(int));
  each("a first reduction", 100, false, area, only);
  // The counts select LL, LL128 and a program. TSan keeps gigabytes for freed communicators, so
  // TSan builds run only the first case.
  std::vector<int> counts{100, 50000, 200000};
  if (kSlowness > 1) counts.pop_back();
  if (kSlowness > 2) counts.clear();
  for (const int count : counts) each("a reduction", count, true, area, only);
  CHECK(*only != '\0' || (outcomes[0] > 0 && outcomes[1] > 0));
  if (std::getenv("FAULT_TELLS") != nullptr)
    std::printf("[rank %d] %d succeed, %d fail\n", rank, outcomes[0], outcomes[1]);
  return end();
}
