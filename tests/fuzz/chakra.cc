// SPDX-License-Identifier: Apache-2.0
// Fuzz target: traces of Chakra.
#include "chakra.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tern::fuzz::drive_chakra(data, size);
  return 0;
}
