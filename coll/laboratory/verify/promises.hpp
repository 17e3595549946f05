// SPDX-License-Identifier: Apache-2.0
// Promises: contents and sizes of blocks, as in coll/schedule/collective.hpp.
#pragma once

#include <vector>

#include "coll/laboratory/verify/symbol.hpp"
#include "coll/schedule/schedule.hpp"

namespace tern::coll {

[[nodiscard]] Symbol promised(const Schedule& schedule, int32_t block);
/// The size of block `i` of a slice: differs between blocks, the same on all ranks.
[[nodiscard]] int64_t block_size(const Schedule& schedule, const Slice& slice, int32_t i);

class Promises {
 public:
  explicit Promises(const std::vector<Schedule>& schedules) noexcept : schedules_(schedules) {}
  [[nodiscard]] Symbol wanted(const Schedule& s, int32_t block) const;
  [[nodiscard]] bool same_sizes(const Schedule& from, const Slice& source, const Schedule& to,
                                const Slice& target) const;

 private:
  [[nodiscard]] Symbol from_neighbor(const Schedule& s, int32_t block) const;
  [[nodiscard]] int64_t size_at_edge(const Schedule& s, bool input, int32_t block) const;
  [[nodiscard]] int64_t size_of(const Schedule& s, const Slice& slice, int32_t i) const;

  const std::vector<Schedule>& schedules_;
};

}  // namespace tern::coll
