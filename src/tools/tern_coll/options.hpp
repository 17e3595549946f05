// SPDX-License-Identifier: Apache-2.0
// The command line of tern_coll: a command, a collective, an algorithm, and options.
#pragma once

#include <string>
#include <vector>

#include "coll/algorithms/algorithms.hpp"

namespace tern::coll_tool {

struct Options {
  std::string command, collective, algorithm;
  int32_t least_ranks = 0, most_ranks = 0;  // 0: the command's own
  int32_t root = -1;                        // -1: the command's own
  std::vector<int32_t> levels;              // sizes of hosts, of their parts, ...
  std::string neighbors;                    // of neighbourhoods: a word, or the command's own
  bool device = false;                      // tune: what is put into streams of GPUs
  bool stream = false;                      // schedules as the stream engine runs them: lowered
  int64_t bytes = 0, chunk = -1;            // -1: the algorithm's own
  std::string topology;                     // a known one, or a file
  std::string output = "-";
  bool help = false, version = false;
};

/// Throws tern::Error with what is wrong and the nearest right word.
[[nodiscard]] Options parse_options(const std::vector<std::string>& words);
/// The rows that the command line names: all, those of a collective, or one.
[[nodiscard]] std::vector<const coll::Algorithm*> rows_of(const Options& options);
/// The schedules of all ranks; of a neighbourhood those of `options.neighbors`.
[[nodiscard]] std::vector<coll::Schedule> schedules_of(const Options& options,
                                                       const coll::Algorithm& row, int32_t ranks,
                                                       int32_t root, const coll::Levels* levels);
/// Null where none were given or they tell nothing for so many ranks; `made` keeps them.
[[nodiscard]] const coll::Levels* levels_of(const Options& options, int32_t ranks,
                                            coll::Levels* made);
/// The neighbourhoods that a word describes: ring, grid, torus or random. Throws tern::Error.
[[nodiscard]] std::vector<coll::Neighbors> neighbors_of(const std::string& word, int32_t ranks);
void write_output(const Options& options, const std::string& text);

}  // namespace tern::coll_tool
