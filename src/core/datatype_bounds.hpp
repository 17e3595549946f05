// SPDX-License-Identifier: Apache-2.0
// Bounds of a type under construction. Resizing overrides the data's bounds (MPI-5.0 5.1.6).
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "core/datatype_layout.hpp"

namespace tern::core {

struct Extremes {
  int64_t lb = 0, ub = 0;
  bool lb_marked = false, ub_marked = false;
  bool empty = false;
};

class Bounds {
 public:
  void add(const Extremes& part, int64_t at, int64_t count, int64_t stride) {
    if (count == 0 || part.empty) return;
    const int64_t last = add_bytes(at, multiply_bytes(count - 1, stride));
    lower_.add(std::min(at, last), part.lb, part.lb_marked);
    upper_.add(-std::max(at, last), -part.ub, part.ub_marked);
  }
  /// The extent is padded to `alignment`, unless resizing has set the upper bound.
  [[nodiscard]] Extremes result(int alignment = 1) const {
    Extremes bounds;
    bounds.lb_marked = lower_.marked;
    bounds.ub_marked = upper_.marked;
    bounds.empty = !lower_.any;
    if (bounds.empty) return bounds;
    bounds.lb = lower_.least;
    bounds.ub = -upper_.least;
    const int64_t over = (bounds.ub - bounds.lb) % alignment;
    if (!bounds.ub_marked && over > 0) bounds.ub = add_bytes(bounds.ub, alignment - over);
    return bounds;
  }

 private:
  struct Least {
    int64_t least = 0;
    bool any = false, marked = false;
    void add(int64_t at, int64_t bound, bool mark) {
      if (marked && !mark) return;
      const int64_t value = add_bytes(at, bound);
      least = any && marked == mark ? std::min(least, value) : value;
      any = true;
      marked = mark;
    }
  };
  Least lower_, upper_;  // upper bounds negated
};

}  // namespace tern::core
