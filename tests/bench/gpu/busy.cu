// SPDX-License-Identifier: Apache-2.0
// A kernel that computes in registers and touches no memory: compute.cc measures what slows it.
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
