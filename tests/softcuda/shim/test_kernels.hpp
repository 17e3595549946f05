// SPDX-License-Identifier: Apache-2.0
// Arguments of the kernels of the driver's tests (test_kernels.cu; PTX: gpu/driver/kernels.cc).
#pragma once

#include <cstdint>

namespace tern::softcuda {

/// test_store stores `value`; test_spin waits for `value`.
struct WordArguments {
  uint32_t* word;
  uint32_t value;
};
/// Each block adds 1 and waits for the sum `value`.
using MeetArguments = WordArguments;

/// test_publish: stores 16 vectors of 16 bytes, all words `value`, to `data`, then the flag.
/// test_read: reads the vectors, waits for the flag, reads again, and adds the number of wrong
/// words to `wrong`. Without `careful`, no release and no acquire.
/// test_line: stores the first line of `data` in pieces of a line, in order. test_read_line: waits
/// for the last word, then counts as test_read.
/// test_multicast: `data` is a multicast address of float vectors. Stores the sum of all devices'
/// first vectors to their second, and `value` to the next word.
struct PublishArguments {
  char* data;
  uint32_t* flag;
  uint32_t* wrong;
  uint32_t value;
  uint32_t careful;
};

}  // namespace tern::softcuda
