// SPDX-License-Identifier: Apache-2.0
// Network: fluid flows that share resources (links, memory). All flows grow alike until a resource
// is full; flows of a full resource keep the rate, the others continue (max-min fairness). Units:
// us, bytes. Cost of a change: the flows that share possibly full resources with the changed flow,
// directly or through others, times log.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace tern::coll {

class Network {
 public:
  struct LinkUse {
    int32_t resource;
    double weight;  // bytes on the resource per byte
  };

  /// Events closer together than tolerance() count as simultaneous.
  [[nodiscard]] static double tolerance(double time) noexcept { return 1e-9 + 1e-12 * time; }

  /// `capacity` is in bytes per us.
  int32_t add(double capacity);
  /// Starts a flow now. `uses` is not empty and names each resource once. `tag` is returned at the
  /// end.
  void start(double bytes, std::span<const LinkUse> uses, size_t tag);
  [[nodiscard]] double now() const noexcept { return now_; }
  [[nodiscard]] bool idle() const noexcept { return active_ == 0; }
  /// The time of the next end; infinite while idle().
  [[nodiscard]] double next_end();
  /// Moves to `time`, at most next_end(), and returns the tags of ended flows, valid until the next
  /// call.
  const std::vector<size_t>& advance(double time);
  /// Bytes of ended flows.
  [[nodiscard]] double carried(int32_t resource) const {
    return resources_[static_cast<size_t>(resource)].carried;
  }

 private:
  struct Place {
    uint32_t flow, use;
  };
  struct Resource {
    double capacity, carried = 0;
    double demand = 0;  // if every flow had its bound
    std::vector<Place> flows{};
    double left = 0, load = 0;  // while rates are found
    uint64_t seen = 0;
    [[nodiscard]] bool may_fill() const noexcept { return demand > capacity * (1 + 1e-12); }
  };
  struct Use {
    int32_t resource;
    uint32_t place;  // in Resource::flows
    double weight;
  };
  struct Flow {
    size_t tag = 0;
    double bytes = 0, left = 0;  // left: at `since`
    double since = 0, rate = 0, bound = 0;
    double found = 0;  // the new rate; negative: not yet known
    uint64_t seen = 0;
    uint32_t version = 0;
    bool active = false;
    std::vector<Use> uses{};
  };
  struct End {
    double time;
    uint32_t flow, version;
    [[nodiscard]] bool operator>(const End& other) const noexcept { return time > other.time; }
  };
  struct Level {
    double rate;
    int32_t resource;  // -1: the bound of `flow`
    uint32_t flow;
    [[nodiscard]] bool operator>(const Level& other) const noexcept { return rate > other.rate; }
  };

  [[nodiscard]] Resource& resource(int32_t number) {
    return resources_[static_cast<size_t>(number)];
  }
  void find_rates();
  void gather();
  void reach(uint32_t flow);
  void fill();
  void settle(uint32_t flow, double rate);
  void set_rate(uint32_t flow);
  void stop(uint32_t flow);
  void push_level(double rate, int32_t resource, uint32_t flow);

  std::vector<Resource> resources_;
  std::vector<Flow> flows_;
  std::vector<uint32_t> free_, touched_, component_;
  std::vector<int32_t> filling_;
  std::vector<End> ends_;      // heap
  std::vector<Level> levels_;  // heap
  std::vector<size_t> ended_;
  double now_ = 0;
  size_t active_ = 0;
  uint64_t round_ = 0;
};

}  // namespace tern::coll
