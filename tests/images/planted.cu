// SPDX-License-Identifier: Apache-2.0
// Faults for the checks of sass.py, selected by -DPLANT=NUMBER.
#if PLANT == 1  // a constant load of memory written by another rank
extern "C" __global__ void planted(const int* from, int* to) { *to = __ldg(from); }
#elif PLANT == 2  // an array in local memory
extern "C" __global__ void planted(const int* from, int* to) {
  int array[64];
  for (int i = 0; i < 64; ++i) array[from[i] & 63] = i;
  *to = array[from[64] & 63];
}
#elif PLANT == 3  // too many registers for two blocks
extern "C" __global__ void __launch_bounds__(256) planted(const double* from, double* to) {
  double sums[100];
#pragma unroll
  for (int i = 0; i < 100; ++i) sums[i] = from[i * 256 + threadIdx.x];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 100; ++i) to[i * 256 + threadIdx.x] = sums[i];
}
#elif PLANT == 4  // a packet in two halves
extern "C" __global__ void tern_push_lines(const unsigned long long* from, unsigned long long* to) {
  unsigned long long a, b;
  asm volatile("ld.relaxed.sys.global.u64 %0, [%2]; ld.relaxed.sys.global.u64 %1, [%2+8];"
               : "=l"(a), "=l"(b)
               : "l"(from));
  asm volatile(
      "st.relaxed.sys.global.u64 [%0], %1; st.relaxed.sys.global.u64 [%0+8], %2;" ::"l"(to), "l"(a),
      "l"(b));
}
#elif PLANT == 5  // a load waits for the store of the last
extern "C" __global__ void tern_push_bulk(const int4* from, int4* to) {
  for (int i = 0; i < 100; ++i) {
    int4 value;
    asm volatile("ld.volatile.global.v4.s32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
                 : "l"(from + i));
    asm volatile("st.volatile.global.v4.s32 [%0], {%1, %2, %3, %4};" ::"l"(to + i), "r"(value.x),
                 "r"(value.y), "r"(value.z), "r"(value.w));
  }
}
#endif
