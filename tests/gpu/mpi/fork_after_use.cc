// SPDX-License-Identifier: Apache-2.0
// A forked child has no driver: the library does not call the driver there, and the parent
// continues.
// ranks: 2
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "allocators.hpp"

using namespace tern::test;

namespace {

unsigned long long calls_at_fork = 0;
bool in_child = false;
}  // namespace

// LeakSanitizer would report memory of the parent's threads.
extern "C" int __lsan_is_turned_off();
extern "C" int __lsan_is_turned_off() { return in_child ? 1 : 0; }

namespace {

// AtTheEnd is constructed before MPI_Init and destroyed last.
struct AtTheEnd {
  ~AtTheEnd() {
    if (in_child && control().there() && control().all_calls() != calls_at_fork) _exit(3);
  }
} at_the_end;

void exchange() {
  for (const int bytes : {100, 1 << 20}) {
    const auto length = static_cast<size_t>(bytes);
    const Area from = plain(length), to = plain(length);
    from.put(bytes_of(length, static_cast<unsigned>(rank)));
    OK(MPI_Sendrecv(from.address(), bytes, MPI_BYTE, 1 - rank, 0, to.address(), bytes, MPI_BYTE,
                    1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(to.get(length) == bytes_of(length, static_cast<unsigned>(1 - rank)));
  }
}

// Mapped memory is neither heap nor stack.
void compute() {
  constexpr int kInts = 1 << 18;
  void* const memory = mmap(nullptr, 3 * kInts * sizeof(int), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  int* const in = static_cast<int*>(memory);
  MPI_Reduce_local(in, in + kInts, kInts, MPI_INT, MPI_SUM);
  int position = 0;
  MPI_Pack(in, kInts, MPI_INT, in + 2 * kInts, kInts * 4, &position, MPI_COMM_WORLD);
}

void child(bool computes, bool exits) {
  const pid_t pid = fork();
  CHECK(pid >= 0);
  if (pid == 0) {
    in_child = true;
    calls_at_fork = control().there() ? control().all_calls() : 0;
    if (computes) compute();
    if (exits) exit(0);
    at_the_end.~AtTheEnd();
    _exit(0);
  }
  int status = 0;
  CHECK(waitpid(pid, &status, 0) == pid);
  if (status != 0)
    FAIL("a forked child that %s and %s ends with status %x (3 << 8: a driver call)",
         computes ? "computes" : "does nothing", exits ? "exits" : "goes at once", status);
}

}  // namespace

int main(int argc, char** argv) {
  begin(&argc, &argv);
  start_cuda();
  exchange();
  for (const bool computes : {false, true})
    for (const bool exits : {false, true}) {
      child(computes, exits);
      exchange();
    }
  return end();
}
