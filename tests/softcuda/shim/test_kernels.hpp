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

/// test_publish: 16 vectors of 16 bytes, each word `value`, into `data`; then the flag is `value`.
/// test_read: reads them, waits for the flag, reads them again, and adds to `wrong` the words that
/// are not `value`. Without `careful` no release and no acquire.
/// test_line: the first line of `data` by pieces of one line, in order. test_read_line: waits for
/// its last word, then counts as test_read. test_multicast: `data` is a multicast address of
/// vectors of floats; the sum of all devices' first goes to all their second, and `value` into the
/// word behind it.
struct PublishArguments {
  char* data;
  uint32_t* flag;
  uint32_t* wrong;
  uint32_t value;
  uint32_t careful;
};

}  // namespace tern::softcuda
