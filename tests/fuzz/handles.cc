// SPDX-License-Identifier: Apache-2.0
// Fuzz target: the handle table against a plain model, driven by bytes: insert, erase, renew, find
// of anything.
// Run: clang++ -fsanitize=fuzzer,address tests/fuzz/handles.cc ... (tests/fuzz/README.md), or
// without libFuzzer as the unit test tests/unit/abi/handles_test, which feeds it pseudo-random
// bytes.
#include "handles.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tern::fuzz::drive_handles(data, size);
  return 0;
}
