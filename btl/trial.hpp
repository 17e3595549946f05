// SPDX-License-Identifier: Apache-2.0
// Trial: whether a transport works on this machine, and the cure. See: tern_info(1).
#pragma once

#include <string>
#include <vector>

namespace tern::btl {

struct Trial {
  std::string name;
  std::string reaches;
  bool works = false;
  std::string finding;
  std::string cure;
};

}  // namespace tern::btl
