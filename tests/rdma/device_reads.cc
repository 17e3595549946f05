// SPDX-License-Identifier: Apache-2.0
// Device memory from rank 0 to rank 1, read by RDMA: data, counts of MPI_T, calls of the software
// driver. Argument: "read", or "refused" if the network takes no device memory.
#include <dlfcn.h>

#include <cstring>
#include <map>
#include <string>

#include "tests/gpu/mpi/memory.hpp"

using namespace tern::test;

namespace {

constexpr size_t kBytes = 3000001;

/// Counters run from the first call on.
uint64_t figure(const std::string& name, int var_class) {
  static MPI_T_pvar_session session = MPI_T_PVAR_SESSION_NULL;
  static std::map<std::string, MPI_T_pvar_handle> handles;
  if (session == MPI_T_PVAR_SESSION_NULL) OK(MPI_T_pvar_session_create(&session));
  const auto [known, is_new] = handles.try_emplace(name);
  if (is_new) {
    int index = 0, count = 0;
    OK(MPI_T_pvar_get_index(name.c_str(), var_class, &index));
    OK(MPI_T_pvar_handle_alloc(session, index, nullptr, &known->second, &count));
    if (var_class == MPI_T_PVAR_CLASS_COUNTER) OK(MPI_T_pvar_start(session, known->second));
  }
  unsigned long value = 0;
  OK(MPI_T_pvar_read(session, known->second, &value));
  return value;
}

void message(Area& memory, size_t bytes, unsigned seed) {
  const auto data = bytes_of(bytes, seed);
  const int count = static_cast<int>(bytes);
  if (rank == 0) {
    memory.put(data.data(), bytes, 3);
    OK(MPI_Send(memory.address(3), count, MPI_BYTE, 1, 1, MPI_COMM_WORLD));
    return;
  }
  OK(MPI_Recv(memory.address(3), count, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  std::vector<uint8_t> got(bytes + 3);
  memory.get(got.data(), bytes + 3);
  CHECK(std::memcmp(got.data() + 3, data.data(), bytes) == 0);
}

uint64_t counter(const char* name) { return figure(name, MPI_T_PVAR_CLASS_COUNTER); }
uint64_t registered_bytes() {
  return figure("rdma_device_registered_bytes", MPI_T_PVAR_CLASS_LEVEL);
}

unsigned long long flushes() {
  const auto calls =
      reinterpret_cast<unsigned long long (*)(const char*)>(dlsym(RTLD_DEFAULT, "softcuda_calls"));
  return calls == nullptr ? 0 : calls("cuFlushGPUDirectRDMAWrites");
}

/// At the first use of mapped memory, Tern makes the context synchronous, and may not wait for
/// earlier writes that long.
void first_use() {
  Area memory(Kind::kMapped, kBytes + 3);
  message(memory, kBytes, 1);
}

void used_again() {
  Area memory(Kind::kDevice, kBytes + 3);
  for (unsigned i = 0; i < 4; ++i) message(memory, i % 2 == 0 ? kBytes : 70001, i);
}

void freed_and_allocated() {
  for (unsigned i = 0; i < 4; ++i) {
    Area memory(Kind::kDevice, kBytes + 3);
    message(memory, kBytes, i);
  }
}

void every_kind() {
  for (const Kind from : {Kind::kHost, Kind::kDevice, Kind::kMapped, Kind::kPool})
    for (const Kind to : {Kind::kHost, Kind::kDevice, Kind::kMapped, Kind::kPool}) {
      Area memory(rank == 0 ? from : to, kBytes + 3);
      message(memory, kBytes, static_cast<unsigned>(from) * 8 + static_cast<unsigned>(to));
    }
}

void counted(const char* what, void (*step)(), uint64_t registrations, uint64_t found) {
  const uint64_t made = counter("rdma_device_registrations"),
                 hits = counter("rdma_device_registrations_found"),
                 reads = counter("sent_read_by_rdma");
  step();
  OK(MPI_Barrier(MPI_COMM_WORLD));
  std::printf("rank %d: %s: %llu registrations, %llu found, %llu read\n", rank, what,
              static_cast<unsigned long long>(counter("rdma_device_registrations") - made),
              static_cast<unsigned long long>(counter("rdma_device_registrations_found") - hits),
              static_cast<unsigned long long>(counter("sent_read_by_rdma") - reads));
  CHECK_EQ(counter("rdma_device_registrations") - made, registrations);
  CHECK_EQ(counter("rdma_device_registrations_found") - hits, found);
}

}  // namespace

int main(int argc, char** argv) {
  int level = 0;
  OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &level));
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  start_cuda();
  CHECK_EQ(counter("rdma_device_registrations_refused"), 0u);
  if (argc > 1 && std::strcmp(argv[1], "refused") == 0) {
    counted("used again", used_again, 0, 0);
    CHECK(rank == 1 || counter("rdma_device_registrations_refused") == 4);
    CHECK_EQ(counter("sent_read_by_rdma"), 0u);
  } else {
    first_use();
    OK(MPI_Barrier(MPI_COMM_WORLD));
    const uint64_t reads = counter("sent_read_by_rdma"), flushed = flushes();
    counted("used again", used_again, 1, 3);
    counted("freed and allocated", freed_and_allocated, 4, 0);
    counted("every kind", every_kind, 12, 0);
    CHECK_EQ(counter("rdma_device_registrations_refused"), 0u);
    CHECK_EQ(counter("sent_read_by_rdma") - reads, rank == 0 ? 24u : 0u);
    CHECK_EQ(flushes() - flushed, rank == 0 ? 0u : 20u);
    CHECK(registered_bytes() <= 2 * (kBytes + (4 << 20)));
  }
  std::printf("rank %d: all right\n", rank);
  OK(MPI_Finalize());
}
