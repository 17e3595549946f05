// SPDX-License-Identifier: Apache-2.0
// Images: schedules of a row with a symmetry, as renamed schedules of a few representatives. A step
// of an image has the peers and blocks of the representative's step, renamed, and equal scratch.
// Sources of a reduction may change places: images prove nothing about the order of operands.
// Blocks are renamed like ranks, like places within a host, or not, by their number.
// See: coll/algorithms/symmetry.hpp.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/symmetry.hpp"
#include "coll/laboratory/verify/symbol.hpp"

namespace tern::coll {

class Images {
 public:
  Images(const Algorithm& row, int32_t ranks, int32_t root, const Levels* levels);

  /// Whether the row has a symmetry for this shape.
  [[nodiscard]] bool any() const noexcept {
    return !representatives_.empty() && static_cast<int32_t>(representatives_.size()) < ranks_;
  }
  [[nodiscard]] const std::vector<Schedule>& representatives() const noexcept {
    return representatives_;
  }
  /// The place of the rank's representative among representatives().
  [[nodiscard]] int32_t place_of(int32_t rank) const { return places_.at(symmetry_.like(rank)); }
  /// `peer` under the change of `rank` into its representative.
  [[nodiscard]] int32_t back(int32_t rank, int32_t peer) const {
    return symmetry_.renamed(rank, symmetry_.like(rank), peer);
  }
  /// The rank's schedule, kept. Throws tern::Error if it is no image.
  [[nodiscard]] const Schedule& of(int32_t rank);
  /// Values of the representative's slice, as those of the rank's slice of the same step.
  [[nodiscard]] std::vector<Symbol> values(int32_t rank, const Slice& from, const Slice& to,
                                           const std::vector<Symbol>& values) const;
  /// A set of ranks (barrier).
  [[nodiscard]] Symbol ranks(int32_t rank, const Symbol& set) const;
  /// Throws tern::Error unless the rank's schedule is an image, and each of its messages has the
  /// same blocks in the same order at both ends. False if the rank has too many peers to compare.
  [[nodiscard]] bool check(int32_t rank) const;

 private:
  [[nodiscard]] Schedule built(int32_t rank) const {
    return build(row_, ranks_, rank, root_, levels_);
  }
  void compare(const Schedule& image) const;
  [[nodiscard]] bool same_step(const Schedule& one, const Step& a, const Schedule& image,
                               const Step& b) const;
  [[nodiscard]] bool same_slice(const Schedule& one, const Slice& a, const Schedule& image,
                                const Slice& b, std::vector<int32_t>* order) const;
  [[nodiscard]] int32_t block(const Schedule& one, Space space, int32_t to, int32_t number) const;
  [[nodiscard]] Symbol renamed(int32_t rank, const Symbol& symbol, const Schedule& one,
                               bool blocks) const;

  const Algorithm& row_;
  const int32_t ranks_, root_;
  const Levels* const levels_;
  const Symmetry symmetry_;
  std::vector<Schedule> representatives_;
  std::unordered_map<int32_t, int32_t> places_;
  std::unordered_map<int32_t, Schedule> known_;
};

}  // namespace tern::coll
