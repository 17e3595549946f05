// SPDX-License-Identifier: Apache-2.0
// TERN_CUDA_OUTPUTS: kernels write the results of an allreduce to the outputs of the other ranks,
// and no copy is asked for; below that size copies do it. The same bits either way, also where
// slices are of different lengths, in place, and for a type whose elements are pairs.
// ranks: 2 3 4
// env: TERN_CUDA_OUTPUTS=65536 TERN_GPU_ENGINE=host
// configurations: 1 4-peers
// full-configurations: 12.0
#include "allocators.hpp"

using namespace tern::test;

namespace {

struct Done {
  unsigned long long copies, kernels;
};
Done done() { return {control().calls("cuMemcpyAsync"), control().calls("cuLaunchKernel")}; }

/// What the call asked for on this rank.
Done allreduce(const Area& in, const Area& out, int count, bool in_place) {
  std::vector<float> values(static_cast<size_t>(count));
  const auto length = values.size() * sizeof(float);
  for (int i = 0; i < count; ++i)
    values[static_cast<size_t>(i)] = static_cast<float>((i % 977) * (rank + 1));
  (in_place ? out : in).put(values.data(), length);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  const Done before = done();
  OK(MPI_Allreduce(in_place ? MPI_IN_PLACE : in.address(), out.address(), count, MPI_FLOAT, MPI_SUM,
                   MPI_COMM_WORLD));
  const Done after = done();
  out.get(values.data(), length);
  for (int i = 0; i < count; ++i)
    if (values[static_cast<size_t>(i)] != static_cast<float>((i % 977) * (size * (size + 1) / 2)))
      FAIL("element %d of %d is %g", i, count, static_cast<double>(values[static_cast<size_t>(i)]));
  return {after.copies - before.copies, after.kernels - before.kernels};
}

void pairs(const Area& in, const Area& out) {
  constexpr int kPairs = 100003;
  std::vector<int> values(2 * kPairs);
  for (int i = 0; i < kPairs; ++i) {
    values[static_cast<size_t>(2 * i)] = (i + rank) % size;
    values[static_cast<size_t>(2 * i + 1)] = rank;
  }
  in.put(values.data(), values.size() * sizeof(int));
  OK(MPI_Allreduce(in.address(), out.address(), kPairs, MPI_2INT, MPI_MAXLOC, MPI_COMM_WORLD));
  out.get(values.data(), values.size() * sizeof(int));
  for (int i = 0; i < kPairs; ++i) {
    CHECK_EQ(values[static_cast<size_t>(2 * i)], size - 1);
    CHECK_EQ((i + values[static_cast<size_t>(2 * i + 1)]) % size, size - 1);
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
  constexpr int kLarge = (1 << 20) + 13, kSmall = 20001;  // a slice of the latter is below
  const Area in = plain(kLarge * sizeof(float)), out = plain(kLarge * sizeof(float));
  (void)allreduce(in, out, kLarge, false);  // links are tried
  for (const bool in_place : {false, true}) {
    const auto others = static_cast<unsigned long long>(size - 1);
    const Done large = allreduce(in, out, kLarge, in_place);
    CHECK_EQ(large.copies, 0);
    CHECK_EQ(large.kernels, 1 + others);
    const Done small = allreduce(in, out, kSmall, in_place);
    CHECK_EQ(small.copies, others);
    CHECK_EQ(small.kernels, 1);
  }
  pairs(in, out);
  return end();
}
