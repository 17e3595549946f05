// SPDX-License-Identifier: Apache-2.0
// Types of absolute addresses with MPI_BOTTOM on memory of every kind, in messages and data
// collectives.
// ranks: 2 3
// configurations: 1 4-peers 2-apart mps
#include <functional>

#include "memory.hpp"

using namespace tern::test;

namespace {

struct Form {
  int ints, gap;
  [[nodiscard]] size_t bytes() const { return static_cast<size_t>(ints + gap) * sizeof(int); }
};
constexpr Form kForms[] = {{10, 0}, {10, 3}, {30000, 0}, {30000, 3}};

struct Array {
  void* address;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  Array(void* at, const Form& form, bool absolute) : address(absolute ? MPI_BOTTOM : at) {
    MPI_Aint begin = 0;
    if (absolute) OK(MPI_Get_address(at, &begin));
    const int half = form.ints / 2, lengths[] = {half, form.ints - half};
    const MPI_Aint places[] = {begin, begin + (half + form.gap) * MPI_Aint{sizeof(int)}};
    MPI_Datatype blocks = MPI_DATATYPE_NULL;
    OK(MPI_Type_create_hindexed(2, lengths, places, MPI_INT, &blocks));
    OK(MPI_Type_create_resized(blocks, 0, static_cast<MPI_Aint>(form.bytes()), &type));
    OK(MPI_Type_commit(&type));
    OK(MPI_Type_free(&blocks));
  }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  ~Array() { MPI_Type_free(&type); }
};

struct Call {
  const char* name;
  std::function<void(const Array&, const Array&)> run;
};

constexpr int kRoot = 0;
const MPI_Comm kComm = MPI_COMM_WORLD;
const int kOnes[] = {1, 1, 1}, kPlaces[] = {0, 1, 2};
int right() { return (rank + 1) % size; }
int left() { return (rank + size - 1) % size; }

void finish(MPI_Request* request) { OK(MPI_Wait(request, MPI_STATUS_IGNORE)); }

void finish_persistent(MPI_Request* request) {
  OK(MPI_Start(request));
  OK(MPI_Wait(request, MPI_STATUS_IGNORE));
  OK(MPI_Request_free(request));
}

#define CALL(TEXT, NAME, LOWER, ...)                                              \
  {TEXT, [](const Array& in, const Array& out) { OK(MPI_##NAME(__VA_ARGS__)); }}, \
      {"i" TEXT,                                                                  \
       [](const Array& in, const Array& out) {                                    \
         MPI_Request request;                                                     \
         OK(MPI_I##LOWER(__VA_ARGS__, &request));                                 \
         finish(&request);                                                        \
       }},                                                                        \
  {                                                                               \
    TEXT "_init", [](const Array& in, const Array& out) {                         \
      MPI_Request request;                                                        \
      OK(MPI_##NAME##_init(__VA_ARGS__, MPI_INFO_NULL, &request));                \
      finish_persistent(&request);                                                \
    }                                                                             \
  }

const Call kCalls[] = {
    {"sendrecv",
     [](const Array& in, const Array& out) {
       OK(MPI_Sendrecv(in.address, 1, in.type, right(), 0, out.address, 1, out.type, left(), 0,
                       kComm, MPI_STATUS_IGNORE));
     }},
    {"sendrecv with itself",
     [](const Array& in, const Array& out) {
       OK(MPI_Sendrecv(in.address, 2, in.type, rank, 0, out.address, 2, out.type, rank, 0, kComm,
                       MPI_STATUS_IGNORE));
     }},
    CALL("bcast", Bcast, bcast, (rank == kRoot ? in : out).address, 2,
         (rank == kRoot ? in : out).type, kRoot, kComm),
    CALL("gather", Gather, gather, in.address, 1, in.type, out.address, 1, out.type, kRoot, kComm),
    CALL("scatter", Scatter, scatter, in.address, 1, in.type, out.address, 1, out.type, kRoot,
         kComm),
    CALL("allgather", Allgather, allgather, in.address, 1, in.type, out.address, 1, out.type,
         kComm),
    CALL("alltoall", Alltoall, alltoall, in.address, 1, in.type, out.address, 1, out.type, kComm),
    CALL("gatherv", Gatherv, gatherv, in.address, 1, in.type, out.address, kOnes, kPlaces, out.type,
         kRoot, kComm),
    CALL("scatterv", Scatterv, scatterv, in.address, kOnes, kPlaces, in.type, out.address, 1,
         out.type, kRoot, kComm),
    CALL("allgatherv", Allgatherv, allgatherv, in.address, 1, in.type, out.address, kOnes, kPlaces,
         out.type, kComm),
    CALL("alltoallv", Alltoallv, alltoallv, in.address, kOnes, kPlaces, in.type, out.address, kOnes,
         kPlaces, out.type, kComm),
};

std::vector<uint8_t> result(const Call& call, const Form& form, Kind kind, bool absolute) {
  const size_t bytes = form.bytes() * 3;
  const Area in(kind, bytes), out(kind, bytes);
  in.put(bytes_of(bytes, static_cast<unsigned>(rank + 1)));
  out.put(bytes_of(bytes, 50));
  {
    const Array from(in.address(), form, absolute), to(out.address(), form, absolute);
    call.run(from, to);
  }
  return out.get(bytes);
}

}  // namespace

int main(int argc, char** argv) {
  begin(&argc, &argv);
  start_cuda();
  for (const Form& form : kForms)
    for (const Call& call : kCalls) {
      const auto want = result(call, form, Kind::kHost, false);
      for (const Kind kind : {Kind::kHost, Kind::kDevice, Kind::kManaged, Kind::kMapped})
        if (result(call, form, kind, true) != want)
          FAIL(
              "%s of %d ints with a gap of %d in %s memory: the result differs from addressed host "
              "memory",
              call.name, form.ints, form.gap, name_of(kind));
    }
  return end();
}
