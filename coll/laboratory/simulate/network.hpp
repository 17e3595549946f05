// SPDX-License-Identifier: Apache-2.0
// Network: flows that share what they pass through (links, memory), each with a bound of its own.
// Model: fluid. All flows grow alike until something that they pass is full; its flows keep that
// rate, the others go on growing (max-min fairness). A flow may load something more than once for
// each of its bytes. Units: us; bytes. Cost: of a change, flows x uses x what is full.
// Lifetime: one simulation. See: tests/unit/coll/simulate_test.cc (cases computed by hand).
#pragma once

#include <cstddef>
#include <vector>

namespace tern::coll {

class Network {
 public:
  struct Use {
    int resource;
    double weight;  // bytes there for each byte of the flow
  };

  /// Bytes per us. Returns its number.
  int add(double capacity);
  /// A flow of `bytes` from now on; `uses` has something. Returns its number, which is never used
  /// again.
  size_t start(double bytes, std::vector<Use> uses);
  [[nodiscard]] bool idle() const noexcept { return flows_.empty(); }
  /// us until the first flow ends; not while idle().
  [[nodiscard]] double until_next();
  /// Lets time pass, at most until_next(); returns the flows that ended.
  std::vector<size_t> advance(double time);
  /// Bytes so far.
  [[nodiscard]] double carried(int resource) const {
    return resources_[static_cast<size_t>(resource)].carried;
  }

 private:
  struct Resource {
    double capacity, carried = 0;
    double left = 0, load = 0;  // while rates are found
  };
  struct Flow {
    size_t number;
    double bytes, rate;
    std::vector<Use> uses;
  };
  void find_rates();

  std::vector<Resource> resources_;
  std::vector<Flow> flows_;
  size_t next_ = 0;
  bool changed_ = false;
};

}  // namespace tern::coll
