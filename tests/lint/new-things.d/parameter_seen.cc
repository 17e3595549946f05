// SPDX-License-Identifier: Apache-2.0
// The new parameter is read from the environment, listed, and part of the shared hash.
#include <cstdio>
#include <cstring>

#include "base/params.hpp"

int main() {
  const char* const environment[] = {"TERN_DUMMY=7", nullptr};
  std::vector<std::string> complaints;
  const tern::Params params = tern::Params::from(environment, &complaints);
  std::printf("read %d, %zu complaints\n", static_cast<int>(params.dummy), complaints.size());
  for (const tern::ParamRow& row : tern::Params::rows())
    if (std::strcmp(row.name, "TERN_DUMMY") == 0)
      std::printf("%s: %s; %s\n", row.name, row.meaning, row.sharing_in_words().c_str());
  const bool counts = params.shared_hash() != tern::Params().shared_hash();
  std::printf("%s\n", counts ? "counts" : "does not count");
}
