// SPDX-License-Identifier: Apache-2.0
// Whether each transport works on this machine, found by carrying bytes with it.
// Why: containers, kernels and limits differ between machines.
// Cost: milliseconds; two short-lived processes. Threads: one caller, before others are started.
// See: tern_info(1), tests/unit/btl/trial_test.cc.
#pragma once

#include <string>
#include <vector>

namespace tern::btl {

struct Trial {
  std::string name;     // "sm"
  std::string reaches;  // "ranks of the same host"
  bool works = false;
  std::string finding;  // what was done, or what went wrong
  std::string cure;     // empty where it works
};

}  // namespace tern::btl
