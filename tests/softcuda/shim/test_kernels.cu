// SPDX-License-Identifier: Apache-2.0
// Kernels of the driver's own tests, for the host alone: the real driver gets them as PTX
// (tests/gpu/driver/kernels.cc), which any driver takes and no toolkit is needed for.
#include "tests/softcuda/shim/test_kernels.hpp"

namespace tern::softcuda {

TERN_KERNEL(test_store, WordArguments, 1024, together) {
  __atomic_store_n(DEV(arguments.word), arguments.value, __ATOMIC_RELEASE);
}

TERN_KERNEL(test_spin, WordArguments, 1024, together) {
  const uint32_t* const word = DEV(arguments.word);
  while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != arguments.value) spin_pause();
}

TERN_KERNEL(test_meet, MeetArguments, 1024, together) {
  uint32_t* const sum = DEV(arguments.word);
  if (threadIdx.x == 0) {
    __atomic_fetch_add(sum, 1U, __ATOMIC_ACQ_REL);
    while (__atomic_load_n(sum, __ATOMIC_ACQUIRE) < arguments.value) spin_pause();
  }
  __syncthreads();
}

}  // namespace tern::softcuda
