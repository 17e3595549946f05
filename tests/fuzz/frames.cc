// SPDX-License-Identifier: Apache-2.0
// Fuzz target: hostile peers' frames, into a pml with pending sends and receives.
#include "frames.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tern::fuzz::drive_frames(data, size);
  return 0;
}
