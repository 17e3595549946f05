// SPDX-License-Identifier: Apache-2.0
#include "coll/laboratory/search/place.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <utility>

#include "base/error.hpp"
#include "coll/laboratory/simulate/group_times.hpp"
#include "coll/laboratory/simulate/mix.hpp"
#include "mpi.h"

namespace tern::coll {
namespace {

constexpr int32_t kPassesWhileSearching = 2;
constexpr int64_t kLeastMoves = 3000;  // of a seed
constexpr double kGain = 1 - 1e-9;     // smaller gains are rounding

/// A pseudo-random sequence, alike everywhere.
class Dice {
 public:
  explicit Dice(uint64_t seed) noexcept : seed_(seed) {}
  [[nodiscard]] size_t below(size_t n) noexcept { return static_cast<size_t>(next() % n); }
  [[nodiscard]] double share() noexcept { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  uint64_t next() noexcept { return mix(seed_, ++count_); }
  uint64_t seed_, count_ = 0;
};

/// The time of a step's communication, for any placement.
class StepTimes {
 public:
  StepTimes(const Workload& workload, const PredictedWorkload& before, PlacedMachine& machine) {
    for (const PredictedCall& one : before.calls) {
      if (one.row == nullptr) continue;
      groups_.push_back(std::make_unique<Groups>(workload.groups_of(one.call)));
      calls_.push_back(
          {GroupTimes(*one.row, one.call, *groups_.back(), machine, kPassesWhileSearching),
           static_cast<double>(one.count)});
    }
  }
  [[nodiscard]] double operator()(const std::vector<int32_t>& places) {
    double sum = 0;
    for (auto& [times, count] : calls_) sum += count * times.time(places);
    return sum;
  }
  [[nodiscard]] int64_t work() const noexcept {
    int64_t sum = 0;
    for (const auto& [times, count] : calls_) sum += times.work();
    return sum;
  }

 private:
  std::vector<std::unique_ptr<Groups>> groups_;
  std::vector<std::pair<GroupTimes, double>> calls_;
};

class Annealing {
 public:
  Annealing(StepTimes& times, const std::vector<int64_t>& hosts, int32_t ranks, int32_t gpus,
            const PlaceSettings& settings)
      : times_(times), settings_(settings), ranks_(static_cast<size_t>(ranks)) {
    best_.resize(static_cast<size_t>(gpus));
    std::iota(best_.begin(), best_.end(), 0);
    best_time_ = times_(best_);
    std::vector<std::vector<int32_t>> members(best_.size());
    for (size_t g = 0; g < best_.size(); ++g)
      members[static_cast<size_t>(hosts[g])].push_back(static_cast<int32_t>(g));
    for (std::vector<int32_t>& one : members)
      if (!one.empty()) hosts_.push_back(std::move(one));
  }

  void run() {
    if (best_time_ <= 0) return;  // no call is simulated
    const std::vector<int32_t> identity = best_;
    for (int seed = 0; seed < settings_.seeds && !spent(seed); ++seed) run_seed(identity, seed);
  }
  /// Ranks, then free GPUs.
  [[nodiscard]] const std::vector<int32_t>& best() const noexcept { return best_; }
  [[nodiscard]] int64_t tried() const noexcept { return tried_; }

 private:
  // Each seed has its part of the work.
  [[nodiscard]] bool spent(int seed) const {
    return work() >= settings_.most_work / settings_.seeds * (seed + 1);
  }
  [[nodiscard]] int64_t work() const { return times_.work() + tried_; }

  void run_seed(std::vector<int32_t> now, int seed) {
    Dice dice(static_cast<uint64_t>(seed));
    double time = times_(now);
    const auto n = static_cast<int64_t>(ranks_);
    const int64_t moves = std::max(kLeastMoves, 4 * n * n);
    for (int64_t move = 0; move < moves && !spent(seed); ++move) {
      std::vector<int32_t> next = now;
      change(&next, dice);
      const double then = value(next);
      // Later seeds are hotter, and leave valleys.
      const double heat = std::ldexp(settings_.alpha, seed) * time *
                          (1 - static_cast<double>(move) / static_cast<double>(moves));
      if (then > time && (heat <= 0 || dice.share() >= std::exp((time - then) / heat))) continue;
      now = std::move(next);
      time = then;
    }
    descend(best_);
  }

  [[nodiscard]] double value(const std::vector<int32_t>& places) {
    ++tried_;
    const double time = times_(places);
    if (time < best_time_ * kGain) {
      best_time_ = time;
      best_ = places;
    }
    return time;
  }

  // Every fourth change swaps two hosts.
  void change(std::vector<int32_t>* places, Dice& dice) const {
    if (hosts_.size() > 1 && dice.below(4) == 0) {
      const auto& a = hosts_[dice.below(hosts_.size())];
      const auto& b = hosts_[dice.below(hosts_.size())];
      if (a.size() == b.size() && a != b) return swap_hosts(places, a, b);
    }
    std::swap((*places)[dice.below(ranks_)], (*places)[dice.below(places->size())]);
  }

  static void swap_hosts(std::vector<int32_t>* places, const std::vector<int32_t>& a,
                         const std::vector<int32_t>& b) {
    for (int32_t& gpu : *places) {
      const auto in_a = std::find(a.begin(), a.end(), gpu);
      const auto in_b = std::find(b.begin(), b.end(), gpu);
      if (in_a != a.end())
        gpu = b[static_cast<size_t>(in_a - a.begin())];
      else if (in_b != b.end())
        gpu = a[static_cast<size_t>(in_b - b.begin())];
    }
  }

  /// Swaps of two as long as one gains.
  void descend(std::vector<int32_t> now) {
    for (bool gained = true; gained && work() < settings_.most_work;) {
      gained = false;
      for (size_t i = 0; i < ranks_; ++i)
        for (size_t j = i + 1; j < now.size() && work() < settings_.most_work; ++j) {
          std::swap(now[i], now[j]);
          const double before = best_time_;
          (void)value(now);
          if (best_time_ < before)
            gained = true;
          else
            std::swap(now[i], now[j]);
        }
    }
  }

  StepTimes& times_;
  const PlaceSettings& settings_;
  const size_t ranks_;
  std::vector<std::vector<int32_t>> hosts_;
  std::vector<int32_t> best_;
  double best_time_ = 0;
  int64_t tried_ = 0;
};

}  // namespace

Placement place(const Workload& workload, const Topology& topology, const PlaceSettings& settings) {
  const int32_t ranks = workload.ranks();
  if (ranks == 0) throw Error(MPI_ERR_ARG, "the workload has no calls");
  if (ranks > kMostPlacedRanks)
    throw Error(MPI_ERR_ARG,
                strf("placement serves up to %d ranks, not %d", kMostPlacedRanks, ranks));
  Placement made;
  made.before = predict(workload, topology);
  PlacedMachine machine(topology);
  StepTimes times(workload, made.before, machine);
  Annealing annealing(times, machine.hosts(), ranks, std::min(topology.ranks(), kMostPlacedRanks),
                      settings);
  annealing.run();
  made.tried = annealing.tried();
  made.places = annealing.best();
  made.places.resize(static_cast<size_t>(ranks));
  made.after = predict(workload, topology, made.places);
  if (made.after.communication > made.before.communication) {
    std::iota(made.places.begin(), made.places.end(), 0);
    made.after = made.before;
  }
  return made;
}

}  // namespace tern::coll
