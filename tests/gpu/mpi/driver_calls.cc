// SPDX-License-Identifier: Apache-2.0
// How often the driver is called for a message of device memory that is known already: the software
// driver counts. Each call costs a microsecond or so on a real one. No call waits for a stream or
// for all work of a device. Both ends together: of 8 B the pointer is looked up twice, the context
// asked for, and a kernel launched; of 64 MiB the receiver copies and asks for its word, too.
// ranks: 2
// configurations: 1 4-peers
// sanitizers: no
#include <algorithm>

#include "allocators.hpp"

using namespace tern::test;

namespace {

const char* const kWaitForAll[] = {"cuCtxSynchronize",    "cuMemFree_v2",  "cuMemAlloc_v2",
                                   "cuIpcCloseMemHandle", "cuMemUnmap",    "cuMemHostAlloc",
                                   "cuLibraryLoadData",   "cuMemFreeHost", "cuIpcOpenMemHandle_v2"};

unsigned long long waits_for_all() {
  unsigned long long sum = 0;
  for (const char* name : kWaitForAll) sum += control().calls(name);
  return sum;
}
unsigned long long waits_for_stream() {
  return control().calls("cuStreamSynchronize") + control().calls("cuEventSynchronize");
}

/// Calls without those that ask whether something has ended, which depend on time: with each go the
/// three that make its context the current one, and leave captures alone.
unsigned long long calls_but_questions() {
  return control().all_calls() - 4 * control().calls("cuStreamQuery");
}

/// After a tenth of a second each end asks every five milliseconds whether what it offered is
/// there.
double looks(double seconds) { return std::max(0.0, seconds - 0.1) / 0.005 * 2; }

void message(const Area& memory, int bytes, unsigned long long most) {
  constexpr int kRounds = 10;
  unsigned long long before = 0, waits = 0;
  double begun = 0;
  for (int round = -2; round < kRounds; ++round) {
    if (round == 0) {
      before = calls_but_questions();
      waits = waits_for_all();
      begun = MPI_Wtime();
    }
    if (rank == 0)
      OK(MPI_Send(memory.address(), bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD));
    else
      OK(MPI_Recv(memory.address(), bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  }
  const unsigned long long mine = calls_but_questions() - before;
  const double looked = looks(MPI_Wtime() - begun);
  if (waits_for_all() != waits) FAIL("a message of %d bytes waits for all work", bytes);
  unsigned long long theirs = 0;
  OK(MPI_Sendrecv(&mine, 1, MPI_UNSIGNED_LONG_LONG, 1 - rank, 1, &theirs, 1, MPI_UNSIGNED_LONG_LONG,
                  1 - rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  if (rank == 0)
    std::printf("%d bytes: %.1f calls of the driver, both ends\n", bytes,
                static_cast<double>(mine + theirs) / kRounds);
  const double each = (static_cast<double>(mine + theirs) - looked) / kRounds;
  if (each >= static_cast<double>(most) + 1)
    FAIL("a message of %d bytes takes %.1f calls of the driver, more than %llu", bytes, each, most);
}

/// Columns of another device's memory cross the link as one block, and a kernel puts them apart:
/// not row by row.
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

/// A pool that cannot be shared is asked once, whatever memory of it is sent.
void pools() {
  const unsigned long long before = control().calls("cuMemPoolExportToShareableHandle");
  for (int i = 0; i < 20; ++i) {
    const Area memory = default_pool(100000 + static_cast<size_t>(i) * 50000);
    message(memory, 100000, 1000000);  // the calls depend on time
  }
  const auto asked = control().calls("cuMemPoolExportToShareableHandle") - before;
  if (asked > 1) FAIL("its pool was asked %llu times", asked);
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
  message(memory, 8, 8);
  message(memory, 64 << 20, 9);
  if (waits_for_stream() != 0) FAIL("%llu calls wait for a stream", waits_for_stream());
  columns(memory);
  pools();
  return end();
}
