// SPDX-License-Identifier: Apache-2.0
// The protocols, by name.
#include <cstdio>

#include "pml/protocols/protocol.hpp"

int main() {
  for (const tern::pml::Protocol* row : tern::pml::protocols()) std::printf("%s\n", row->name);
}
