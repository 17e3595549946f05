// SPDX-License-Identifier: Apache-2.0
// Jobs for other machines: handed to the launcher that reaches them, srun or prterun, with the
// options translated.
// See: tests/unit/tools/elsewhere_test.cc, tests/mpi/launch_slurm.sh.
#pragma once

#include <string>
#include <vector>

#include "tools/mpirun/options.hpp"

namespace tern::mpirun {

enum class Launcher { kSelf, kSrun, kPrterun };

// What the environment says of Slurm; all empty or 0 outside of it.
struct Allocation {
  bool exists = false;
  int nodes = 0;
  int tasks = 0;         // 0: not said
  bool in_step = false;  // srun started us: the step's processes are on this node
};
[[nodiscard]] Allocation allocation_here();

// Who starts this job. Throws tern::Error saying what to install if no launcher can.
[[nodiscard]] Launcher launcher_for(const Options& options, const Allocation& allocation);

// The command line of the other launcher and what it needs around it.
struct Handover {
  std::vector<std::string> words;
  Pairs environment;
  std::vector<std::string> unset;
  std::string programs;  // srun's list of programs; stands for kProgramsFile among the words
};
inline constexpr const char* kProgramsFile = "PROGRAMS";

// Throw tern::Error naming what cannot be translated.
[[nodiscard]] Handover for_srun(const Options& options, const Allocation& allocation);
[[nodiscard]] Handover for_prterun(const Options& options);

// Becomes the other launcher. Throws tern::Error where that fails.
[[noreturn]] void hand_over(const Handover& handover);

}  // namespace tern::mpirun
