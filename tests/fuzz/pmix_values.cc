// SPDX-License-Identifier: Apache-2.0
// Fuzz target: values from a PMIx server.
#include "pmix_values.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tern::fuzz::drive_pmix_values(data, size);
  return 0;
}
