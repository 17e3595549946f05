// SPDX-License-Identifier: Apache-2.0
// Fuzz target: the handle table against a plain model: insert, erase, renew and find of any
// handles.
#include "handles.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tern::fuzz::drive_handles(data, size);
  return 0;
}
