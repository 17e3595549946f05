// SPDX-License-Identifier: Apache-2.0
// lower: order, fusion, slots, credits.
#include "coll/lower/lower.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "coll/lower/program.hpp"
#include "mpi.h"

namespace tern::coll::lowering {
namespace {

// Slots are numbered in the order of a rank's waits.
void number_slots(Programs& programs, std::vector<int32_t>& slots) {
  slots.assign(programs.ranks.size(), 0);
  for (const Program& program : programs.ranks)
    for (const Op& op : program) {
      if (op.verb != Verb::kWait) continue;
      Message& message = programs.messages[static_cast<size_t>(op.message)];
      message.slot = slots[static_cast<size_t>(message.to)]++;
    }
}

std::vector<std::vector<int32_t>> peers_of(const Programs& programs) {
  std::vector<std::vector<int32_t>> peers(programs.ranks.size());
  for (const Message& message : programs.messages)
    peers[static_cast<size_t>(message.from)].push_back(message.to);
  for (std::vector<int32_t>& of : peers) {
    std::sort(of.begin(), of.end());
    of.erase(std::unique(of.begin(), of.end()), of.end());
  }
  return peers;
}

class Credits {
 public:
  Credits(const Programs& programs, const std::vector<int32_t>& slots)
      : messages_(programs.messages), slots_(slots), peers_(peers_of(programs)) {}

  [[nodiscard]] int32_t words(size_t rank) const {
    return slots_[rank] + static_cast<int32_t>(peers_[rank].size());
  }

  // A wait precedes the first put to a peer. A signal follows the last use of the peer's messages.
  [[nodiscard]] Program around(const Program& program, int32_t rank) const {
    std::vector<char> told(peers_.size(), 0);
    std::vector<size_t> last(peers_.size(), program.size());
    for (size_t i = 0; i < program.size(); ++i) {
      if (program[i].verb == Verb::kWait) last[from(program[i].message)] = i;
      for (const Slice& source : program[i].sources)
        if (source.space == Space::kInbox) last[from(source.place)] = i;
    }
    std::vector<std::vector<int32_t>> ends(program.size());
    for (size_t peer = 0; peer < last.size(); ++peer) {
      if (last[peer] == program.size()) continue;
      const bool puts =
          reaches_out(program[last[peer]]) && program[last[peer]].verb != Verb::kSignal;
      ends[last[peer] + (puts ? 1 : 0)].push_back(
          static_cast<int32_t>(peer));  // the put's signal comes first
    }
    Program made;
    for (size_t i = 0; i < program.size(); ++i) {
      const Op& op = program[i];
      if (reaches_out(op) && !std::exchange(told[static_cast<size_t>(op.peer)], 1))
        made.push_back(credit(Verb::kWait, op.peer, word(rank, op.peer)));
      made.push_back(op);
      for (const int32_t peer : ends[i])
        made.push_back(credit(Verb::kSignal, peer, word(peer, rank)));
    }
    return made;
  }

 private:
  static Op credit(Verb verb, int32_t peer, int32_t word) {
    return {.verb = verb, .peer = peer, .word = word, .sources = {}, .destinations = {}};
  }
  [[nodiscard]] size_t from(int32_t message) const {
    return static_cast<size_t>(messages_[static_cast<size_t>(message)].from);
  }
  [[nodiscard]] int32_t word(int32_t rank, int32_t peer) const {
    const std::vector<int32_t>& peers = peers_[static_cast<size_t>(rank)];
    const auto index = std::lower_bound(peers.begin(), peers.end(), peer) - peers.begin();
    return slots_[static_cast<size_t>(rank)] + static_cast<int32_t>(index);
  }

  const std::vector<Message>& messages_;
  const std::vector<int32_t>& slots_;
  std::vector<std::vector<int32_t>> peers_;
};

void fit_scratch(Schedule& schedule) {
  const int32_t vector = schedule.mirror_blocks();
  schedule.stage_slots = schedule.mirrors = 0;
  for (const Slice& slice : schedule.slices) {
    const int32_t end = slice.place + slice.blocks;
    if (slice.space == Space::kStage) schedule.stage_slots = std::max(schedule.stage_slots, end);
    if (slice.space == Space::kMirror)
      schedule.mirrors = std::max(schedule.mirrors, (end + vector - 1) / vector);
  }
}

Schedule schedule_of(const Schedule& source, const Program& program,
                     const std::vector<Message>& messages) {
  Schedule made = source;
  made.steps.clear();
  made.slices.clear();
  for (const Op& op : program) {
    Step step;
    step.verb = op.verb;
    step.peer = op.peer;
    step.slot = op.word != kNone      ? op.word
                : op.message != kNone ? messages[static_cast<size_t>(op.message)].slot
                                      : 0;
    if (op.verb != Verb::kSignal && op.verb != Verb::kWait) step.slot = 0;
    step.sources = static_cast<uint8_t>(op.sources.size());
    step.destinations = static_cast<uint8_t>(op.destinations.size());
    step.operand = static_cast<uint32_t>(made.slices.size());
    step.after = static_cast<int32_t>(made.steps.size());
    for (const std::vector<Slice>* slices : {&op.sources, &op.destinations})
      for (Slice slice : *slices) {
        if (slice.space == Space::kInbox)
          slice.place = messages[static_cast<size_t>(slice.place)].slot;
        made.slices.push_back(slice);
      }
    made.steps.push_back(step);
  }
  made.lane_begin = {0, static_cast<uint32_t>(made.steps.size())};
  fit_scratch(made);
  return made;
}

std::vector<Schedule> lower(const std::vector<Schedule>& all, const Mapped& mapped) {
  Programs programs = in_order(all, mapped);
  for (size_t r = 0; r < all.size(); ++r) fuse(all[r], programs.messages, programs.ranks[r]);
  std::vector<int32_t> slots;
  number_slots(programs, slots);
  const Credits credits(programs, slots);
  std::vector<Schedule> lowered;
  for (size_t r = 0; r < all.size(); ++r) {
    const Program program = credits.around(programs.ranks[r], static_cast<int32_t>(r));
    lowered.push_back(schedule_of(all[r], program, programs.messages));
    Schedule& made = lowered.back();
    made.inbox_slots = slots[r];
    made.words = credits.words(r);
    made.remote = made.words > 0;
  }
  return lowered;
}

}  // namespace
}  // namespace tern::coll::lowering

namespace tern::coll {

const char* why_not_lowered(const Schedule& schedule) noexcept {
  if (neighborly(schedule.collective))
    return "in a neighbourhood a rank knows only its own neighbours";
  if (schedule.others != 0) return "ranks of two groups do not know all schedules";
  if (schedule.remote) return "the schedule already has puts or gets";
  return nullptr;
}

std::vector<Schedule> lower(const std::vector<Schedule>& all, const Mapped& mapped) {
  for (const Schedule& schedule : all)
    if (const char* why = why_not_lowered(schedule))
      throw Error(MPI_ERR_UNSUPPORTED_OPERATION,
                  strf("%s %s cannot be lowered: %s", name_of(schedule.collective),
                       schedule.algorithm, why));
  return lowering::lower(all, mapped);
}

}  // namespace tern::coll
