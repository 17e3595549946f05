// SPDX-License-Identifier: Apache-2.0
// Fuzz target: mpirun's command line.
#include "mpirun_options.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tern::fuzz::drive_mpirun_options(data, size);
  return 0;
}
