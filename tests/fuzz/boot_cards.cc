// SPDX-License-Identifier: Apache-2.0
// Fuzz target: cards of peers, and shared memory that a peer writes into.
#include "boot_cards.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tern::fuzz::drive_boot_cards(data, size);
  return 0;
}
