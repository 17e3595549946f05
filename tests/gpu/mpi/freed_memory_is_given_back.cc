// SPDX-License-Identifier: Apache-2.0
// No process keeps memory that the program sent and freed without MPI_Free_mem, even without
// further device messages: while both ranks poll, and while the receiver blocks and the sender
// calls MPI at times.
// ranks: 2
// configurations: 1 4-peers
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <system_error>

#include "allocators.hpp"

using namespace tern::test;

namespace {

constexpr size_t kBytes = 4 << 20;

int descriptors() {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const auto target = std::filesystem::read_symlink(entry.path(), gone).string();
    if (!gone && target.rfind("/memfd:softcuda", 0) == 0) ++count;
  }
  return count;
}

double seconds() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

struct Held {
  int descriptors;
  long long imports, mappings;
};
Held held() { return {descriptors(), control().live("imports"), control().live("mappings")}; }
bool same(const Held& a, const Held& b) {
  return a.descriptors == b.descriptors && a.imports == b.imports && a.mappings == b.mappings;
}

void send_and_free(const Allocator& from, const Area& into) {
  if (rank == 1) {
    OK(MPI_Recv(into.address(), kBytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    return;
  }
  const Area memory = from.make(kBytes);
  OK(MPI_Send(memory.address(), kBytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD));
}

Held before;

void check_held(const char* name, const char* how) {
  const Held now = held();
  if (!same(before, now))
    FAIL("%s, %s: %d descriptors, %lld imports, %lld mappings of freed memory are held", name, how,
         now.descriptors - before.descriptors, now.imports - before.imports,
         now.mappings - before.mappings);
}

void both_poll(const Allocator& from, const Area& into) {
  send_and_free(from, into);
  for (const double end = seconds() + 5; !same(before, held()) && seconds() < end;) {
    int flag = 0;
    OK(MPI_Iprobe(MPI_ANY_SOURCE, 77, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
  }
  check_held(from.name, "polling");
}

void one_sleeps(const Allocator& from, const Area& into) {
  send_and_free(from, into);
  char word = 0;
  if (rank == 1) {
    OK(MPI_Recv(&word, 1, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  } else {
    for (int i = 0; i < 60; ++i) {
      int flag = 0;
      OK(MPI_Iprobe(MPI_ANY_SOURCE, 77, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
      ::usleep(10000);
    }
    OK(MPI_Send(&word, 1, MPI_CHAR, 1, 1, MPI_COMM_WORLD));
  }
  check_held(from.name, "asleep");
}

void poll_for(double time) {
  for (const double end = seconds() + time; seconds() < end;) {
    int flag = 0;
    OK(MPI_Iprobe(MPI_ANY_SOURCE, 77, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
  }
}

/// The library closes the descriptor after 5 s, and opens a new one for the next message.
void unused_memory_is_named_again(const Area& into) {
  if (rank == 1) {
    for (unsigned i = 0; i < 2; ++i) {
      OK(MPI_Recv(into.address(), kBytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      CHECK(into.get(kBytes) == bytes_of(kBytes, i));
    }
    return;
  }
  const Area memory = mapped(kBytes, 1, kFd, kFd);
  const int own = descriptors();
  for (unsigned i = 0; i < 2; ++i) {
    memory.put(bytes_of(kBytes, i));
    OK(MPI_Send(memory.address(), kBytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD));
    if (descriptors() != own + 1) FAIL("%d descriptors besides the own one", descriptors() - own);
    if (i > 0) break;
    poll_for(5.5);
    if (descriptors() != own) FAIL("%d descriptors are held while unused", descriptors() - own);
  }
}

}  // namespace

int main(int argc, char** argv) {
  begin(&argc, &argv);
  start_cuda();
  if (!control().there()) {
    OK(MPI_Finalize());
    return 77;
  }
  {
    const Area into = plain(kBytes);
    // The library creates permanent objects at the first device pointer.
    if (rank == 0)
      OK(MPI_Send(into.address(), 8, MPI_BYTE, 1, 0, MPI_COMM_WORLD));
    else
      OK(MPI_Recv(into.address(), 8, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    settle_contexts();
    before = held();
    for (const char* name : {"cudaMalloc", "cuMemCreate", "several mappings", "exportable pool"})
      for (const Allocator& from : kAllocators)
        if (name == std::string(from.name)) {
          both_poll(from, into);
          one_sleeps(from, into);
        }
    unused_memory_is_named_again(into);
  }
  return end();
}
