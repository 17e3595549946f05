// SPDX-License-Identifier: Apache-2.0
// Fuzz target: parameter files, environments and values.
#include "params.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tern::fuzz::drive_params(data, size);
  return 0;
}
