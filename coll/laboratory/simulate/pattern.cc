// SPDX-License-Identifier: Apache-2.0
// Pattern: normal form of schedules.
#include "coll/laboratory/simulate/pattern.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "base/error.hpp"
#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/symmetry.hpp"
#include "coll/laboratory/simulate/mix.hpp"
#include "mpi.h"

namespace tern::coll {
namespace {

class OutlineMaker {
 public:
  explicit OutlineMaker(const Schedule& schedule)
      : schedule_(schedule),
        made_{.collective = schedule.collective,
              .parts = schedule.parts,
              .at_once = schedule.at_once,
              .words = schedule.words,
              .inbox_slots = schedule.inbox_slots,
              .lane_begin = schedule.lane_begin,
              .steps = {}} {
    made_.steps.reserve(schedule.steps.size());
    for (int lane = 0; lane < schedule.lanes(); ++lane) add_lane(lane);
    for (const Slice& slice : schedule.slices) made_.within_blocks &= schedule.within_block(slice);
    made_.peers = static_cast<int32_t>(peers.size());
    made_.sends.resize(peers.size(), 0);
    for (const OutlineStep& step : made_.steps)
      if (step.peer != kSelf && step.verb != Verb::kRecv && step.verb != Verb::kWait)
        made_.sends[static_cast<size_t>(step.peer)] = 1;
  }

  Outline take() { return std::move(made_); }
  std::vector<int32_t> peers;

 private:
  void add_lane(int lane) {
    int32_t after = 0;
    std::vector<int32_t> waited(static_cast<size_t>(schedule_.lanes()), 0);
    for (int32_t i = 0; i < schedule_.lane_size(lane); ++i) {
      const Step& step = schedule_.step(lane, i);
      OutlineStep one{.verb = step.verb,
                      .sources = step.sources,
                      .destinations = step.destinations,
                      .slot = step.slot};
      after = one.after = std::max(after, step.after);
      int32_t& before = waited[step.wait_lane];
      if (step.wait_steps > before) {
        one.wait_lane = step.wait_lane;
        before = one.wait_steps = step.wait_steps;
      }
      if (step.sources + step.destinations > 0) one.blocks = schedule_.slices[step.operand].blocks;
      if (step.peer != kSelf) number(lane, i, step, &one);
      made_.steps.push_back(one);
    }
  }

  void number(int lane, int32_t index, const Step& step, OutlineStep* one) {
    const auto next = static_cast<int32_t>(peers.size());
    const auto [known, is_new] = numbers_.try_emplace(step.peer, next);
    if (is_new) peers.push_back(step.peer);
    one->peer = known->second;
    const bool comes = step.verb == Verb::kRecv || step.verb == Verb::kWait;
    const bool signal = step.verb == Verb::kSignal || step.verb == Verb::kWait;
    one->nth = counts_[{one->peer, signal ? -1 - step.slot : lane, comes}]++;
    if (step.verb != Verb::kSignal || index == 0) return;
    const Step& before = schedule_.step(lane, index - 1);
    one->follows_put =
        before.peer == step.peer && (before.verb == Verb::kPut || before.verb == Verb::kReduce);
  }

  const Schedule& schedule_;
  Outline made_;
  std::unordered_map<int32_t, int32_t> numbers_;
  std::map<std::tuple<int32_t, int32_t, bool>, int32_t> counts_;
};

uint64_t hash_of(const Outline& outline) {
  uint64_t hash = mix(static_cast<uint64_t>(outline.parts), outline.steps.size());
  for (const OutlineStep& step : outline.steps) {
    hash = mix(hash, static_cast<uint64_t>(step.verb) << 32 | static_cast<uint32_t>(step.peer));
    hash = mix(hash, static_cast<uint64_t>(step.after) << 32 | static_cast<uint32_t>(step.blocks));
  }
  return hash;
}

}  // namespace

int32_t Pattern::intern(Outline outline) {
  const uint64_t hash = hash_of(outline);
  const auto [from, to] = by_hash_.equal_range(hash);
  for (auto at = from; at != to; ++at)
    if (outlines_[static_cast<size_t>(at->second)] == outline) return at->second;
  const auto number = static_cast<int32_t>(outlines_.size());
  by_hash_.emplace(hash, number);
  outlines_.push_back(std::move(outline));
  return number;
}

void Pattern::add(const Schedule& schedule) {
  if (schedule.others != 0)
    throw Error(MPI_ERR_UNSUPPORTED_OPERATION, "inter-communicators are not simulated");
  OutlineMaker maker(schedule);
  peers_.insert(peers_.end(), maker.peers.begin(), maker.peers.end());
  begin_.push_back(peers_.size());
  outline_of_.push_back(intern(maker.take()));
}

void Pattern::sort_peers() {
  sorted_.resize(peers_.size());
  for (int32_t r = 0; r < ranks(); ++r) {
    const std::span<const int32_t> of = peers(r);
    int32_t* const sorted = sorted_.data() + begin_[static_cast<size_t>(r)];
    std::iota(sorted, sorted + of.size(), 0);
    std::sort(sorted, sorted + of.size(), [&](int32_t a, int32_t b) {
      return of[static_cast<size_t>(a)] < of[static_cast<size_t>(b)];
    });
  }
}

int32_t Pattern::index_of(int32_t rank, int32_t peer) const {
  const std::span<const int32_t> of = peers(rank);
  const int32_t* const sorted = sorted_.data() + begin_[static_cast<size_t>(rank)];
  const int32_t* const found = std::lower_bound(
      sorted, sorted + of.size(), peer,
      [&](int32_t a, int32_t wanted) { return of[static_cast<size_t>(a)] < wanted; });
  if (found == sorted + of.size() || of[static_cast<size_t>(*found)] != peer)
    throw Error(MPI_ERR_INTERN,
                strf("rank %d exchanges with rank %d, but not the reverse", peer, rank));
  return *found;
}

Pattern Pattern::of(const std::vector<Schedule>& all) {
  Pattern made;
  for (const Schedule& schedule : all) made.add(schedule);
  made.sort_peers();
  return made;
}

Pattern Pattern::beside(const std::vector<const Pattern*>& parts) {
  Pattern made;
  std::map<const Pattern*, std::vector<int32_t>> numbers;  // of a part's outlines
  for (const Pattern* part : parts) {
    const auto [at, is_new] = numbers.try_emplace(part);
    if (is_new)
      for (const Outline& outline : part->outlines_) at->second.push_back(made.intern(outline));
    const int32_t first = made.ranks();
    const size_t begin = made.peers_.size();
    for (const int32_t outline : part->outline_of_)
      made.outline_of_.push_back(at->second[static_cast<size_t>(outline)]);
    for (size_t r = 1; r < part->begin_.size(); ++r) made.begin_.push_back(begin + part->begin_[r]);
    for (const int32_t peer : part->peers_) made.peers_.push_back(first + peer);
    made.sorted_.insert(made.sorted_.end(), part->sorted_.begin(), part->sorted_.end());
  }
  return made;
}

Pattern Pattern::of(const Algorithm& row, int32_t ranks, int32_t root, const Levels* levels) {
  Pattern made;
  const Symmetry symmetry = Symmetry::of(row, ranks, levels);
  for (int32_t rank = 0; rank < ranks; ++rank) {
    const int32_t like = symmetry.like(rank);
    if (like == rank) {
      made.add(build(row, ranks, rank, root, levels));
      continue;
    }
    const auto first = made.begin_[static_cast<size_t>(like)];
    const auto last = made.begin_[static_cast<size_t>(like) + 1];
    for (size_t i = first; i < last; ++i)
      made.peers_.push_back(symmetry.renamed(like, rank, made.peers_[i]));
    made.begin_.push_back(made.peers_.size());
    made.outline_of_.push_back(made.outline_of(like));
  }
  made.sort_peers();
  return made;
}

}  // namespace tern::coll
