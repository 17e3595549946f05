// SPDX-License-Identifier: Apache-2.0
// Builder: steps and dependencies.
#include "coll/schedule/builder.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"

namespace tern::coll {

Builder::Builder(Collective collective, const char* algorithm, int32_t ranks, int32_t rank,
                 int32_t root, const Levels* levels, std::shared_ptr<const Neighbors> neighbors,
                 int32_t others, const Plan* plan)
    : made_{.collective = collective,
            .algorithm = algorithm,
            .ranks = ranks,
            .rank = rank,
            .root = root,
            .others = others,
            .parts = 1,
            .neighbors = std::move(neighbors),
            .lane_begin = {},
            .steps = {},
            .slices = {}},
      levels_(levels),
      plan_(plan),
      lanes_(1) {
  TERN_ASSERT(neighborly(collective) == (made_.neighbors != nullptr));
  shape();
}

void Builder::split(int32_t parts) {
  const bool cuts = !neighborly(made_.collective) && made_.others == 0;
  TERN_ASSERT(parts >= 1 && (parts == 1 || cuts || splits(made_.collective)));
  made_.parts = parts;
  shape();
}

void Builder::stage(int32_t slots) {
  made_.stage_slots = slots;
  shape();
}

void Builder::mirrors(int32_t copies) {
  made_.mirrors = copies;
  shape();
}

void Builder::lanes(int count) {
  lanes_.resize(static_cast<size_t>(count));
  shape();
}

void Builder::shape() {
  size_t total = 0;
  for (int space = 0; space < kSpaces; ++space) {
    base_[space] = total;
    const auto which = static_cast<Space>(space);
    total += static_cast<size_t>(made_.blocks_of(which));
  }
  for (Lane& lane : lanes_) {
    TERN_ASSERT(lane.steps.empty());
    lane.uses.assign(total, Use{});
  }
}

size_t Builder::location(const Slice& slice, int32_t block) const noexcept {
  if (slice.space == Space::kInput && made_.others == 0) {
    const int32_t same = made_.in_place_block(block);
    if (same >= 0) return base_[static_cast<int>(Space::kOutput)] + static_cast<size_t>(same);
  }
  return base_[static_cast<int>(slice.space)] + static_cast<size_t>(block);
}

void Builder::check(const Slice& slice) const {
  TERN_ASSERT(slice.blocks >= 1 && slice.first >= 0 && slice.place >= 0);
  TERN_ASSERT(slice.place + slice.blocks <= made_.blocks_of(slice.space));
}

void Builder::need(const Slice& slice, bool writes, std::vector<int32_t>& waits) const {
  if (slice.owner != kSelf) return;
  for (size_t l = 0; l < lanes_.size(); ++l)
    for (int32_t i = 0; i < slice.blocks; ++i) {
      const Use& use = lanes_[l].uses[location(slice, slice.place + i)];
      waits[l] = std::max(waits[l], writes ? std::max(use.written, use.read) : use.written);
    }
}

void Builder::mark(const Slice& slice, bool writes, int32_t steps) {
  if (slice.owner != kSelf) return;
  for (int32_t i = 0; i < slice.blocks; ++i) {
    Use& use = lanes_[lane_].uses[location(slice, slice.place + i)];
    (writes ? use.written : use.read) = steps;
  }
}

// A step can wait for a single other lane, so further lanes get a join.
void Builder::join(std::vector<int32_t>& waits, Step& step) {
  Lane& lane = lanes_[lane_];
  for (size_t other = 0; other < lanes_.size(); ++other) {
    if (other == lane_ || waits[other] == 0) continue;
    if (step.wait_steps != 0) {
      Step joining;
      joining.wait_lane = step.wait_lane;
      joining.wait_steps = step.wait_steps;
      lane.steps.push_back(joining);
      lane.acquired = static_cast<int32_t>(lane.steps.size());
      waits[lane_] = std::max(waits[lane_], lane.acquired);
    }
    step.wait_lane = static_cast<uint8_t>(other);
    step.wait_steps = waits[other];
  }
}

void Builder::add(Verb verb, int32_t peer, int32_t slot, const Slice* sources, size_t source_count,
                  const Slice* destinations, size_t destination_count) {
  std::vector<int32_t> waits(lanes_.size(), 0);
  for (size_t i = 0; i < source_count; ++i) need(sources[i], false, waits);
  for (size_t i = 0; i < destination_count; ++i) need(destinations[i], true, waits);

  Step step;
  step.verb = verb;
  step.peer = peer;
  step.slot = slot;
  step.sources = static_cast<uint8_t>(source_count);
  step.destinations = static_cast<uint8_t>(destination_count);
  step.operand = static_cast<uint32_t>(made_.slices.size());
  join(waits, step);

  Lane& lane = lanes_[lane_];
  const auto index = static_cast<int32_t>(lane.steps.size());
  step.after = std::max(waits[lane_], lane.acquired);
  if (verb == Verb::kSignal) step.after = index;
  if (window_ > 0) step.after = std::max(step.after, index - window_ + 1);

  for (size_t i = 0; i < source_count; ++i) {
    check(sources[i]);
    made_.slices.push_back(sources[i]);
    mark(sources[i], false, index + 1);
  }
  for (size_t i = 0; i < destination_count; ++i) {
    check(destinations[i]);
    made_.slices.push_back(destinations[i]);
    mark(destinations[i], true, index + 1);
  }
  lane.steps.push_back(step);
  if (verb == Verb::kWait) lane.acquired = index + 1;
}

void Builder::send(int32_t to, const Slice& slice) {
  add(Verb::kSend, to, 0, &slice, 1, nullptr, 0);
}

void Builder::recv(int32_t from, const Slice& slice) {
  add(Verb::kRecv, from, 0, nullptr, 0, &slice, 1);
}

void Builder::copy(const Slice& from, const Slice& to) {
  add(Verb::kCopy, kSelf, 0, &from, 1, &to, 1);
}

void Builder::reduce(const Slice& left, const Slice& right, const Slice& to) {
  reduce({left, right}, to);
}

void Builder::reduce(std::initializer_list<Slice> sources, const Slice& to) {
  reduce(std::vector<Slice>(sources), to);
}

void Builder::reduce(const std::vector<Slice>& sources, const Slice& to) {
  for (size_t i = 0; i + 1 < sources.size(); ++i)
    TERN_ASSERT(location(sources[i], sources[i].place) != location(to, to.place));
  add(Verb::kReduce, kSelf, 0, sources.data(), sources.size(), &to, 1);
}

void Builder::put(int32_t to, const Slice& from, Slice far) {
  far.owner = to;
  made_.remote = true;
  add(Verb::kPut, to, 0, &from, 1, &far, 1);
}

void Builder::get(int32_t from, Slice far, const Slice& to) {
  far.owner = from;
  made_.remote = true;
  add(Verb::kGet, from, 0, &far, 1, &to, 1);
}

void Builder::signal(int32_t to, int32_t slot) {
  add(Verb::kSignal, to, slot, nullptr, 0, nullptr, 0);
}

void Builder::wait(int32_t from, int32_t slot) {
  add(Verb::kWait, from, slot, nullptr, 0, nullptr, 0);
}

Schedule Builder::finish() {
  for (const Lane& lane : lanes_) {
    made_.lane_begin.push_back(static_cast<uint32_t>(made_.steps.size()));
    made_.steps.insert(made_.steps.end(), lane.steps.begin(), lane.steps.end());
  }
  made_.lane_begin.push_back(static_cast<uint32_t>(made_.steps.size()));
  // A vector's blocks (and reduce_scatter's input) are adjacent for any sizes, other blocks only if
  // equal. Parts of a block are adjacent, but for slots of the stage.
  for (const Slice& slice : made_.slices) {
    const bool vector = splits(made_.collective) || made_.collective == Collective::kReduceScatter;
    const bool across = slice.blocks > 1 && (made_.parts == 1 || !made_.within_block(slice));
    if (slice.space == Space::kStage ? slice.blocks > 1 : across && !vector) made_.uniform = true;
  }
  const int32_t cut = splits(made_.collective) ? 1 : made_.parts;
  made_.whole = {made_.blocks_of(Space::kInput) / cut, made_.blocks_of(Space::kOutput) / cut};
  return std::move(made_);
}

}  // namespace tern::coll
