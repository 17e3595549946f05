// SPDX-License-Identifier: Apache-2.0
// Nonblocking and persistent collectives with counts, holes or neighbours on device memory, where
// other libraries refuse or crash.
// ranks: 2 3
#include "allocators.hpp"

using namespace tern::test;

namespace {

enum Form { kBlocking, kNonblocking, kPersistent };
Form form;
MPI_Comm ring;
MPI_Datatype columns, blocks, record;
std::vector<int> counts, displacements, bytes_apart, ones;
std::vector<MPI_Datatype> kinds;
int unit;

#define DO(Name, name, ...)                                                               \
  do {                                                                                    \
    MPI_Request request = MPI_REQUEST_NULL;                                               \
    if (form == kBlocking) OK(MPI_##Name(__VA_ARGS__));                                   \
    if (form == kNonblocking) OK(MPI_I##name(__VA_ARGS__, &request));                     \
    if (form == kPersistent) OK(MPI_##Name##_init(__VA_ARGS__, MPI_INFO_NULL, &request)); \
    for (int i = 0; i < 2 && form == kPersistent; ++i) {                                  \
      OK(MPI_Start(&request));                                                            \
      OK(MPI_Wait(&request, MPI_STATUS_IGNORE));                                          \
    }                                                                                     \
    if (form == kPersistent) OK(MPI_Request_free(&request));                              \
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));                                            \
  } while (0)

struct Call {
  const char* name;
  void (*run)(const void* in, void* out);
};

const MPI_Comm w = MPI_COMM_WORLD;
#define CALL(Name, name, ...)                                             \
  {                                                                       \
#Name, [](const void* in, void* out) { DO(Name, name, __VA_ARGS__); } \
  }
const Call kCalls[] = {
    CALL(Gatherv, gatherv, in, counts[static_cast<size_t>(rank)], MPI_INT, out, counts.data(),
         displacements.data(), MPI_INT, 0, w),
    CALL(Scatterv, scatterv, in, counts.data(), displacements.data(), MPI_INT, out,
         counts[static_cast<size_t>(rank)], MPI_INT, 0, w),
    CALL(Allgatherv, allgatherv, in, counts[static_cast<size_t>(rank)], MPI_INT, out, counts.data(),
         displacements.data(), MPI_INT, w),
    CALL(Alltoallv, alltoallv, in, ones.data(), displacements.data(), MPI_INT, out, ones.data(),
         displacements.data(), MPI_INT, w),
    CALL(Alltoallw, alltoallw, in, ones.data(), bytes_apart.data(), kinds.data(), out, ones.data(),
         bytes_apart.data(), kinds.data(), w),
    CALL(Reduce_scatter, reduce_scatter, in, out, counts.data(), MPI_INT, MPI_SUM, w),
    CALL(Allgather, allgather, in, 1, columns, out, 1, columns, w),
    CALL(Bcast, bcast, out, 1, blocks, 0, w),
    CALL(Alltoall, alltoall, in, 1, record, out, 1, record, w),
    CALL(Gather, gather, in, 1, blocks, out, unit, MPI_INT, size - 1, w),
    CALL(Neighbor_allgather, neighbor_allgather, in, 1, columns, out, unit, MPI_INT, ring),
    CALL(Neighbor_alltoall, neighbor_alltoall, in, 1, columns, out, 1, columns, ring),
    CALL(Neighbor_alltoallv, neighbor_alltoallv, in, ones.data(), displacements.data(), MPI_INT,
         out, ones.data(), displacements.data(), MPI_INT, ring),
};

void lay_out(int integers) {
  unit = integers / 10 * 10;
  const auto ranks = static_cast<size_t>(std::max(size, 2));
  counts.assign(ranks, 0);
  displacements = bytes_apart = ones = counts;
  for (size_t r = 0; r < ranks; ++r) {
    counts[r] = unit / 2 + static_cast<int>(r) * 3;
    displacements[r] = static_cast<int>(r) * 2 * unit + static_cast<int>(r % 2);
    bytes_apart[r] = 8 * unit * static_cast<int>(r);
    ones[r] = unit / 3;
  }
  OK(MPI_Type_vector(unit / 10, 10, 17, MPI_INT, &columns));
  const int lengths[] = {unit / 2, 1, unit / 2 - 1}, at[] = {3, unit, unit + 7};
  OK(MPI_Type_indexed(3, lengths, at, MPI_INT, &blocks));
  const int one[] = {1, 2, 3};
  const MPI_Aint from[] = {0, 8, 24};
  const MPI_Datatype of[] = {MPI_CHAR, MPI_DOUBLE, MPI_SHORT};
  MPI_Datatype element;
  OK(MPI_Type_create_struct(3, one, from, of, &element));
  OK(MPI_Type_contiguous(unit / 10, element, &record));
  OK(MPI_Type_free(&element));
  for (MPI_Datatype* type : {&columns, &blocks, &record}) OK(MPI_Type_commit(type));
  kinds.assign(ranks, MPI_INT);
  for (MPI_Datatype& kind : kinds) kind = columns;
  std::fill(ones.begin(), ones.end(), 1);
}

void compare(const Call& call, const Allocator& by) {
  const auto bytes = static_cast<size_t>(unit) * 8 * static_cast<size_t>(std::max(size, 2)) + 4096;
  const auto data = bytes_of(bytes, static_cast<unsigned>(rank)), before = bytes_of(bytes, 60);
  std::vector<uint8_t> want = before;
  call.run(data.data(), want.data());
  const Area in = by.make(bytes), out = by.make(bytes);
  in.put(data);
  out.put(before);
  call.run(in.address(), out.address());
  const auto got = out.get(bytes);
  for (size_t i = 0; i < bytes; ++i)
    if (got[i] != want[i])
      FAIL("%s of %d in memory of %s, form %d: byte %zu is %d, expected %d", call.name, unit,
           by.name, form, i, got[i], want[i]);
  CHECK(in.get(bytes) == data);
}

}  // namespace

int main(int argc, char** argv) {
  begin(&argc, &argv);
  start_cuda();
  const int periodic = 1;
  OK(MPI_Cart_create(w, 1, &size, &periodic, 0, &ring));
  for (const int integers : {30, 4000, 90000}) {
    lay_out(integers);
    for (const Form one : {kBlocking, kNonblocking, kPersistent})
      for (const Call& call : kCalls) {
        form = one;
        compare(call, kAllocators[0]);
        if (integers == 4000) compare(call, kAllocators[2]);
        if (integers == 4000) compare(call, kAllocators[6]);
      }
    for (MPI_Datatype* type : {&columns, &blocks, &record}) OK(MPI_Type_free(type));
  }
  OK(MPI_Comm_free(&ring));
  return end();
}
