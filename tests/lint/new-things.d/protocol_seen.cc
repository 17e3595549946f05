// SPDX-License-Identifier: Apache-2.0
// Lists the protocols.
#include <cstdio>

#include "pml/protocol.hpp"

int main() {
  for (const tern::pml::Protocol* row : tern::pml::protocols()) std::printf("%s\n", row->name);
}
