// SPDX-License-Identifier: Apache-2.0
// The parsed command line. See: man1/mpirun.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "boot/process_set.hpp"

namespace tern::mpirun {

using Pairs = std::vector<std::pair<std::string, std::string>>;

struct App {
  int ranks = 0;  // 0: not given; settle_ranks() decides
  std::vector<std::string> command;
  std::string directory;    // empty: mpirun's
  std::string search_path;  // directories between ':', searched before PATH
  Pairs environment;
  std::vector<std::string> sets;
};

enum class Unit { kMachine, kPackage, kNuma, kL3, kCore, kThread };

enum class Bind { kShare, kUnit, kNone };

struct Placing {
  Unit map = Unit::kMachine;  // round robin over this unit; kMachine: in order
  int per_unit = 0;           // ppr:N: N ranks on each; 0: round robin
  int cores_each = 0;         // PE=N; 0: not given
  bool rank_given = false;
  Unit rank = Unit::kMachine;  // round robin of rank numbers; kMachine: in order
  Bind bind = Bind::kShare;
  Unit bind_unit = Unit::kCore;
  bool take_held = false;
  bool may_oversubscribe = true;
};

struct Host {
  std::string name;
  int slots = 0;
};

enum class Input { kRank, kAll, kNone };

struct Options {
  std::vector<App> apps;
  Pairs environment;
  std::vector<std::string> unset;
  std::vector<Host> hosts;
  int per_node = 0;  // -N, -ppn; 0: not given
  Placing placing;
  Input input = Input::kRank;
  int input_rank = 0;
  std::string output_directory;  // a file per rank and stream; empty: mpirun's outputs
  bool tag_output = false;
  bool timestamp_output = false;
  bool report_bindings = false;
  bool quiet = false;
  bool as_root = false;  // root may start ranks by prterun
  bool dry_run = false;
  bool help = false;
  bool version = false;
  double timeout_s = 0;
  int universe = 0;  // --usize; 0: not given
  std::vector<std::string> remarks;

  [[nodiscard]] int ranks() const noexcept;
};

/// The variables that a program's ranks get: the job's, where the program has no other value, and
/// the program's.
[[nodiscard]] Pairs variables_of(const Options& options, const App& app);

/// Returns all named process sets, each with the ranks of its sections.
[[nodiscard]] std::vector<boot::ProcessSet> process_sets_of(const Options& options);

/// The value of `name` in a list of NAME=VALUE; null if absent.
[[nodiscard]] const char* value_in(const std::vector<std::string>& list,
                                   const std::string& name) noexcept;

inline constexpr int kMostRanks = 65536;

}  // namespace tern::mpirun
