// SPDX-License-Identifier: Apache-2.0
// Rules: algorithms by size, as lines of text.
//
//   # collective    ranks   bytes      algorithm
//   bcast           2       any        linear
//   bcast           3..     ..512k     binomial            one_host
//   allreduce       any     1m..       ring                streams
//   allreduce       ..16    ..32k      one_shot            kernels
//   allreduce       ..2     ..256k     one_shot            wire ll128
//   allreduce       3..     2m..       two_shot            wire multimem
//   allreduce       8       1m..2m     file ar8.xml        one_host
//   allreduce       any     16k..1m    model
//   within 0.7 6000        latency in microseconds and megabytes per second of a message
//   between 10 3300
//   reduce 6000
//   copy 9000
//
// "file" follows the plan of an MSCCL file (coll/exchange), named from the folder of the table.
// Ranges are any, N, N.., ..M or N..M, inclusive; bytes are of the vector or of a block, with units
// k, m, g. The first line with a fitting range and a capable algorithm applies. Lines with
// "streams", "kernels" or a wire apply only to collectives enqueued in GPU streams, other lines
// only to other collectives. "kernels" further requires a preference for kernels, a wire the team's
// support of the wire. "model" leaves the choice to the cost model; the last four lines set the
// model's figures.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "coll/select/model.hpp"

namespace tern::coll {

struct Rule {
  Collective collective;
  int64_t least_ranks, most_ranks, least_bytes, most_bytes;
  bool one_host, many_hosts;
  bool streams;  // true: only in GPU streams; false: never in GPU streams
  bool kernels;
  Wire wire;
  const Algorithm* algorithm;  // null: the model chooses
  int line;
  std::shared_ptr<const Plan> plan{};  // of "file NAME"

  [[nodiscard]] bool fits(const Question& question) const noexcept;
};

struct Rules {
  std::vector<Rule> rules;

  /// *passed is the first fitting rule except for a wire not among `wires`, or null. `alike`
  /// requires the bits of this row.
  [[nodiscard]] const Rule* find(const Question& question, Wires wires,
                                 const Rule** passed = nullptr,
                                 const Algorithm* alike = nullptr) const noexcept;
  /// read() adds a complaint for each bad line, "FILE:LINE: ...".
  void read(const std::string& text, const std::string& file, Model* model,
            std::vector<std::string>* complaints);
};

/// Equal for texts that differ in comments and spaces alone. Includes the plans' files.
[[nodiscard]] uint64_t digest_of_rules(const std::string& text, const std::string& file);

struct MeasuredLines {
  std::array<Rules, kCollectives> by;

  void add(const Rule& rule) { by[static_cast<size_t>(rule.collective)].rules.push_back(rule); }
  [[nodiscard]] const Rule* find(const Question& question, const Algorithm& alike) const noexcept {
    return by[static_cast<size_t>(question.collective)].find(question, {}, nullptr, &alike);
  }
};

[[nodiscard]] bool same_bits(const Algorithm& one, const Algorithm& other,
                             const Question& question) noexcept;
[[nodiscard]] bool can(const Algorithm& algorithm, const Question& question) noexcept;

}  // namespace tern::coll
