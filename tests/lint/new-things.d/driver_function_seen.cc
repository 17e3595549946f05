// SPDX-License-Identifier: Apache-2.0
// The driver's functions, by name; the new one is a member of the table that is filled.
#include <cstdio>

#include "cuda/driver.hpp"

int main() {
  const tern::cuda::Driver driver{};
#define ROW(name, ...) std::printf("%s %s\n", #name, driver.name == nullptr ? "empty" : "set");
  TERN_CUDA_FUNCTIONS(ROW, ROW)
}
