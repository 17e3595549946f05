// SPDX-License-Identifier: Apache-2.0
// Rules: which algorithm serves which sizes, as lines that a person reads and writes.
//
//   # collective    ranks   bytes      algorithm
//   bcast           2       any        linear
//   bcast           3..     ..512k     binomial            one_host
//   allreduce       any     1m..       ring                streams
//   allreduce       ..16    ..32k      one_shot            kernels
//   allreduce       ..2     ..256k     one_shot            wire ll128
//   allreduce       3..     2m..       two_shot            wire multimem
//   allreduce       any     16k..1m    model
//   within 0.7 6000        latency in microseconds and megabytes per second of a message
//   between 10 3300
//   reduce 6000
//   copy 9000
//
// Ranges are any, N, N.., ..M or N..M, both ends included; bytes are of the vector or of one block
// and have units (k, m, g). The first line that fits and whose algorithm can do the operation is
// taken. A line with "streams" is for what is put into streams of GPUs, and those without it are
// not; one with "kernels" is for those of them that kernels come first for. One with a wire is for
// them, too, where the team can take this wire, and has it taken. "model" leaves the choice to the
// cost model, whose figures the last four lines set. See: TERN_COLL_TABLE, tern_coll tune,
// tests/unit/coll/select_test.cc.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "coll/select/model.hpp"

namespace tern::coll {

struct Rule {
  Collective collective;
  int64_t least_ranks, most_ranks, least_bytes, most_bytes;
  bool one_host, many_hosts;   // where it holds
  bool streams;                // of GPUs, or else not
  bool kernels;                // of these, where kernels come first
  Wire wire;                   // of these, where it can be taken; kAuto: not named
  const Algorithm* algorithm;  // null: the model chooses
  int line;

  /// All but the wire.
  [[nodiscard]] bool fits(const Question& question) const noexcept;
};

struct Rules {
  std::vector<Rule> rules;

  /// The first line that fits, by its wire, too; null where none does. *passed: the first that
  /// would fit but names a wire that is not among `wires`; null: none.
  /// `alike`: a row whose bits the line's row must give; null: any.
  [[nodiscard]] const Rule* find(const Question& question, Wires wires,
                                 const Rule** passed = nullptr,
                                 const Algorithm* alike = nullptr) const noexcept;
  /// Adds the lines of `text`; each bad one becomes a sentence, "FILE:LINE: ...".
  void read(const std::string& text, const std::string& file, Model* model,
            std::vector<std::string>* complaints);
};

/// Lines that jobs have measured, by collective: there are many.
struct MeasuredLines {
  std::array<Rules, kCollectives> by;

  void add(const Rule& rule) { by[static_cast<size_t>(rule.collective)].rules.push_back(rule); }
  /// The first line that fits and gives the bits of `alike`; null where none does.
  [[nodiscard]] const Rule* find(const Question& question, const Algorithm& alike) const noexcept {
    return by[static_cast<size_t>(question.collective)].find(question, {}, nullptr, &alike);
  }
};

/// Whether two rows reduce to the same bits.
[[nodiscard]] bool same_bits(const Algorithm& one, const Algorithm& other,
                             const Question& question) noexcept;
/// True where the algorithm's limits allow the operation.
[[nodiscard]] bool can(const Algorithm& algorithm, const Question& question) noexcept;

}  // namespace tern::coll
