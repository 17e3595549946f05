// SPDX-License-Identifier: Apache-2.0
// MPI_Allreduce of floats in device memory by size, against pinned host copies by hand, and against
// NCCL where it is installed (nccl.hpp).
#include "nccl.hpp"

using namespace tern::bench;

namespace {

constexpr size_t kKi = 1024, kMi = kKi * kKi;
constexpr size_t kLengths[] = {8,         64,  512,     4 * kKi,  32 * kKi, 64 * kKi,
                               256 * kKi, kMi, 4 * kMi, 16 * kMi, 64 * kMi, 256 * kMi};

int rounds_of(size_t bytes) { return bytes <= 65536 ? 200 : bytes <= 8 << 20 ? 20 : 3; }

void all_ways(size_t bytes, const Nccl* nccl) {
  const int count = static_cast<int>(bytes / sizeof(float));
  Area from(Kind::kDevice, bytes), to(Kind::kDevice, bytes);
  Area pinned(Kind::kPinned, bytes), sum(Kind::kPinned, bytes);
  const std::vector<float> ones(bytes / sizeof(float), 1.0F);
  from.put(ones.data(), bytes);
  double seconds = seconds_of(rounds_of(bytes), [&] {
    OK(MPI_Allreduce(from.address(), to.address(), count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD));
  });
  float last = 0;
  to.get(&last, sizeof last, bytes - sizeof last);
  CHECK(last == static_cast<float>(size));
  report("allreduce_device", bytes, seconds * 1e6, "us");
  seconds = seconds_of(rounds_of(bytes), [&] {
    to_host(pinned, from, bytes);
    OK(MPI_Allreduce(pinned.address(), sum.address(), count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD));
    to_device(to, sum, bytes);
  });
  report("allreduce_by_hand", bytes, seconds * 1e6, "us");
  if (nccl == nullptr) return;
  seconds = seconds_of(rounds_of(bytes), [&] {
    CHECK_EQ(nccl->AllReduce(from.address(), to.address(), bytes / sizeof(float), kNcclFloat,
                             kNcclSum, nccl->comm, stream),
             0);
    CU(cuStreamSynchronize(stream));
  });
  report("allreduce_nccl", bytes, seconds * 1e6, "us");
}

}  // namespace

int main(int argc, char** argv) {
  start(&argc, &argv);
  Nccl nccl;
  const std::string why_not = open_nccl(&nccl);
  if (!why_not.empty() && rank == 0)
    std::fprintf(stderr, "NCCL is left out: %s\n", why_not.c_str());
  for (const size_t bytes : kLengths)
    if (!quick || bytes <= large()) all_ways(bytes, why_not.empty() ? &nccl : nullptr);
  return finish();
}
