// SPDX-License-Identifier: Apache-2.0
// Fuzz target: files of measured lines.
#include "learnt.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tern::fuzz::drive_learnt(data, size);
  return 0;
}
