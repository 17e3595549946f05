// SPDX-License-Identifier: Apache-2.0
// Collectives of large device memory, in all forms, match host memory, even if devices map each
// other's memory and read wrong data.
// ranks: 2 5
// full-ranks: 4
// configurations: 1 4-peers lies 2-apart islands
#include <functional>

#include "memory.hpp"

using namespace tern::test;

namespace {

using Call = std::function<int(const void* in, void* out)>;

void compare(const char* name, size_t in_bytes, size_t out_bytes, const Call& call) {
  const auto data = bytes_of(in_bytes, static_cast<unsigned>(rank + 1));
  const auto before = bytes_of(out_bytes, static_cast<unsigned>(rank + 50));
  std::vector<uint8_t> want = before, got(out_bytes);
  OK(call(data.data(), want.data()));
  Area in(Kind::kDevice, in_bytes), out(Kind::kDevice, out_bytes);
  for (int round = 0; round < 2; ++round) {
    in.put(data);
    out.put(before);
    OK(call(in.address(), out.address()));
    out.get(got.data(), out_bytes);
    for (size_t i = 0; i < out_bytes; ++i)
      if (got[i] != want[i])
        FAIL("%s of %zu bytes, round %d: byte %zu is %d, expected %d", name, out_bytes, round, i,
             got[i], want[i]);
  }
}

void all_of(int n) {
  const MPI_Comm w = MPI_COMM_WORLD;
  const auto block = static_cast<size_t>(n) * 4;
  const size_t all = block * static_cast<size_t>(size);
  const int root = size - 1;
  compare("bcast", block, block,
          [&](const void*, void* out) { return MPI_Bcast(out, n, MPI_INT, root, w); });
  compare("gather", block, all, [&](const void* in, void* out) {
    return MPI_Gather(in, n, MPI_INT, out, n, MPI_INT, root, w);
  });
  compare("gather in place", block, all, [&](const void* in, void* out) {
    return MPI_Gather(rank == root ? MPI_IN_PLACE : in, n, MPI_INT, out, n, MPI_INT, root, w);
  });
  compare("scatter", all, block, [&](const void* in, void* out) {
    return MPI_Scatter(in, n, MPI_INT, out, n, MPI_INT, root, w);
  });
  compare("scatter in place", all, block, [&](const void* in, void* out) {
    return MPI_Scatter(in, n, MPI_INT, rank == root ? MPI_IN_PLACE : out, n, MPI_INT, root, w);
  });
  compare("allgather", block, all, [&](const void* in, void* out) {
    return MPI_Allgather(in, n, MPI_INT, out, n, MPI_INT, w);
  });
  compare("allgather in place", block, all, [&](const void*, void* out) {
    return MPI_Allgather(MPI_IN_PLACE, 0, MPI_INT, out, n, MPI_INT, w);
  });
  compare("alltoall", all, all, [&](const void* in, void* out) {
    return MPI_Alltoall(in, n, MPI_INT, out, n, MPI_INT, w);
  });
  compare("alltoall in place", block, all, [&](const void*, void* out) {
    return MPI_Alltoall(MPI_IN_PLACE, 0, MPI_INT, out, n, MPI_INT, w);
  });
  compare("allreduce", block, block, [&](const void* in, void* out) {
    return MPI_Allreduce(in, out, n, MPI_INT, MPI_SUM, w);
  });
  compare("allreduce in place", block, block, [&](const void*, void* out) {
    return MPI_Allreduce(MPI_IN_PLACE, out, n, MPI_INT, MPI_BXOR, w);
  });
  compare("reduce", block, block, [&](const void* in, void* out) {
    return MPI_Reduce(in, out, n, MPI_INT, MPI_MAX, root, w);
  });
  compare("reduce_scatter_block", all, block, [&](const void* in, void* out) {
    return MPI_Reduce_scatter_block(in, out, n, MPI_INT, MPI_SUM, w);
  });
}

void alike_on_some() {
  constexpr int n = 100003;
  const MPI_Comm w = MPI_COMM_WORLD;
  const size_t block = n * 4;
  const auto data = bytes_of(block, static_cast<unsigned>(rank + 1));
  std::vector<uint8_t> want(block), got(block);
  OK(MPI_Allreduce(data.data(), want.data(), n, MPI_INT, MPI_SUM, w));
  Area in(rank == 0 ? Kind::kHost : Kind::kDevice, block), out(Kind::kDevice, block);
  in.put(data);
  OK(MPI_Allreduce(in.address(), out.address(), n, MPI_INT, MPI_SUM, w));
  out.get(got.data(), block);
  CHECK(got == want);

  MPI_Datatype gaps = MPI_DATATYPE_NULL;
  OK(MPI_Type_vector(n, 1, 2, MPI_INT, &gaps));
  OK(MPI_Type_commit(&gaps));
  const auto spread = bytes_of(2 * block, 7);
  std::vector<uint8_t> wide_want = spread, wide_got(2 * block);
  Area wide(Kind::kDevice, 2 * block), narrow(Kind::kDevice, block);
  wide.put(spread);
  narrow.put(data);
  const bool uses_gaps = rank % 2 == 1;
  OK(MPI_Bcast(uses_gaps ? wide_want.data() : want.data(), uses_gaps ? 1 : n,
               uses_gaps ? gaps : MPI_INT, 0, w));
  std::vector<uint8_t> first(block);
  if (rank == 0) narrow.put(want);
  OK(MPI_Bcast(uses_gaps ? wide.address() : narrow.address(), uses_gaps ? 1 : n,
               uses_gaps ? gaps : MPI_INT, 0, w));
  wide.get(wide_got.data(), 2 * block);
  narrow.get(got.data(), block);
  CHECK(uses_gaps ? wide_got == wide_want : got == want);
  OK(MPI_Type_free(&gaps));
}

}  // namespace

int main(int argc, char** argv) {
  begin(&argc, &argv);
  start_cuda();
  for (const int n : {20000, 100003, 600001}) all_of(n);
  alike_on_some();
  return end();
}
