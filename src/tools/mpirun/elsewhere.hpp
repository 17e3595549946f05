// SPDX-License-Identifier: Apache-2.0
// Hands jobs for other machines to srun or prterun, with the options translated.
#pragma once

#include <string>
#include <vector>

#include "tools/mpirun/options.hpp"

namespace tern::mpirun {

enum class Launcher { kSelf, kSrun, kPrterun };

// Slurm's variables in the environment; empty or 0 outside an allocation.
struct Allocation {
  bool exists = false;
  int nodes = 0;
  int tasks = 0;
  bool in_step = false;  // srun started mpirun: the step's processes are on this node
};
[[nodiscard]] Allocation allocation_here();

// Throws tern::Error with the packages to install if no launcher reaches the hosts.
[[nodiscard]] Launcher launcher_for(const Options& options, const Allocation& allocation);

struct Prterun {
  std::string path;    // empty: not found
  std::string prefix;  // of a prterun moved after its build; else empty
};
// Looks into TERN_PRTE, else into PATH. Throws tern::Error if TERN_PRTE has no prterun.
[[nodiscard]] Prterun find_prterun();

struct Handover {
  std::vector<std::string> words;
  Pairs environment;
  std::vector<std::string> unset;
  std::string programs;  // srun's list of programs; replaces kProgramsFile among the words
};
inline constexpr const char* kProgramsFile = "PROGRAMS";

// Both throw tern::Error naming an option without a translation.
[[nodiscard]] Handover for_srun(const Options& options, const Allocation& allocation);
[[nodiscard]] Handover for_prterun(const Options& options, const Prterun& prterun,
                                   const char* const* inherited);

[[noreturn]] void hand_over(const Handover& handover);

}  // namespace tern::mpirun
