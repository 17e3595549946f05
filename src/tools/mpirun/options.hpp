// SPDX-License-Identifier: Apache-2.0
// The user's words after mpirun, understood.
// See: man1/mpirun, tests/unit/tools/options_test.cc.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "boot/process_set.hpp"

namespace tern::mpirun {

using Pairs = std::vector<std::pair<std::string, std::string>>;

// One section between ':', or one line of an app file.
struct App {
  int ranks = 0;  // 0: not said; settle_ranks() finds it
  std::vector<std::string> command;
  std::string directory;          // empty: where mpirun stands
  std::string search_path;        // folders between ':' that are searched before PATH
  Pairs environment;              // set for these ranks
  std::vector<std::string> sets;  // names of the process sets that have these ranks
};

// Parts of a machine, from large to small.
enum class Unit { kMachine, kPackage, kNuma, kL3, kCore, kThread };

enum class Bind { kShare, kUnit, kNone };

// Where ranks go.
struct Placing {
  Unit map = Unit::kMachine;  // round robin over these; kMachine: in order
  int per_unit = 0;           // ppr:N: fill each with N; 0: round robin
  int cores_each = 0;         // PE=N; 0: not said
  bool rank_given = false;
  Unit rank = Unit::kMachine;  // numbers go round robin over these; kMachine: one after the other
  Bind bind = Bind::kShare;
  Unit bind_unit = Unit::kCore;
  bool take_held = false;  // also cores that another mpirun holds
  bool may_oversubscribe = true;
};

struct Host {
  std::string name;
  int slots = 0;  // 0: not said
};

enum class Input { kRank, kAll, kNone };

struct Options {
  std::vector<App> apps;
  Pairs environment;               // set for all ranks
  std::vector<std::string> unset;  // taken away from all ranks
  std::vector<Host> hosts;         // empty: here
  int per_node = 0;                // -N, -ppn; 0: not said
  Placing placing;
  Input input = Input::kRank;
  int input_rank = 0;
  std::string output_directory;  // a file for each rank and stream; empty: mpirun's own
  bool tag_output = false;
  bool timestamp_output = false;
  bool report_bindings = false;
  bool quiet = false;
  bool dry_run = false;
  bool help = false;
  bool version = false;
  double timeout_s = 0;              // 0: none
  std::vector<std::string> remarks;  // options that have no effect here, a sentence each

  [[nodiscard]] int ranks() const noexcept;
};

/// The sets that the sections name, each with the ranks of all sections that name it.
[[nodiscard]] std::vector<boot::ProcessSet> process_sets_of(const Options& options);

inline constexpr int kMostRanks = 65536;

}  // namespace tern::mpirun
