// SPDX-License-Identifier: Apache-2.0
// Fuzz target: connection infos of peers, and shared memory written by a peer.
#include "connection_info.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tern::fuzz::drive_connection_info(data, size);
  return 0;
}
