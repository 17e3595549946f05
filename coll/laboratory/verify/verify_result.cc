// SPDX-License-Identifier: Apache-2.0
// Contents and sizes of blocks.
#include "coll/laboratory/verify/verify_run.hpp"

#include "base/error.hpp"

namespace tern::coll {
namespace {

constexpr int64_t kRank = int64_t{1} << 32;

Symbol wanted_between(const RankState& state, int32_t block) {
  const Schedule& s = *state.schedule;
  const int32_t first = state.there, end = first + s.others;
  const bool at_root = s.root == s.rank, leaf = s.root >= s.ranks;
  const int32_t root = first + s.root - s.ranks;
  switch (s.collective) {
    case Collective::kBcast:
      return leaf ? Symbol(block, root, root + 1) : Symbol();
    case Collective::kGather:
      return at_root ? Symbol(0, first + block, first + block + 1) : Symbol();
    case Collective::kAllgather:
      return {0, first + block, first + block + 1};
    case Collective::kScatter:
      return leaf ? Symbol(s.rank, root, root + 1) : Symbol();
    case Collective::kAlltoall:
      return {s.rank, first + block, first + block + 1};
    case Collective::kReduce:
      return at_root ? Symbol(block, first, end) : Symbol();
    case Collective::kAllreduce:
      return {block, first, end};
    case Collective::kReduceScatter:
      return {s.rank, first, end};
    default:
      return {};
  }
}

int64_t whole_size(const Schedule& s, Space space, int32_t block) {
  const bool input = space == Space::kInput;
  switch (s.collective) {
    case Collective::kAlltoall:
      return input ? s.rank * kRank + block : block * kRank + s.rank;
    case Collective::kReduceScatter:
    case Collective::kScatter:
      return space == Space::kOutput ? s.rank : block;
    default:
      return input ? s.rank : block;
  }
}

Symbol promised_of_vector(const Schedule& s, int32_t block) {
  const int32_t r = s.rank;
  switch (s.collective) {
    case Collective::kBcast:
      return {block, s.root, s.root + 1};
    case Collective::kReduce:
      return r == s.root ? Symbol(block, 0, s.ranks) : Symbol();
    case Collective::kAllreduce:
      return {block, 0, s.ranks};
    case Collective::kScan:
      return {block, 0, r + 1};
    case Collective::kExscan:
      return r == 0 ? Symbol() : Symbol(block, 0, r);
    default:
      return {};
  }
}

}  // namespace

// Sizes differ between blocks and between a block's parts, alike on all ranks.
int64_t block_size(const Schedule& s, const Slice& slice, int32_t i) {
  if (splits(s.collective)) return 1000 + slice.first + i;
  const int32_t block = (slice.first + i) / s.parts, part = (slice.first + i) % s.parts;
  return (s.uniform ? 1 : whole_size(s, slice.space, block)) * s.parts + part;
}

Symbol promised(const Schedule& s, int32_t number) {
  const int32_t r = s.rank;
  if (splits(s.collective)) return promised_of_vector(s, number);
  const int32_t block = number / s.parts, part = number % s.parts;
  switch (s.collective) {
    case Collective::kGather:
      return r == s.root ? Symbol(part, block, block + 1) : Symbol();
    case Collective::kAllgather:
      return {part, block, block + 1};
    case Collective::kScatter:
      return {r * s.parts + part, s.root, s.root + 1};
    case Collective::kAlltoall:
      return {r * s.parts + part, block, block + 1};
    case Collective::kReduceScatter:
      return {r * s.parts + part, 0, s.ranks};
    default:
      return {};
  }
}

void SymbolicRun::fill_start(RankState& state) {
  const Schedule& s = *state.schedule;
  const bool bcast = s.collective == Collective::kBcast;
  if (bcast && s.rank != s.root) return;
  auto& memory = state.memory[static_cast<int>(bcast ? Space::kOutput : Space::kInput)];
  for (size_t i = 0; i < memory.size(); ++i) {
    memory[i] = Symbol(static_cast<int32_t>(i), state.index, state.index + 1);
    const int32_t same = bcast ? -1 : s.in_place_block(static_cast<int32_t>(i));
    if (in_place_ && same >= 0)
      state.memory[static_cast<int>(Space::kOutput)][static_cast<size_t>(same)] = memory[i];
  }
}

Symbol Promises::from_neighbor(const Schedule& s, int32_t block) const {
  const int32_t sender = s.neighbors->sources[static_cast<size_t>(block)];
  if (sender == kNoRank) return {};
  const Neighbors& theirs = *schedules_[static_cast<size_t>(sender)].neighbors;
  const int32_t place = place_there(*s.neighbors, s.rank, block, theirs);
  if (place < 0) return {-1, sender, sender + 1};
  return {s.collective == Collective::kNeighborAllgather ? 0 : place, sender, sender + 1};
}

// A sender's block has a size for all neighbours, or for the neighbour at a place.
int64_t Promises::size_at_edge(const Schedule& s, bool input, int32_t block) const {
  if (input) return s.rank * kRank + block;
  const Symbol sent = from_neighbor(s, block);
  return sent.written() ? sent.first().low * kRank + sent.first().block : -1;
}

int64_t Promises::size_of(const Schedule& s, const Slice& slice, int32_t i) const {
  if (!neighborly(s.collective)) return block_size(s, slice, i);
  return size_at_edge(s, slice.space == Space::kInput, slice.first + i);
}

Symbol Promises::wanted(const Schedule& s, int32_t block) const {
  return neighborly(s.collective) ? from_neighbor(s, block) : promised(s, block);
}

bool Promises::same_sizes(const Schedule& from, const Slice& source, const Schedule& to,
                          const Slice& target) const {
  bool same = source.blocks == target.blocks;
  for (int32_t i = 0; same && i < source.blocks; ++i)
    same = size_of(from, source, i) == size_of(to, target, i);
  return same;
}

void SymbolicRun::check_sizes(const Schedule& from, const Slice& source, const RankState& to,
                              const Slice& target, int l, int32_t index) {
  if (!promises_.same_sizes(from, source, *to.schedule, target))
    blame(to, l, index,
          strf("blocks %d..%d arrive from blocks %d..%d of rank %d: sizes differ", target.first,
               target.first + target.blocks - 1, source.first, source.first + source.blocks - 1,
               from.rank));
}

void SymbolicRun::check_end(int32_t rank) {
  RankState& state = at(rank);
  for (int l = 0; l < state.schedule->lanes(); ++l) {
    const int32_t complete = state.lanes[static_cast<size_t>(l)].complete;
    if (complete < state.schedule->lane_size(l))
      return blame(state, l, complete, "never completes: deadlock");
  }
  check_left(state);
  if (state.schedule->collective == Collective::kBarrier) return check_barrier(state);
  const auto& output = state.memory[static_cast<int>(Space::kOutput)];
  for (size_t i = 0; i < output.size() && proof_.holds(); ++i)
    check_block(state, static_cast<int32_t>(i), output[i]);
}

void SymbolicRun::check_barrier(const RankState& state) {
  std::vector<char> known(people(), 0);
  known[static_cast<size_t>(state.index)] = 1;
  for (const LaneState& lane : state.lanes)
    for (const auto& [step, symbol] : lane.heard) symbol.mark(known);
  for (size_t r = 0; r < known.size() && proof_.holds(); ++r)
    if (known[r] == 0)
      proof_.fault = strf("%s, rank %d leaves without a signal from rank %d",
                          state.schedule->algorithm, state.schedule->rank, static_cast<int>(r));
}

void SymbolicRun::check_block(const RankState& state, int32_t block, const Symbol& found) {
  const Schedule& s = *state.schedule;
  const Symbol right = s.others == 0 ? promises_.wanted(s, block) : wanted_between(state, block);
  // A neighbourhood keeps blocks without a sender.
  if (!right.written() && !neighborly(s.collective)) return;
  if (found == right) return;
  proof_.rank = s.rank;
  proof_.block = block;
  proof_.fault = strf("%s %s, rank %d of %d, root %d: output block %d is %s instead of %s",
                      name_of(s.collective), s.algorithm, s.rank, s.ranks, s.root, block,
                      found.text().c_str(), right.text().c_str());
}

// In a reduce-scatter the groups split the vector differently.
void SymbolicRun::take_vector(const Posted& send, RankState& to, const Slice& target,
                              const Posted& recv) {
  const auto sent = static_cast<int32_t>(send.values.size());
  const bool all = sent == at(send.rank).schedule->ranks && target.first == 0 &&
                   target.blocks == to.schedule->ranks;
  for (int32_t i = 0; i < sent; ++i)
    if (!all || send.values[static_cast<size_t>(i)] != send.values[0].at_block(i))
      return blame(to, recv.lane, recv.step, "takes a part of the other group's vector");
  std::vector<Symbol> values;
  for (int32_t i = 0; i < target.blocks; ++i) values.push_back(send.values[0].at_block(i));
  write(to, target, values);
}

}  // namespace tern::coll
