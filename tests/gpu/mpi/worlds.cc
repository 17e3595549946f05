// SPDX-License-Identifier: Apache-2.0
// Device memory between worlds of one host: messages go from device to device, and collectives over
// a merge give the right sums. The program starts itself.
// ranks: 1 2
// configurations: 1 4-peers 2-apart
#include "trace.hpp"

using namespace tern::test;

namespace {

constexpr int kKids = 2, kCount = 1 << 20;
constexpr size_t kBytes = kCount * sizeof(float);

float value(int from, int to, int i) { return static_cast<float>((from * 7 + to * 3 + i) % 1009); }

/// Returns the bytes of messages that pass the host.
size_t exchange(Trace& trace, MPI_Comm inter) {
  size_t bytes = 0;
  int own = 0, others = 0;
  OK(MPI_Comm_rank(inter, &own));
  OK(MPI_Comm_remote_size(inter, &others));
  std::vector<float> data(kCount);
  for (int round = 0; round < 2; ++round)
    for (int turn = 0; turn < others; ++turn) {
      const Area out = plain(kBytes), in = plain(kBytes);
      for (int i = 0; i < kCount; ++i) data[static_cast<size_t>(i)] = value(own, turn, i);
      out.put(data.data(), kBytes);
      MPI_Request both[2];
      if (control().there()) (void)trace.through_host();
      OK(MPI_Irecv(in.address(), kCount, MPI_FLOAT, turn, round, inter, &both[0]));
      OK(MPI_Isend(out.address(), kCount, MPI_FLOAT, turn, round, inter, &both[1]));
      OK(MPI_Waitall(2, both, MPI_STATUSES_IGNORE));
      if (control().there()) bytes += trace.through_host();
      in.get(data.data(), kBytes);
      for (int i = 0; i < kCount; ++i)
        if (data[static_cast<size_t>(i)] != value(turn, own, i))
          FAIL("element %d from %d is %g", i, turn,
               static_cast<double>(data[static_cast<size_t>(i)]));
    }
  return bytes;
}

bool are_linked() {
  int can = 1;
  for (int device = 1; device < devices && can != 0; ++device)
    CU(cuDeviceCanAccessPeer(&can, 0, device));
  return can != 0;
}

void sum_over(MPI_Comm merged) {
  int me = 0, all = 0;
  OK(MPI_Comm_rank(merged, &me));
  OK(MPI_Comm_size(merged, &all));
  for (const int count : {1, 1000, kCount}) {
    const size_t bytes = static_cast<size_t>(count) * sizeof(float);
    const Area in = plain(bytes), out = plain(bytes);
    std::vector<float> data(static_cast<size_t>(count));
    for (int i = 0; i < count; ++i) data[static_cast<size_t>(i)] = static_cast<float>(me + i % 97);
    in.put(data.data(), bytes);
    for (int round = 0; round < 3; ++round) {
      OK(MPI_Allreduce(in.address(), out.address(), count, MPI_FLOAT, MPI_SUM, merged));
      out.get(data.data(), bytes);
      for (int i = 0; i < count; ++i)
        if (data[static_cast<size_t>(i)] !=
            static_cast<float>(all * (all - 1) / 2 + all * (i % 97)))
          FAIL("sum %d of %d is %g", i, count, static_cast<double>(data[static_cast<size_t>(i)]));
    }
  }
}

void use(Trace& trace, MPI_Comm inter, bool is_child) {
  MPI_Comm merged = MPI_COMM_NULL;
  const size_t bytes = exchange(trace, inter);
  if (are_linked() && bytes > kBytes / 4) FAIL("%zu bytes of messages pass the host", bytes);
  OK(MPI_Intercomm_merge(inter, is_child ? 1 : 0, &merged));
  sum_over(merged);
  OK(MPI_Comm_free(&merged));
  OK(MPI_Comm_disconnect(&inter));
}

}  // namespace

int main(int argc, char** argv) {
  Trace trace;
  begin(&argc, &argv);
  start_cuda();
  MPI_Comm inter = MPI_COMM_NULL;
  OK(MPI_Comm_get_parent(&inter));
  const bool is_child = inter != MPI_COMM_NULL;
  char word[] = "child";
  char* arguments[] = {word, nullptr};
  if (!is_child)
    OK(MPI_Comm_spawn(argv[0], arguments, kKids, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter,
                      MPI_ERRCODES_IGNORE));
  use(trace, inter, is_child);
  OK(MPI_Finalize());
  return 0;
}
