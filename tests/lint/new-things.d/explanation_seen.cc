// SPDX-License-Identifier: Apache-2.0
// Prints an explanation of one line.
#include <cstdio>

#include "core/process.hpp"

int main() {
  tern::core::Process process;
  process.explain.configure("1", 0);
  process.explain.say("dummy", {{"size", 7ULL}}, "the dummy was chosen");
}
