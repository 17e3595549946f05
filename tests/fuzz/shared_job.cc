// SPDX-License-Identifier: Apache-2.0
// Fuzz target: mpirun's start-up memory, written by a rank.
#include "shared_job.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tern::fuzz::drive_shared_job(data, size);
  return 0;
}
