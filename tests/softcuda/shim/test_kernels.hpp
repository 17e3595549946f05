// SPDX-License-Identifier: Apache-2.0
// What the kernels of the driver's own tests take (test_kernels.cu; in PTX: gpu/driver/kernels.cc).
#pragma once

#include <cstdint>

namespace tern::softcuda {

/// test_store: puts `value` into the word. test_spin: until the word has `value`.
struct WordArguments {
  uint32_t* word;
  uint32_t value;
};
/// test_meet: each block adds 1 and stays until the sum is `value`.
using MeetArguments = WordArguments;

}  // namespace tern::softcuda
