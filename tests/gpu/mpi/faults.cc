// SPDX-License-Identifier: Apache-2.0
// Each driver function that a protocol calls fails once, in each rank: an error or a way around, no
// hang, right data where no error is told, and nothing left behind.
// ranks: 2
// configurations: 1 2-apart
// timeout: 120
#include <dlfcn.h>
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "tests/softcuda/user_functions.hpp"

namespace {

void (*fault)(const char* rows);
unsigned long long (*calls)(const char* function);
const char* (*function_name)(unsigned n);
long long (*live)(const char* kind);

int rank, size;
CUdeviceptr buffers[2];
constexpr int kMost = 3 << 20;

void check(CUresult result, const char* what, int line) {
  if (result == CUDA_SUCCESS) return;
  std::fprintf(stderr, "line %d: %s: CUDA error %d\n", line, what, result);
  MPI_Abort(MPI_COMM_WORLD, 1);
}
#define CU(call) check(call, #call, __LINE__)

void fail(const std::string& why) {
  std::fprintf(stderr, "rank %d: %s\n", rank, why.c_str());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

// A protocol fills, moves and looks; it gives the error that MPI told, and ends the job over wrong
// data that no error came with.
struct Protocol {
  const char* name;
  int (*run)(int bytes);
  int bytes;
};

void set(int which, int value, int bytes) {
  CU(cuMemsetD8Async(buffers[which], static_cast<unsigned char>(value), static_cast<size_t>(bytes),
                     nullptr));
  CU(cuStreamSynchronize(nullptr));
}

void expect(int which, int value, int bytes, const char* name) {
  std::vector<unsigned char> got(static_cast<size_t>(bytes));
  CU(cuMemcpyDtoH_v2(got.data(), buffers[which], got.size()));
  for (unsigned char byte : got)
    if (byte != value) fail(std::string(name) + ": no error and wrong data");
}

// A message that could not be begun was not begun: its peer waits for it, so it is begun again.
template <class F>
int post(F begin) {
  int error = begin();
  if (error == MPI_SUCCESS) return error;
  fault("");
  const int again = begin();
  if (again != MPI_SUCCESS) fail("fails again after the failure is over");
  return error;
}

int exchange(int bytes) {
  set(0, rank + 1, bytes);
  set(1, 0, bytes);
  MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  const int peer = 1 - rank;
  void *from = reinterpret_cast<void*>(buffers[0]), *to = reinterpret_cast<void*>(buffers[1]);
  int error =
      post([&] { return MPI_Irecv(to, bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &requests[0]); });
  error = std::max(error, post([&] {
                     return MPI_Isend(from, bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &requests[1]);
                   }));
  for (MPI_Request& request : requests)
    error = std::max(error, MPI_Wait(&request, MPI_STATUS_IGNORE));
  return error;
}

int sum(int bytes) {
  set(0, 1, bytes);
  set(1, 0, bytes);
  return MPI_Allreduce(reinterpret_cast<void*>(buffers[0]), reinterpret_cast<void*>(buffers[1]),
                       bytes, MPI_UINT8_T, MPI_SUM, MPI_COMM_WORLD);
}

constexpr Protocol kProtocols[] = {{"small message", exchange, 100},
                                   {"eager message", exchange, 6000},
                                   {"large message", exchange, kMost},
                                   {"small sum", sum, 100},
                                   {"large sum", sum, 1 << 20}};

using Calls = std::vector<std::pair<std::string, unsigned long long>>;
Calls count() {
  Calls all;
  for (unsigned i = 0; const char* name = function_name(i); ++i)
    all.emplace_back(name, calls(name));
  return all;
}

// Runs it everywhere; whether nobody was told of an error.
bool run(const Protocol& protocol) {
  const int error = protocol.run(protocol.bytes);
  int mine = error != MPI_SUCCESS, any = 0;
  MPI_Allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (error == MPI_SUCCESS && !any)
    expect(1, protocol.run == sum ? size : 2 - rank, protocol.bytes, protocol.name);
  return !any;
}

// What Tern calls there: more calls than this program makes itself.
std::vector<std::string> functions_of(const Protocol& protocol) {
  run(protocol);
  const Calls before = count();
  run(protocol);
  const Calls after = count();
  std::vector<std::string> names;
  for (size_t i = 0; i < after.size(); ++i) {
    const std::string& name = after[i].first;
    const unsigned long long was = i < before.size() ? before[i].second : 0;
    const bool ours = name == "cuMemsetD8Async" || name == "cuMemcpyDtoH_v2" ||
                      (name == "cuStreamSynchronize" && after[i].second - was <= 2) ||
                      name == "cuPointerGetAttributes" || name.rfind("cuGetError", 0) == 0;
    if (after[i].second > was && !ours) names.push_back(name);
  }
  return names;
}

void fail_each(const Protocol& protocol) {
  const std::vector<std::string> names = functions_of(protocol);
  for (int victim = 0; victim < size; ++victim) {
    int much = static_cast<int>(names.size());
    MPI_Bcast(&much, 1, MPI_INT, victim, MPI_COMM_WORLD);
    for (int i = 0; i < much; ++i) {
      if (rank == victim) {
        const std::string& name = names[static_cast<size_t>(i)];
        fault((name + (name == "cuStreamSynchronize" ? ":3:999" : ":1:999")).c_str());
      }
      run(protocol);
      fault("");
      if (!run(protocol)) fail(std::string(protocol.name) + ": broken after a failure was over");
    }
    if (rank == victim)
      std::printf("%s: %d functions failed in rank %d\n", protocol.name, much, rank);
  }
}

// How many streams idle varies; they are few.
std::string alive() {
  std::string words;
  for (const char* kind : {"allocations", "events", "imports", "mappings", "handles", "host"})
    words += std::string(" ") + kind + " " + std::to_string(live(kind));
  return words;
}

template <class F>
void find(const char* name, F& place) {
  place = reinterpret_cast<F>(dlsym(RTLD_DEFAULT, name));
}

}  // namespace

int main(int argc, char** argv) {
  find("softcuda_fault", fault);
  find("softcuda_calls", calls);
  find("softcuda_function", function_name);
  find("softcuda_live", live);
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (fault == nullptr) {
    std::puts("failures can be asked of the software driver only");
    MPI_Finalize();
    return 77;
  }
  int count_of_devices = 0;
  CUcontext context;
  CU(cuInit(0));
  CU(cuDeviceGetCount(&count_of_devices));
  CU(cuDevicePrimaryCtxRetain(&context, rank % count_of_devices));
  CU(cuCtxSetCurrent(context));
  for (CUdeviceptr& buffer : buffers) CU(cuMemAlloc_v2(&buffer, kMost));
  std::string first;
  for (int round = 0; round < 3; ++round) {
    for (const Protocol& protocol : kProtocols) fail_each(protocol);
    if (live("streams") > 24) fail(std::to_string(live("streams")) + " streams are alive");
    if (round == 1) first = alive();
    if (round == 2 && alive() != first) fail("left behind: first" + first + ", then" + alive());
  }
  for (CUdeviceptr buffer : buffers) CU(cuMemFree_v2(buffer));
  MPI_Finalize();
}
