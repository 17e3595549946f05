// SPDX-License-Identifier: Apache-2.0
// busy computes in registers and touches no memory, so compute.cc measures the effect of messages
// on computation. costs.cc measures launches of empty_* (bytes of arguments) and the fences of
// fence_*.
extern "C" __global__ void busy(float* out, long long turns) {
  float a = threadIdx.x * 1e-3F, b = 1.0F, c = 2.0F, d = 3.0F;
  for (long long i = 0; i < turns; ++i) {
    a = a * 0.9999F + b;
    b = b * 0.9999F + c;
    c = c * 0.9999F + d;
    d = d * 0.9999F + a;
  }
  if (a + b + c + d == -1.0F) *out = a;
}

template <int kBytes>
struct Arguments {
  char bytes[kBytes];
};
extern "C" __global__ void empty_64(const __grid_constant__ Arguments<64>) {}
extern "C" __global__ void empty_1700(const __grid_constant__ Arguments<1700>) {}
extern "C" __global__ void empty_3900(const __grid_constant__ Arguments<3900>) {}

/// FENCE reads the clock of the multiprocessor around 64 fences.
#define FENCE(name, instruction)                                         \
  extern "C" __global__ void name(long long* out) {                      \
    const long long begin = clock64();                                   \
    for (int i = 0; i < 64; ++i) asm volatile(instruction ::: "memory"); \
    *out = (clock64() - begin) / 64;                                     \
  }
FENCE(fence_system, "fence.acq_rel.sys;")
#if __CUDA_ARCH__ >= 700
FENCE(fence_alias, "fence.proxy.alias;")
#endif
