// SPDX-License-Identifier: Apache-2.0
// The new wire is a value of TERN_GPU_WIRE, has slots in the scratch, and is found by name.
#include <cstdio>
#include <cstring>

#include "base/params.hpp"
#include "coll/gpu/layout.hpp"

int main() {
  for (const tern::ParamRow& row : tern::Params::rows())
    if (std::strcmp(row.name, "TERN_GPU_WIRE") == 0)
      std::printf("%s\n%s\n", row.range.words, row.meaning);
  tern::Params params;
  params.set("TERN_GPU_WIRE", "dummy");
  if (params.gpu_wire == tern::Wire::kDummy && tern::find_wire("dummy") == tern::Wire::kDummy)
    std::printf("TERN_GPU_WIRE=%s\n", params.get("TERN_GPU_WIRE").c_str());
  tern::coll::ScratchLayout layout;
  layout.ranks = 2;
  layout.bytes = size_t{4} << 20;
  std::printf("%zu vectors\n", layout.push_room(tern::Wire::kDummy));
}
