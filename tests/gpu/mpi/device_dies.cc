// SPDX-License-Identifier: Apache-2.0
// A device dies (error 700) during messages: its requests fail with the rank and the driver's error
// name, the peer learns of the death soon, and host messages continue.
// ranks: 2
// configurations: 1 2-apart
// alone: yes
#include <ctime>

#include "allocators.hpp"

using namespace tern::test;

namespace {

constexpr int kMessages = 4;

void check_text(int code) {
  CHECK(class_of(code) == MPI_ERR_OTHER || class_of(code) == MPI_ERR_BUFFER);
  const std::string text = error_text(code);
  if (text.find("CUDA_ERROR_ILLEGAL_ADDRESS") == std::string::npos)
    FAIL("the error does not name the driver's: %s", text.c_str());
  if (text.find("rank ") == std::string::npos && text.find("device ") == std::string::npos)
    FAIL("the error does not say where: %s", text.c_str());
}

// A polling rank gets the same CPU time as a busy peer.
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
constexpr double kSoon = 10;
#else
constexpr double kSoon = 1;
#endif

int ended(std::vector<MPI_Request>& requests, bool mine) {
  int failed = 0;
  const std::clock_t start = std::clock();
  for (MPI_Request& request : requests) {
    int flag = 0;
    int code = MPI_SUCCESS;
    while (!flag) {
      code = MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
      if (static_cast<double>(std::clock() - start) > kSoon * CLOCKS_PER_SEC)
        FAIL("a request has not ended within %g s of this rank's CPU", kSoon);
    }
    failed += code != MPI_SUCCESS;
    if (code != MPI_SUCCESS && mine) check_text(code);
  }
  return failed;
}

struct Case {
  int dies;
  size_t bytes;
  bool holes;
  bool before;
};

bool dead() { return cuCtxSynchronize() == CUDA_ERROR_ILLEGAL_ADDRESS; }

void die(bool at_once) {
  if (at_once) {
    control().fault("cuCtxSynchronize:1:700");
    CHECK(dead());
  } else {
    control().fault("cuMemcpyAsync:1:700,cuMemcpy2DAsync_v2:1:700,cuLaunchKernel:1:700");
  }
}

void exchange(const Case& what) {
  std::vector<Area> areas;
  for (int i = 0; i < kMessages; ++i) areas.push_back(plain(what.bytes * 2));
  const int count = static_cast<int>(what.bytes / 4);
  MPI_Datatype type = MPI_INT;
  if (what.holes) OK(MPI_Type_vector(count, 1, 2, MPI_INT, &type));
  if (what.holes) OK(MPI_Type_commit(&type));
  std::vector<MPI_Request> requests(kMessages);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank == what.dies) die(what.before);
  int failed = 0;
  for (int i = 0; i < kMessages; ++i) {
    void* const at = areas[static_cast<size_t>(i)].address();
    MPI_Request& request = requests[static_cast<size_t>(i)];
    const int n = what.holes ? 1 : count;
    const int code = rank == 0 ? MPI_Isend(at, n, type, 1, i, MPI_COMM_WORLD, &request)
                               : MPI_Irecv(at, n, type, 0, i, MPI_COMM_WORLD, &request);
    if (code == MPI_SUCCESS) continue;
    CHECK_EQ(rank, what.dies);
    check_text(code);
    ++failed;
    request = MPI_REQUEST_NULL;
  }
  failed += ended(requests, rank == what.dies);
  const bool is_dead = rank == what.dies && dead();
  const bool none = what.before && (rank == what.dies || what.dies == 0);
  if (none && failed != kMessages) FAIL("%d of %d requests fail", failed, kMessages);
  if (is_dead && failed == 0) FAIL("the device is dead, and no request says so");
  control().fault("");
  if (what.holes) OK(MPI_Type_free(&type));
  for (Area& area : areas) area.free = nullptr;  // freed with the context
  OK(MPI_Barrier(MPI_COMM_WORLD));
  CU(cuDevicePrimaryCtxReset_v2(rank % devices));
  CU(cuDevicePrimaryCtxRetain(&contexts[rank % devices], rank % devices));
  CU(cuCtxSetCurrent(contexts[rank % devices]));
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

void on_host() {
  std::vector<char> word(100000);
  OK(MPI_Sendrecv_replace(word.data(), 100000, MPI_BYTE, 1 - rank, 9, 1 - rank, 9, MPI_COMM_WORLD,
                          MPI_STATUS_IGNORE));
}

}  // namespace

int main(int argc, char** argv) {
  begin(&argc, &argv);
  if (!control().there()) return end() == 0 ? 77 : 1;  // real drivers do not fail on request
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  start_cuda();
  for (const int dies : {0, 1})
    for (const size_t bytes : {size_t{64}, size_t{20000}, size_t{3 << 20}})
      for (const bool holes : {false, true})
        for (const bool before : {false, true}) {
          exchange({dies, bytes, holes, before});
          on_host();
        }
  return end();
}
