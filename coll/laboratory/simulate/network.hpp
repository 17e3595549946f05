// SPDX-License-Identifier: Apache-2.0
// Network: fluid flows that share resources (links, memory). All flows grow alike until a resource
// is full; its flows keep their rate, the others continue (max-min fairness). Units: us; bytes.
// Cost of a change: flows x uses x full resources. See: tests/unit/coll/simulate_test.cc.
#pragma once

#include <cstddef>
#include <vector>

namespace tern::coll {

class Network {
 public:
  struct LinkUse {
    int resource;
    double weight;  // bytes on the resource per byte
  };

  /// Bytes per us. Returns a number.
  int add(double capacity);
  /// `uses` is not empty. Returns a number, never reused.
  size_t start(double bytes, std::vector<LinkUse> uses);
  [[nodiscard]] bool idle() const noexcept { return flows_.empty(); }
  /// us until the first flow ends; not while idle().
  [[nodiscard]] double until_next();
  /// Advances by at most until_next(); returns the ended flows.
  std::vector<size_t> advance(double time);
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
    std::vector<LinkUse> uses;
  };
  void find_rates();

  std::vector<Resource> resources_;
  std::vector<Flow> flows_;
  size_t next_ = 0;
  bool changed_ = false;
};

}  // namespace tern::coll
