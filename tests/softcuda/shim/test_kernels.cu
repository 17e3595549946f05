// SPDX-License-Identifier: Apache-2.0
// Kernels of the driver's tests, for the host. The real driver gets PTX
// (tests/gpu/driver/kernels.cc).
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

struct alignas(16) Sixteen {
  uint32_t words[4];
};
constexpr int kSixteens = 16;

TERN_KERNEL(test_publish, PublishArguments, 1, together) {
  auto* const data = reinterpret_cast<Sixteen*>(DEV(arguments.data));
  const uint32_t value = arguments.value;
  for (int i = 0; i < kSixteens; ++i)
    ptx::store_peer(data + i, Sixteen{value, value, value, value});
  uint32_t* const flag = DEV(arguments.flag);
  if (arguments.careful != 0)
    ptx::store_release_system(flag, value);
  else
    ptx::store_relaxed_system(flag, value);
}

TERN_KERNEL(test_read, PublishArguments, 1, together) {
  const auto* const data = reinterpret_cast<const Sixteen*>(DEV(arguments.data));
  const uint32_t value = arguments.value;
  const uint32_t* const flag = DEV(arguments.flag);
  uint32_t sum = 0, wrong = 0;
  for (int i = 0; i < kSixteens; ++i) sum += ptx::load_peer(data + i).words[0];
  while ((arguments.careful != 0 ? ptx::load_acquire_system(flag)
                                 : ptx::load_relaxed_system(flag)) != value)
    spin_pause();
  for (int i = 0; i < kSixteens; ++i) {
    const Sixteen now = ptx::load_peer(data + i);
    for (const uint32_t word : now.words) wrong += word != value ? 1U : 0U;
  }
  atomicAdd(DEV(arguments.wrong), wrong + (sum == ~0U ? 1U : 0U));
}

TERN_KERNEL(test_line, PublishArguments, 1, together) {
  auto* const data = reinterpret_cast<Sixteen*>(DEV(arguments.data));
  const uint32_t value = arguments.value;
  for (int i = 0; i < 8; ++i) ptx::store_piece(data + i, Sixteen{value, value, value, value});
}

TERN_KERNEL(test_read_line, PublishArguments, 1, together) {
  const auto* const words = reinterpret_cast<const uint32_t*>(DEV(arguments.data));
  while (ptx::load_relaxed_system(words + 31) != arguments.value) spin_pause();
  uint32_t wrong = 0;
  for (int i = 0; i < 31; ++i)
    wrong += ptx::load_relaxed_system(words + i) != arguments.value ? 1U : 0U;
  atomicAdd(DEV(arguments.wrong), wrong);
}

TERN_KERNEL(test_multicast, PublishArguments, 1, together) {
  auto* const data = reinterpret_cast<cuda::Vector*>(DEV(arguments.data));
  cuda::multimem_store(data + 1, cuda::multimem_reduce(
                                     static_cast<int32_t>(cuda::MultimemReduction::f32_Sum), data));
  cuda::multimem_signal(data[2].words, arguments.value);
}

}  // namespace tern::softcuda
