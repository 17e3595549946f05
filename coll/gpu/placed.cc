// SPDX-License-Identifier: Apache-2.0
#include "coll/gpu/placed.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "base/error.hpp"

namespace tern::coll {
namespace {

struct SlotEdge {
  struct Message {
    int32_t blocks = 0, before = 0, index = 0;
  };
  std::map<int32_t, Message> messages;
  int32_t blocks = 0;
};
using Edges = std::map<std::pair<int32_t, int32_t>, SlotEdge>;

bool puts(const Step& step) noexcept {
  return step.verb == Verb::kPut || (step.verb == Verb::kReduce && step.peer != kSelf);
}

// In the region, messages follow the order of the receiver's slots.
Edges edges_of(const std::vector<Schedule>& lowered) {
  Edges edges;
  for (const Schedule& one : lowered)
    for (const Step& step : one.steps) {
      if (puts(step)) {
        const Slice& far = one.destination(step);
        edges[{one.rank, step.peer}].messages[far.place].blocks = far.blocks;
      } else if (step.verb == Verb::kSignal &&
                 !lowered[static_cast<size_t>(step.peer)].is_credit(step.slot)) {
        (void)edges[{one.rank, step.peer}].messages[step.slot];
      }
    }
  for (auto& [ends, edge] : edges) {
    int32_t index = 0;
    for (auto& [slot, message] : edge.messages) {
      message.before = edge.blocks;
      message.index = index++;
      edge.blocks += message.blocks;
    }
  }
  return edges;
}

const SlotEdge::Message* find(const Edges& edges, int32_t from, int32_t to, int32_t slot) {
  const auto edge = edges.find({from, to});
  if (edge == edges.end()) return nullptr;
  const auto message = edge->second.messages.find(slot);
  return message == edge->second.messages.end() ? nullptr : &message->second;
}

std::vector<int32_t> senders_of(const Schedule& own) {
  std::vector<int32_t> senders(static_cast<size_t>(own.inbox_slots), kSelf);
  for (const Step& step : own.steps)
    if (step.verb == Verb::kWait && !own.is_credit(step.slot))
      senders[static_cast<size_t>(step.slot)] = step.peer;
  return senders;
}

Placed::SlotPlace place_of(const Edges& edges, const Schedule& own,
                           const std::vector<int32_t>& senders, const Slice& slice) {
  const bool far = slice.owner != kSelf && slice.owner != own.rank;
  const int32_t owner = far ? slice.owner : own.rank;
  const int32_t from = far ? own.rank : senders[static_cast<size_t>(slice.place)];
  const SlotEdge::Message* const message = find(edges, from, owner, slice.place);
  TERN_ASSERT(message != nullptr);
  return {owner, from, message->before};
}

Placed::Word word_of(const Edges& edges, const std::vector<Schedule>& lowered, const Schedule& own,
                     const Step& step) {
  const bool signals = step.verb == Verb::kSignal;
  const int32_t owner = signals ? step.peer : own.rank, other = signals ? own.rank : step.peer;
  if (lowered[static_cast<size_t>(owner)].is_credit(step.slot))
    return {owner, other, Placed::kCredit};
  const SlotEdge::Message* const message = find(edges, other, owner, step.slot);
  TERN_ASSERT(message != nullptr);
  return {owner, other, message->index};
}

}  // namespace

bool place(const std::vector<Schedule>& lowered, int rank, Placed* placed, std::string* why) {
  placed->row = find_algorithm(lowered[0].collective, lowered[0].algorithm);
  const Edges edges = edges_of(lowered);
  for (const auto& [ends, edge] : edges) {
    placed->most_blocks = std::max(placed->most_blocks, edge.blocks);
    placed->most_messages =
        std::max(placed->most_messages, static_cast<int32_t>(edge.messages.size()));
    if (edge.messages.size() <= static_cast<size_t>(ScratchLayout::kMessages)) continue;
    *why = strf("rank %d sends rank %d %zu messages, more than the %d semaphores", ends.first,
                ends.second, edge.messages.size(), ScratchLayout::kMessages);
    return false;
  }
  for (const Schedule& one : lowered) {
    placed->local_blocks =
        std::max(placed->local_blocks, one.stage_slots + one.mirrors * one.mirror_blocks());
    for (const Slice& slice : one.slices) placed->single_blocks &= one.within_block(slice);
  }
  const Schedule& own = placed->schedule = lowered[static_cast<size_t>(rank)];
  const std::vector<int32_t> senders = senders_of(own);
  placed->places.resize(own.slices.size());
  for (size_t i = 0; i < own.slices.size(); ++i)
    if (own.slices[i].space == Space::kInbox)
      placed->places[i] = place_of(edges, own, senders, own.slices[i]);
  placed->words.resize(own.steps.size());
  for (size_t i = 0; i < own.steps.size(); ++i)
    if (own.steps[i].verb == Verb::kSignal || own.steps[i].verb == Verb::kWait)
      placed->words[i] = word_of(edges, lowered, own, own.steps[i]);
  return true;
}

}  // namespace tern::coll
