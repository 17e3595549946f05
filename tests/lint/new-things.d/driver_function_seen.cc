// SPDX-License-Identifier: Apache-2.0
// Lists the driver's functions. The new function is a member of the driver table.
#include <cstdio>

#include "cuda/driver.hpp"

int main() {
  const tern::cuda::Driver driver{};
#define ROW(name, ...) std::printf("%s %s\n", #name, driver.name == nullptr ? "empty" : "set");
  TERN_CUDA_FUNCTIONS(ROW, ROW)
}
