// SPDX-License-Identifier: Apache-2.0
// Test parameters, set by the test itself.
#pragma once

#include <cstdlib>
#include <string>

namespace tern::test {

/// The test calls set_for_test() before MPI_Init.
inline void set_for_test(const std::string& part, const std::string& value) {
  const char* const before = std::getenv("TERN_TEST");
  const std::string all = (before == nullptr ? "" : std::string(before) + ",") + part + "=" + value;
  setenv("TERN_TEST", all.c_str(), 1);
}

}  // namespace tern::test
