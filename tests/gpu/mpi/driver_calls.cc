// SPDX-License-Identifier: Apache-2.0
// Driver calls per message of known device memory; a call costs about 1 us on a real driver. No
// call waits for a stream or a device. On both ranks together, 8 B take two pointer look-ups, a
// context query and a kernel; 64 MiB add the receiver's copy and completion poll.
// ranks: 2
// configurations: 1 4-peers
// sanitizers: no
#include <algorithm>

#include "ledger.hpp"

using namespace tern::test;

namespace {

long long sum_of(const Counts& counts) {
  long long sum = 0;
  for (const auto& [function, count] : counts) sum += count;
  return sum;
}

/// After 0.1 s each rank polls pending offers every 5 ms.
double looks(double seconds) { return std::max(0.0, seconds - 0.1) / 0.005 * 2; }

void send(const Area& memory, int bytes) {
  if (rank == 0)
    OK(MPI_Send(memory.address(), bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD));
  else
    OK(MPI_Recv(memory.address(), bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

void message(const Area& memory, int bytes, int most) {
  constexpr int kRounds = 10;
  for (int round = 0; round < 2; ++round) send(memory, bytes);
  const Ledger ledger;
  const double begun = MPI_Wtime();
  for (int round = 0; round < kRounds; ++round) send(memory, bytes);
  const Counts made = ledger.made_but_questions();
  const double looked = looks(MPI_Wtime() - begun);
  if (const std::string waits = waits_for_device(made); !waits.empty())
    FAIL("a message of %d bytes waits for all work: %s", bytes, waits.c_str());
  const long long mine = sum_of(made);
  long long theirs = 0;
  OK(MPI_Sendrecv(&mine, 1, MPI_LONG_LONG, 1 - rank, 1, &theirs, 1, MPI_LONG_LONG, 1 - rank, 1,
                  MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  if (rank == 0)
    std::printf("%d bytes: %.1f calls of the driver, both ends\n", bytes,
                static_cast<double>(mine + theirs) / kRounds);
  const double each = (static_cast<double>(mine + theirs) - looked) / kRounds;
  if (each >= static_cast<double>(most) + 1)
    FAIL("a message of %d bytes takes %.1f calls of the driver, more than %d", bytes, each, most);
}

/// The first message names, maps and synchronises the memory.
void first_use(const Area& memory) {
  constexpr int kBytes = 8 << 20;
  const std::vector<Expected> named = {{"cuPointerGetAttributes", kAny, true},
                                       {"cuCtxGetCurrent", 3},
                                       {"cuCtxGetId", 1},
                                       {"cuPointerSetAttribute", 1},
                                       {"cuThreadExchangeStreamCaptureMode", 4},
                                       {"cuIpcGetMemHandle", 1}};
  const std::vector<Expected> mapped = {{"cuPointerGetAttributes", kAny, true},
                                        {"cuCtxGetCurrent", 4},
                                        {"cuCtxGetId", 1},
                                        {"cuPointerSetAttribute", 1},
                                        {"cuThreadExchangeStreamCaptureMode", 6},
                                        {"cuIpcOpenMemHandle_v2", 1},
                                        {"cuMemcpyAsync", 1},
                                        {"cuStreamWriteValue32_v2", 1}};
  const std::vector<Expected> copied = {{"cuPointerGetAttributes", kAny, true},
                                        {"cuCtxGetCurrent", 1},
                                        {"cuThreadExchangeStreamCaptureMode", 2},
                                        {"cuMemcpyAsync", 1},
                                        {"cuStreamWriteValue32_v2", 1}};
  const Ledger first;
  send(memory, kBytes);
  check_calls("the first use of memory", first, 1, rank == 0 ? named : mapped);
  const Ledger second;
  send(memory, kBytes);
  check_calls("its second use", second, 1,
              rank == 0 ? std::vector<Expected>{{"cuPointerGetAttributes", kAny, true}} : copied);
}

/// A peer device's columns cross the link as a block, and a kernel scatters the block.
void columns(const Area& memory) {
  MPI_Datatype column;
  OK(MPI_Type_vector(1 << 14, 16, 32, MPI_FLOAT, &column));
  OK(MPI_Type_commit(&column));
  const unsigned long long rows = control().calls("cuMemcpy2DAsync_v2");
  if (rank == 0)
    OK(MPI_Send(memory.address(), 1 << 20, MPI_BYTE, 1, 0, MPI_COMM_WORLD));
  else
    OK(MPI_Recv(memory.address(), 1, column, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  if (control().calls("cuMemcpy2DAsync_v2") != rows) FAIL("columns are copied row by row");
  OK(MPI_Type_free(&column));
}

/// Each rank's kernel stores the part of the sum to all outputs.
void allreduce(const Area& in, const Area& out) {
  const auto sum = [&] {
    OK(MPI_Allreduce(in.address(), out.address(), 1 << 20, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  };
  for (int round = 0; round < 2; ++round) sum();
  const Ledger ledger;
  sum();
  const Counts made = ledger.made();
  const auto launches = made.find("cuLaunchKernel");
  if (launches == made.end() || launches->second != 1) FAIL("an allreduce takes another way");
  for (const auto& [function, count] : made)
    if (function.starts_with("cuMemcpy") && count > 0)
      FAIL("an allreduce calls %s %lld times", function.c_str(), count);
}

/// Tern queries an unshareable pool only once.
void pools() {
  const unsigned long long before = control().calls("cuMemPoolExportToShareableHandle");
  for (int i = 0; i < 20; ++i) {
    const Area memory = default_pool(100000 + static_cast<size_t>(i) * 50000);
    message(memory, 100000, 1000000);
  }
  const auto asked = control().calls("cuMemPoolExportToShareableHandle") - before;
  if (asked > 1) FAIL("the pool was queried %llu times", asked);
}

}  // namespace

int main(int argc, char** argv) {
  begin(&argc, &argv);
  start_cuda();
  if (!control().there()) {
    OK(MPI_Finalize());
    return 77;
  }
  const Area memory = plain(64 << 20);
  expect_calls("8 bytes",
               {{"cuPointerGetAttributes", 2}, {"cuCtxGetCurrent", 1}, {"cuLaunchKernel", 1}},
               [&] { send(memory, 8); });
  message(memory, 8, 8);
  message(memory, 64 << 20, 9);
  if (const std::string waits = waits_for_stream(all_counts()); !waits.empty())
    FAIL("calls wait for a stream: %s", waits.c_str());
  const Area other = plain(8 << 20);
  first_use(other);
  columns(memory);
  allreduce(memory, other);
  pools();
  return end();
}
