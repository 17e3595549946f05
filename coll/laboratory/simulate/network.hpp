// SPDX-License-Identifier: Apache-2.0
// Network: flows that share resources (links, memory) with capacities. Model: fluid; all flows grow
// alike until a resource is full; its flows keep their rate, the others continue (max-min
// fairness). A flow may load a resource several times per byte. Units: us; bytes. Cost of a change:
// flows x uses x full resources. Lifetime: one simulation. See: tests/unit/coll/simulate_test.cc
// (computed by hand).
#pragma once

#include <cstddef>
#include <vector>

namespace tern::coll {

class Network {
 public:
  struct Use {
    int resource;
    double weight;  // bytes on the resource per byte of the flow
  };

  /// `capacity`: bytes per us. Returns the resource's number.
  int add(double capacity);
  /// Starts a flow; `uses` is not empty. Returns its number, never reused.
  size_t start(double bytes, std::vector<Use> uses);
  [[nodiscard]] bool idle() const noexcept { return flows_.empty(); }
  /// us until the first flow ends; not while idle().
  [[nodiscard]] double until_next();
  /// Advances time, at most until_next(); returns the ended flows.
  std::vector<size_t> advance(double time);
  /// Bytes so far.
  [[nodiscard]] double carried(int resource) const {
    return resources_[static_cast<size_t>(resource)].carried;
  }

 private:
  struct Resource {
    double capacity, carried = 0;
    double left = 0, load = 0;  // while computing rates
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
