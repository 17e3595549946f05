// SPDX-License-Identifier: Apache-2.0
// The new hint has a default, and takes a value.
#include <cstdio>

#include "io/hints.hpp"

int main() {
  const tern::Params params;
  tern::io::Hints hints(params);
  const auto value = [&] { return hints.used()->get("dummy").value_or("missing"); };
  const std::string before = value();
  hints.take_text("dummy false");
  std::printf("dummy is %s, then %s\n", before.c_str(), value().c_str());
}
