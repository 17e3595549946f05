// SPDX-License-Identifier: Apache-2.0
// Every collective on memory of every kind: mixed kinds, in place, blocking, nonblocking,
// persistent.
// ranks: 2 3
// configurations: 1 4-peers 2-apart jitter mps queue
// full-configurations: 12.0
#include <functional>

#include "memory.hpp"

using namespace tern::test;

namespace {

struct Call {
  const char* name;
  bool many_in, many_out;
  std::function<int(const void*, void*, int)> blocking;
  std::function<int(const void*, void*, int, MPI_Request*)> nonblocking, persistent;
};

const MPI_Comm kComm = MPI_COMM_WORLD;
constexpr int kRoot = 0;

#define CALL(TEXT, MANY_IN, MANY_OUT, NAME, LOWER, ...)                           \
  Call {                                                                          \
    TEXT, MANY_IN, MANY_OUT,                                                      \
        [](const void* in, void* out, int n) { return MPI_##NAME(__VA_ARGS__); }, \
        [](const void* in, void* out, int n, MPI_Request* r) {                    \
          return MPI_I##LOWER(__VA_ARGS__, r);                                    \
        },                                                                        \
        [](const void* in, void* out, int n, MPI_Request* r) {                    \
          return MPI_##NAME##_init(__VA_ARGS__, MPI_INFO_NULL, r);                \
        }                                                                         \
  }

const MPI_Datatype kInt = MPI_INT;

const Call kCalls[] = {
    CALL("bcast", false, false, Bcast, bcast,
         (rank == kRoot && in != MPI_IN_PLACE ? const_cast<void*>(in) : out), n, kInt, kRoot,
         kComm),
    CALL("gather", false, true, Gather, gather, in, n, kInt, out, n, kInt, kRoot, kComm),
    CALL("scatter", true, false, Scatter, scatter, in, n, kInt, out, n, kInt, kRoot, kComm),
    CALL("allgather", false, true, Allgather, allgather, in, n, kInt, out, n, kInt, kComm),
    CALL("alltoall", true, true, Alltoall, alltoall, in, n, kInt, out, n, kInt, kComm),
    CALL("reduce", false, false, Reduce, reduce, in, out, n, kInt, MPI_SUM, kRoot, kComm),
    CALL("allreduce", false, false, Allreduce, allreduce, in, out, n, kInt, MPI_SUM, kComm),
    CALL("reduce_scatter_block", true, false, Reduce_scatter_block, reduce_scatter_block, in, out,
         n, kInt, MPI_SUM, kComm),
    CALL("scan", false, false, Scan, scan, in, out, n, kInt, MPI_SUM, kComm),
    CALL("exscan", false, false, Exscan, exscan, in, out, n, kInt, MPI_SUM, kComm),
};

enum class Form { kBlocking, kNonblocking, kPersistent };

void run(const Call& call, Form form, const void* in, void* out, int n) {
  MPI_Request request = MPI_REQUEST_NULL;
  switch (form) {
    case Form::kBlocking:
      OK(call.blocking(in, out, n));
      return;
    case Form::kNonblocking:
      OK(call.nonblocking(in, out, n, &request));
      OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
      return;
    case Form::kPersistent:
      OK(call.persistent(in, out, n, &request));
      OK(MPI_Start(&request));
      OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
      OK(MPI_Request_free(&request));
  }
}

void compare(const Call& call, Form form, Kind in_kind, Kind out_kind, int n) {
  const auto elements = static_cast<size_t>(n);
  const size_t in_bytes = elements * 4 * static_cast<size_t>(call.many_in ? size : 1);
  const size_t out_bytes = elements * 4 * static_cast<size_t>(call.many_out ? size : 1);
  const auto data = bytes_of(in_bytes, static_cast<unsigned>(rank + 1));
  const auto before = bytes_of(out_bytes, 50);
  std::vector<uint8_t> want = before;
  run(call, Form::kBlocking, data.data(), want.data(), n);
  Area in(in_kind, in_bytes), out(out_kind, out_bytes);
  in.put(data.data(), in_bytes);
  out.put(before.data(), out_bytes);
  run(call, form, in.address(), out.address(), n);
  std::vector<uint8_t> got(out_bytes);
  out.get(got.data(), out_bytes);
  for (size_t i = 0; i < out_bytes; ++i)
    if (got[i] != want[i])
      FAIL("%s of %d from %s to %s, form %d: byte %zu is %d, expected %d", call.name, n,
           name_of(in_kind), name_of(out_kind), static_cast<int>(form), i, got[i], want[i]);
  std::vector<uint8_t> input(in_bytes);
  in.get(input.data(), in_bytes);
  CHECK(input == data);
}

void in_place(Form form, Kind kind, int n) {
  const size_t bytes = static_cast<size_t>(n) * 4;
  const auto data = bytes_of(bytes, static_cast<unsigned>(rank + 1));
  for (const bool scatters : {false, true}) {
    const size_t all = bytes * static_cast<size_t>(scatters ? size : 1);
    const auto mine = bytes_of(all, static_cast<unsigned>(rank + 1));
    std::vector<uint8_t> want = mine, got(all);
    const Call& call = kCalls[scatters ? 4 : 6];
    run(call, Form::kBlocking, MPI_IN_PLACE, want.data(), n);
    Area memory(kind, all);
    memory.put(mine.data(), all);
    run(call, form, MPI_IN_PLACE, memory.address(), n);
    memory.get(got.data(), all);
    CHECK(got == want);
  }
}

Kind mixed(int shift) {
  constexpr Kind kMix[] = {Kind::kHost, Kind::kDevice, Kind::kMapped, Kind::kManaged, Kind::kPool};
  return kMix[(rank + shift) % 5];
}

}  // namespace

int main(int argc, char** argv) {
  begin(&argc, &argv);
  start_cuda();
  for (const int n : {0, 1, 100, 5000, 60001})
    for (const Call& call : kCalls)
      for (const Form form : {Form::kBlocking, Form::kNonblocking, Form::kPersistent}) {
        compare(call, form, Kind::kDevice, Kind::kDevice, n);
        compare(call, form, mixed(n), mixed(n + 1), n);
        if (n == 5000) {
          compare(call, form, Kind::kHost, Kind::kDevice, n);
          compare(call, form, Kind::kPinned, Kind::kOtherDevice, n);
        }
      }
  for (const Form form : {Form::kBlocking, Form::kNonblocking, Form::kPersistent})
    for (const int n : {3, 5000, 60001}) {
      in_place(form, Kind::kDevice, n);
      in_place(form, mixed(0), n);
    }
  return end();
}
