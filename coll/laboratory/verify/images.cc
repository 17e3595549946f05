// SPDX-License-Identifier: Apache-2.0
#include "coll/laboratory/verify/images.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "base/error.hpp"
#include "coll/laboratory/verify/promises.hpp"
#include "mpi.h"

namespace tern::coll {
namespace {

constexpr int32_t kMostPeersChecked = 64;  // of a rank

/// Sources of a commutative reduction, in one order.
std::vector<Slice> slices_of(const Schedule& schedule, const Step& step) {
  std::vector<Slice> all;
  for (int i = 0; i < step.sources; ++i) all.push_back(schedule.source(step, i));
  if (step.verb == Verb::kReduce)
    std::sort(all.begin(), all.end(), [](const Slice& a, const Slice& b) {
      return std::tie(a.space, a.place) < std::tie(b.space, b.place);
    });
  for (int i = 0; i < step.destinations; ++i) all.push_back(schedule.destination(step, i));
  return all;
}

}  // namespace

Images::Images(const Algorithm& row, int32_t ranks, int32_t root, const Levels* levels)
    : row_(row),
      ranks_(ranks),
      root_(root),
      levels_(levels),
      symmetry_(Symmetry::of(row, ranks, levels)) {
  for (int32_t rank = 0; rank < ranks; ++rank) {
    if (symmetry_.like(rank) != rank) continue;
    places_[rank] = static_cast<int32_t>(places_.size());
    if (places_.size() > 2) return;  // without a symmetry nothing is built
  }
  std::vector<int32_t> first;
  for (const auto& [rank, place] : places_) first.push_back(rank);
  std::sort(first.begin(), first.end());
  for (const int32_t rank : first) representatives_.push_back(built(rank));
}

int32_t Images::block(const Schedule& one, Space space, int32_t to, int32_t number) const {
  const int32_t from = one.rank;
  if (splits(one.collective)) {
    if (one.parts == ranks_) return symmetry_.renamed(from, to, number);
    const int32_t host = symmetry_.host();
    return host > 1 && one.parts == host ? (number + to % host - from % host + host) % host
                                         : number;
  }
  const bool input = space == Space::kInput;
  const int32_t count = one.whole_blocks(input ? Space::kInput : Space::kOutput);
  const int32_t other = one.whole_blocks(input ? Space::kOutput : Space::kInput);
  const bool scratch = space != Space::kInput && space != Space::kOutput;
  if (count != ranks_ && !(scratch && other == ranks_)) return number;
  return symmetry_.renamed(from, to, number / one.parts) * one.parts + number % one.parts;
}

// order[i]: where block i of the representative's slice is in the image's.
bool Images::same_slice(const Schedule& one, const Slice& a, const Schedule& image, const Slice& b,
                        std::vector<int32_t>* order) const {
  if (a.space != b.space || a.blocks != b.blocks || a.owner != kSelf || b.owner != kSelf)
    return false;
  const bool stage = a.space == Space::kStage;
  if (stage ? a.place != b.place : a.place - a.first != b.place - b.first) return false;
  order->clear();
  for (int32_t i = 0; i < a.blocks; ++i) {
    const int32_t there = block(one, a.space, image.rank, a.first + i) - b.first;
    if (there < 0 || there >= b.blocks || (stage && there != i)) return false;
    order->push_back(there);
  }
  return true;
}

bool Images::same_step(const Schedule& one, const Step& a, const Schedule& image,
                       const Step& b) const {
  const int32_t peer = a.peer == kSelf ? kSelf : symmetry_.renamed(one.rank, image.rank, a.peer);
  if (a.verb != b.verb || a.sources != b.sources || a.destinations != b.destinations ||
      a.wait_lane != b.wait_lane || a.slot != b.slot || a.after != b.after ||
      a.wait_steps != b.wait_steps || b.peer != peer)
    return false;
  const std::vector<Slice> mine = slices_of(one, a), theirs = slices_of(image, b);
  std::vector<int32_t> order, first;
  std::vector<char> used(theirs.size(), 0);
  for (size_t i = 0; i < mine.size(); ++i) {
    // Sources of a reduction are a set.
    const bool any = a.verb == Verb::kReduce && i < a.sources;
    bool found = false;
    for (size_t j = any ? 0 : i; j < (any ? a.sources : i + 1) && !found; ++j) {
      if (used[j] != 0 || !same_slice(one, mine[i], image, theirs[j], &order)) continue;
      used[j] = 1;
      found = true;
    }
    if (!found) return false;
    if (i == 0) first = order;
    if (order != first) return false;
  }
  return true;
}

void Images::compare(const Schedule& image) const {
  const Schedule& one = representatives_[static_cast<size_t>(place_of(image.rank))];
  const auto fail = [&](int lane, int32_t step) {
    throw Error(MPI_ERR_OTHER, image.describe(lane, step) + ": no renamed step of rank " +
                                   std::to_string(one.rank));
  };
  if (one.lane_begin != image.lane_begin || one.parts != image.parts ||
      one.stage_slots != image.stage_slots || one.mirrors != image.mirrors ||
      one.uniform != image.uniform || one.whole != image.whole)
    fail(0, 0);
  for (int lane = 0; lane < one.lanes(); ++lane)
    for (int32_t i = 0; i < one.lane_size(lane); ++i)
      if (!same_step(one, one.step(lane, i), image, image.step(lane, i))) fail(lane, i);
}

const Schedule& Images::of(int32_t rank) {
  const auto known = known_.find(rank);
  if (known != known_.end()) return known->second;
  Schedule made = built(rank);
  compare(made);
  return known_.emplace(rank, std::move(made)).first->second;
}

Symbol Images::renamed(int32_t rank, const Symbol& symbol, const Schedule& one, bool blocks) const {
  Symbol made;
  for (const Run& run : symbol.runs()) {
    // A contribution is a block of the contributing rank's input, or of a root's output.
    const int32_t block =
        blocks ? this->block(one,
                             one.collective == Collective::kBcast ? Space::kOutput : Space::kInput,
                             rank, run.block)
               : run.block;
    symmetry_.for_each_range(one.rank, rank, run.low, run.high, [&](int32_t low, int32_t high) {
      made.append(Symbol(block, low, high), true);
    });
  }
  return made;
}

Symbol Images::ranks(int32_t rank, const Symbol& set) const {
  return renamed(rank, set, representatives_[static_cast<size_t>(place_of(rank))], false);
}

std::vector<Symbol> Images::values(int32_t rank, const Slice& from, const Slice& to,
                                   const std::vector<Symbol>& values) const {
  const Schedule& one = representatives_[static_cast<size_t>(place_of(rank))];
  std::vector<Symbol> made(values.size());
  for (int32_t i = 0; i < from.blocks; ++i) {
    const int32_t there = block(one, from.space, rank, from.first + i) - to.first;
    made.at(static_cast<size_t>(there)) = renamed(rank, values[static_cast<size_t>(i)], one, true);
  }
  return made;
}

bool Images::check(int32_t rank) const {
  const Schedule mine = built(rank);
  compare(mine);
  std::map<std::pair<int32_t, int>, std::vector<const Slice*>> sent;  // by peer and lane
  for (int lane = 0; lane < mine.lanes(); ++lane)
    for (int32_t i = 0; i < mine.lane_size(lane); ++i)
      if (const Step& step = mine.step(lane, i); step.verb == Verb::kSend)
        sent[{step.peer, lane}].push_back(&mine.source(step));
  Schedule peer{};
  int32_t checked = 0;
  const std::vector<Schedule> none;
  const Promises promises(none);
  for (auto& [key, slices] : sent) {
    if (peer.lane_begin.empty() || peer.rank != key.first) {
      if (++checked > kMostPeersChecked) return false;
      peer = built(key.first);
    }
    size_t next = 0;
    for (int32_t i = 0; key.second < peer.lanes() && i < peer.lane_size(key.second); ++i) {
      const Step& step = peer.step(key.second, i);
      if (step.verb != Verb::kRecv || step.peer != rank) continue;
      if (next == slices.size() ||
          !promises.same_sizes(mine, *slices[next++], peer, peer.destination(step)))
        throw Error(MPI_ERR_OTHER, peer.describe(key.second, i) + ": blocks of another order");
    }
    if (next != slices.size())
      throw Error(MPI_ERR_OTHER, strf("rank %d sends %zu messages to rank %d, which receives %zu",
                                      rank, slices.size(), key.first, next));
  }
  return true;
}

}  // namespace tern::coll
