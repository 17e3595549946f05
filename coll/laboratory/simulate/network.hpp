// SPDX-License-Identifier: Apache-2.0
// Network: fluid flows that share resources (links, memory). All flows grow alike until a resource
// is full; flows of a full resource keep the rate, the others continue (max-min fairness). Units:
// us, bytes. Cost of a change: flows x uses x full resources.
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

  /// `capacity` is in bytes per us.
  int add(double capacity);
  /// `uses` is not empty. Returns a number, never reused.
  size_t start(double bytes, std::vector<LinkUse> uses);
  [[nodiscard]] bool idle() const noexcept { return flows_.empty(); }
  /// until_next() is in us, and not valid while idle().
  [[nodiscard]] double until_next();
  std::vector<size_t> advance(double time);
  [[nodiscard]] double carried(int resource) const {
    return resources_[static_cast<size_t>(resource)].carried;
  }

 private:
  struct Resource {
    double capacity, carried = 0;
    double left = 0, load = 0;
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
