// SPDX-License-Identifier: Apache-2.0
// Fuzz target: frames from hostile peers, into a pml with sends and receives under way.
#include "frames.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tern::fuzz::drive_frames(data, size);
  return 0;
}
