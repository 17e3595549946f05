// SPDX-License-Identifier: Apache-2.0
// The command line of tern_coll: a command, a collective, an algorithm, and options.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "coll/algorithms/algorithms.hpp"
#include "coll/exchange/nccl_topology.hpp"
#include "coll/topology/topology.hpp"

namespace tern::coll_tool {

struct Options {
  std::string command, collective, algorithm;
  int32_t least_ranks = 0, most_ranks = 0;
  int32_t root = -1;
  std::vector<int32_t> levels;
  std::string neighbors;
  bool device = false;
  bool stream = false;            // lowered schedules, for the stream engine
  int64_t bytes = 0, chunk = -1;  // -1: the algorithm's
  std::string topology, machine, workload;
  std::string place, model, groups;  // files
  coll::NcclTopologyOptions host;
  std::string output = "-";
  bool help = false, version = false;
};

/// Throws tern::Error with the nearest valid word.
[[nodiscard]] Options parse_options(const std::vector<std::string>& words);
[[nodiscard]] std::vector<const coll::Algorithm*> rows_of(const Options& options);
[[nodiscard]] std::vector<coll::Schedule> schedules_of(const Options& options,
                                                       const coll::Algorithm& row, int32_t ranks,
                                                       int32_t root, const coll::Levels* levels,
                                                       const coll::Plan* plan = nullptr);
/// The plan of --topology for a row with kPlan, else null. Throws tern::Error.
[[nodiscard]] std::shared_ptr<const coll::Plan> plan_of(const Options& options,
                                                        const coll::Algorithm& row);
/// Returns null without levels, or if the levels are meaningless for so many ranks. `made` owns the
/// result.
[[nodiscard]] const coll::Levels* levels_of(const Options& options, int32_t ranks,
                                            coll::Levels* made);
/// Returns the neighbourhoods of a topology: ring, grid, torus, random or dense. Throws
/// tern::Error.
[[nodiscard]] std::vector<coll::Neighbors> neighbors_of(const std::string& word, int32_t ranks);
/// The machine of --topology or --machine. Throws tern::Error.
[[nodiscard]] coll::Topology machine_of(const Options& options);
[[nodiscard]] const std::string& name_of_machine(const Options& options);
void write_output(const Options& options, const std::string& text);

}  // namespace tern::coll_tool
