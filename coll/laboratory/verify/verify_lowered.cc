// SPDX-License-Identifier: Apache-2.0
// The proof of lowered schedules. Each rank is a queue of steps, so a clock holds two numbers per
// rank: completed steps and entered executions. A wait merges the signaller's clock. Each execution
// uses distinct symbols, to expose stale data.
#include <algorithm>
#include <deque>
#include <map>
#include <utility>

#include "base/error.hpp"
#include "coll/algorithms/algorithms.hpp"
#include "coll/laboratory/verify/verify.hpp"
#include "coll/laboratory/verify/verify_run.hpp"
#include "coll/lower/lower.hpp"

namespace tern::coll {
namespace {

constexpr int32_t kExecutions = 3;
constexpr int32_t kBlocksApart = 1 << 24;  // separates executions

struct Moment {
  int32_t rank = kSelf;
  int32_t step = 0;
};

struct SemaphoreState {
  bool set = false;
  bool used = false;  // signalled at least once
  Moment signalled, consumed;
  Clock told;
};

struct SymbolSlot {
  std::vector<Symbol> values;
  std::vector<int64_t> sizes;
  Moment written;
  std::vector<Moment> reads;  // since the last write
};

struct QueueState {
  const Schedule* schedule = nullptr;
  int32_t next = 0;  // step, over all executions
  int32_t entered = 0;
  bool posted = false;  // waits for the peer's step
  std::vector<Symbol> memory[kSpaces];
  std::vector<SymbolSlot> slots;
  std::vector<SemaphoreState> words;
  Clock clock;
};

class LoweredRun {
 public:
  LoweredRun(const std::vector<Schedule>& lowered, bool in_place, bool commutative)
      : in_place_(in_place), commutative_(commutative) {
    for (const Schedule& schedule : lowered) {
      QueueState state;
      state.schedule = &schedule;
      state.slots.resize(static_cast<size_t>(schedule.inbox_slots));
      state.words.resize(static_cast<size_t>(schedule.words));
      for (int32_t i = 0; i < schedule.words; ++i)
        state.words[static_cast<size_t>(i)].set = schedule.is_credit(i);
      state.clock.assign(2 * lowered.size(), 0);
      proof_.steps = std::max(proof_.steps, static_cast<int32_t>(schedule.steps.size()));
      ranks_.push_back(std::move(state));
    }
  }

  Proof run() {
    for (size_t r = 0; r < ranks_.size(); ++r) check_shape(static_cast<int32_t>(r));
    for (int32_t r = 0; r < size(); ++r) ready_.push_back(r);
    while (!ready_.empty() && proof_.holds()) {
      const int32_t rank = ready_.front();
      ready_.pop_front();
      while (proof_.holds() && step(rank)) continue;
    }
    for (int32_t r = 0; r < size() && proof_.holds(); ++r) check_end(at(r));
    return std::move(proof_);
  }

 private:
  [[nodiscard]] int32_t size() const noexcept { return static_cast<int32_t>(ranks_.size()); }
  [[nodiscard]] QueueState& at(int32_t rank) { return ranks_[static_cast<size_t>(rank)]; }
  static int32_t steps_of(const QueueState& state) {
    return static_cast<int32_t>(state.schedule->steps.size());
  }
  static const Step& step_of(const QueueState& state) {
    return state.schedule->step(0, state.next % steps_of(state));
  }

  void blame(const QueueState& state, const std::string& what) {
    if (!proof_.holds()) return;
    const int32_t steps = steps_of(state);
    proof_.fault =
        strf("%s, execution %d: %s", state.schedule->describe(0, state.next % steps).c_str(),
             state.next / steps + 1, what.c_str());
  }

  void check_shape(int32_t rank) {
    const Schedule& s = *at(rank).schedule;
    bool serial = s.lanes() == 1 && s.rank == rank && s.ranks == size();
    serial = serial && !neighborly(s.collective) && s.others == 0;
    for (int32_t i = 0; serial && i < s.lane_size(0); ++i) serial = s.step(0, i).after == i;
    if (!serial && proof_.holds())
      proof_.fault = strf("%s %s, rank %d of %d: not lowered: needs one lane with sequential steps",
                          name_of(s.collective), s.algorithm, s.rank, s.ranks);
  }

  bool step(int32_t rank) {
    QueueState& state = at(rank);
    const int32_t steps = steps_of(state);
    if (state.next == kExecutions * steps) return false;
    if (state.next == state.entered * steps) enter(state);
    const Step& what = step_of(state);
    if (!in_bounds(state, what)) return false;
    switch (what.verb) {
      case Verb::kSend:
      case Verb::kRecv:
        return post(rank, what);
      case Verb::kWait:
        if (!wait(state, what)) return false;
        break;
      case Verb::kSignal:
        signal(state, what);
        break;
      case Verb::kCopy:
        copy(state, what);
        break;
      case Verb::kReduce:
        reduce(state, what);
        break;
      case Verb::kPut:
        ++proof_.messages;
        carry(state, what, read(state, what, 0));
        break;
      case Verb::kGet:
        blame(state, "lowered schedules have no gets");
        break;
      case Verb::kJoin:
        break;
    }
    done(state);
    return proof_.holds();
  }

  void done(QueueState& state) {
    ++state.next;
    state.clock[static_cast<size_t>(state.schedule->rank)] = state.next;
    if (state.next % steps_of(state) == 0 && proof_.holds())
      check_results(state, state.entered - 1);
  }

  // Each execution has new user buffers and empty scratch.
  void enter(QueueState& state) {
    const Schedule& s = *state.schedule;
    const int32_t first = state.entered++ * kBlocksApart;
    state.clock[ranks_.size() + static_cast<size_t>(s.rank)] = state.entered;
    const bool bcast = s.collective == Collective::kBcast;
    for (const Space space : {Space::kInput, Space::kOutput, Space::kMirror, Space::kStage})
      state.memory[static_cast<int>(space)].assign(static_cast<size_t>(s.blocks_of(space)),
                                                   Symbol());
    if (bcast && s.rank != s.root) return;
    auto& memory = state.memory[static_cast<int>(bcast ? Space::kOutput : Space::kInput)];
    auto& output = state.memory[static_cast<int>(Space::kOutput)];
    for (size_t i = 0; i < memory.size(); ++i) {
      const auto block = static_cast<int32_t>(i);
      memory[i] = Symbol(block + first, s.rank, s.rank + 1);
      const int32_t same = bcast ? -1 : s.in_place_block(block);
      if (in_place_ && same >= 0) output[static_cast<size_t>(same)] = memory[i];
    }
  }

  bool in_bounds(QueueState& state, const Step& what) {
    if (what.peer != kSelf &&
        (what.peer < 0 || what.peer >= size() || what.peer == state.schedule->rank))
      blame(state, strf("there is no peer %d", what.peer));
    for (int i = 0; i < what.sources + what.destinations && proof_.holds(); ++i)
      check_slice(state, what, state.schedule->slices[what.operand + static_cast<uint32_t>(i)],
                  i >= what.sources);
    return proof_.holds();
  }

  void check_slice(QueueState& state, const Step& what, const Slice& slice, bool writes) {
    const bool far = slice.owner != kSelf;
    if (far && (slice.owner != what.peer || !writes || slice.space != Space::kInbox))
      return blame(state, "a far slice outside the peer's inbox");
    const bool puts = what.verb == Verb::kPut || what.verb == Verb::kReduce;
    if (far && !puts) return blame(state, "a far slice in a step without a put");
    if (!far && writes && slice.space == Space::kInbox) return blame(state, "writes its own inbox");
    if (!far && what.verb == Verb::kPut && writes) return blame(state, "puts into its own memory");
    const Schedule& owner = far ? *at(slice.owner).schedule : *state.schedule;
    const int32_t end = slice.place + (slice.space == Space::kInbox ? 1 : slice.blocks);
    if (slice.place < 0 || slice.blocks < 1 || end > owner.blocks_of(slice.space))
      return blame(state, "a slice out of bounds");
    const bool cut = splits(owner.collective) || owner.parts > 1;
    if (slice.blocks > 1 && slice.space == Space::kStage && cut)
      return blame(state, "stage slots of a vector's blocks are not adjacent data");
    check_buffer(state, slice, writes);
  }

  void check_buffer(QueueState& state, const Slice& slice, bool writes) {
    const Schedule& s = *state.schedule;
    const bool root_output =
        s.collective == Collective::kReduce || s.collective == Collective::kGather;
    const bool lacks = s.rank != s.root &&
                       ((slice.space == Space::kOutput && root_output) ||
                        (slice.space == Space::kInput && s.collective == Collective::kScatter));
    if (lacks) blame(state, "uses a buffer of the root only");
    if (writes && slice.space == Space::kInput) blame(state, "writes the input");
  }

  [[nodiscard]] static bool surely_before(const Moment& one, const QueueState& state) {
    return one.rank == kSelf || state.clock[static_cast<size_t>(one.rank)] > one.step;
  }
  static Moment now(const QueueState& state) { return {state.schedule->rank, state.next}; }
  static void join(Clock& into, const Clock& more) {
    for (size_t i = 0; i < into.size(); ++i) into[i] = std::max(into[i], more[i]);
  }

  SemaphoreState* word_of(QueueState& state, int32_t owner, int32_t number) {
    auto& words = at(owner).words;
    if (number >= 0 && number < static_cast<int32_t>(words.size()))
      return &words[static_cast<size_t>(number)];
    blame(state, strf("rank %d has no semaphore %d", owner, number));
    return nullptr;
  }

  bool wait(QueueState& state, const Step& what) {
    SemaphoreState* const word = word_of(state, state.schedule->rank, what.slot);
    if (word == nullptr || !word->set) return false;
    if (word->used) {
      if (word->signalled.rank != what.peer)
        blame(state, strf("waits for rank %d, but rank %d signals semaphore %d", what.peer,
                          word->signalled.rank, what.slot));
      join(state.clock, word->told);
    }
    word->set = false;
    word->consumed = now(state);
    return proof_.holds();
  }

  void signal(QueueState& state, const Step& what) {
    SemaphoreState* const word = word_of(state, what.peer, what.slot);
    if (word == nullptr) return;
    ++proof_.messages;
    if (word->set || !surely_before(word->consumed, state))
      return blame(state,
                   strf("signals semaphore %d of rank %d before the previous signal is surely "
                        "consumed",
                        what.slot, what.peer));
    word->set = word->used = true;
    word->signalled = now(state);
    word->told = state.clock;
    word->told[static_cast<size_t>(state.schedule->rank)] = state.next + 1;
    ready_.push_back(what.peer);
  }

  // Sender and receiver of an unmapped message wait for each other.
  bool post(int32_t rank, const Step& what) {
    QueueState& state = at(rank);
    state.posted = true;
    QueueState& peer = at(what.peer);
    if (peer.next == kExecutions * steps_of(peer) || !peer.posted) return false;
    const Step& theirs = step_of(peer);
    const bool sends = what.verb == Verb::kSend;
    if (theirs.peer != rank || theirs.verb != (sends ? Verb::kRecv : Verb::kSend)) return false;
    QueueState& from = sends ? state : peer;
    QueueState& to = sends ? peer : state;
    transfer(from, to);
    from.posted = to.posted = false;
    done(from);
    done(to);
    ready_.push_back(what.peer);
    return proof_.holds();
  }

  void transfer(QueueState& from, QueueState& to) {
    ++proof_.messages;
    const Step& send = step_of(from);
    const Step& recv = step_of(to);
    const Clock sent = from.clock;
    join(to.clock, sent);
    if (send.sources != recv.destinations) return blame(to, "a receive does not match the send");
    if (send.sources == 0) return;
    const Slice& target = to.schedule->destination(recv);
    const std::vector<Symbol> values = read(from, send, 0);
    if (sizes_of(from, from.schedule->source(send)) != sizes_of(to, target))
      return blame(to, "a receive and its send differ in size");
    write(to, target, values);
  }

  [[nodiscard]] std::vector<int64_t> sizes_of(const QueueState& owner, const Slice& slice) const {
    std::vector<int64_t> sizes;
    for (int32_t i = 0; i < slice.blocks; ++i)
      sizes.push_back(block_size(*owner.schedule, slice, i));
    return sizes;
  }

  [[nodiscard]] Symbol& cell(QueueState& state, const Slice& slice, int32_t i) {
    const Schedule& s = *state.schedule;
    const int32_t block = slice.place + i;
    if (in_place_ && slice.space == Space::kInput) {
      const int32_t same = s.in_place_block(block);
      if (same >= 0)
        return state.memory[static_cast<int>(Space::kOutput)][static_cast<size_t>(same)];
    }
    return state.memory[static_cast<int>(slice.space)][static_cast<size_t>(block)];
  }

  std::vector<Symbol> read(QueueState& state, const Step& what, int i) {
    const Slice& slice = state.schedule->source(what, i);
    if (slice.space == Space::kInbox) return read_slot(state, slice);
    std::vector<Symbol> values;
    for (int32_t k = 0; k < slice.blocks; ++k) values.push_back(cell(state, slice, k));
    for (const Symbol& value : values)
      if (!value.written()) blame(state, "reads data that was not written");
    return values;
  }

  std::vector<Symbol> read_slot(QueueState& state, const Slice& slice) {
    SymbolSlot& slot = state.slots[static_cast<size_t>(slice.place)];
    if (slot.values.empty() || !surely_before(slot.written, state)) {
      blame(state, strf("reads slot %d, which may not have been written", slice.place));
    } else if (slot.sizes != sizes_of(state, slice)) {
      blame(state, strf("reads slot %d, where other blocks lie", slice.place));
    } else {
      slot.reads.push_back(now(state));
      return slot.values;
    }
    return std::vector<Symbol>(static_cast<size_t>(slice.blocks));
  }

  void write(QueueState& state, const Slice& slice, const std::vector<Symbol>& values) {
    for (int32_t i = 0; i < slice.blocks && proof_.holds(); ++i)
      cell(state, slice, i) = values[static_cast<size_t>(i)];
  }

  void copy(QueueState& state, const Step& what) {
    const std::vector<Symbol> values = read(state, what, 0);
    for (int i = 0; i < what.destinations && proof_.holds(); ++i) {
      const Slice& to = state.schedule->destination(what, i);
      if (sizes_of(state, state.schedule->source(what)) != sizes_of(state, to))
        blame(state, "copies between blocks of different sizes");
      write(state, to, values);
    }
  }

  void reduce(QueueState& state, const Step& what) {
    const std::vector<int64_t> sizes = sizes_of(state, state.schedule->source(what));
    std::vector<Symbol> sum = read(state, what, 0);
    for (int i = 1; i < what.sources && proof_.holds(); ++i) {
      if (sizes_of(state, state.schedule->source(what, i)) != sizes)
        return blame(state, "reduces blocks of different sizes");
      const std::vector<Symbol> right = read(state, what, i);
      for (size_t k = 0; k < sum.size() && proof_.holds(); ++k)
        sum[k].append(right[k], commutative_);
    }
    if (!proof_.holds()) return;
    const Slice& to = state.schedule->destination(what);
    if (to.owner != kSelf) {
      ++proof_.messages;
      return carry(state, what, sum);
    }
    if (sizes_of(state, to) != sizes) blame(state, "reduces into blocks of different sizes");
    check_overlap(state, what);
    write(state, to, sum);
  }

  // A reduction may overwrite only the last operand.
  void check_overlap(QueueState& state, const Step& what) {
    const Slice& to = state.schedule->destination(what);
    for (int i = 0; i + 1 < what.sources; ++i) {
      const Slice& source = state.schedule->source(what, i);
      for (int32_t a = 0; source.space != Space::kInbox && a < source.blocks; ++a)
        for (int32_t b = 0; b < to.blocks; ++b)
          if (&cell(state, source, a) == &cell(state, to, b))
            return blame(state, "reduces into an operand before the last");
    }
  }

  void carry(QueueState& state, const Step& what, const std::vector<Symbol>& values) {
    const Slice& to = state.schedule->destination(what);
    if (!proof_.holds()) return;
    QueueState& owner = at(to.owner);
    SymbolSlot& slot = owner.slots[static_cast<size_t>(to.place)];
    std::vector<int64_t> sizes = sizes_of(owner, to);
    if (sizes != sizes_of(state, state.schedule->source(what)))
      return blame(state, "source and destination differ in size");
    bool over = surely_before(slot.written, state);
    for (const Moment& one : slot.reads) over = over && surely_before(one, state);
    if (!over)
      return blame(
          state, strf("puts into slot %d of rank %d, which may still be read", to.place, to.owner));
    slot.values = values;
    slot.sizes = std::move(sizes);
    slot.written = now(state);
    slot.reads.clear();
  }

  void check_results(QueueState& state, int32_t execution) {
    const Schedule& s = *state.schedule;
    if (s.collective == Collective::kBarrier) return check_barrier(state, execution);
    const auto& output = state.memory[static_cast<int>(Space::kOutput)];
    for (size_t i = 0; i < output.size() && proof_.holds(); ++i) {
      const auto block = static_cast<int32_t>(i);
      Symbol right = promised(s, block);
      if (!right.written()) continue;
      right = right.at_block(right.first().block + execution * kBlocksApart);
      if (output[i] != right)
        proof_.fault =
            strf("%s %s, rank %d of %d, root %d, execution %d: output block %d is %s instead of %s",
                 name_of(s.collective), s.algorithm, s.rank, s.ranks, s.root, execution + 1, block,
                 output[i].text().c_str(), right.text().c_str());
    }
  }

  void check_barrier(const QueueState& state, int32_t execution) {
    for (int32_t r = 0; r < size() && proof_.holds(); ++r)
      if (state.clock[ranks_.size() + static_cast<size_t>(r)] <= execution)
        proof_.fault = strf("%s, rank %d leaves execution %d without a signal from rank %d",
                            state.schedule->algorithm, state.schedule->rank, execution + 1, r);
  }

  void check_end(QueueState& state) {
    const Schedule& s = *state.schedule;
    if (s.steps.empty()) {
      enter(state);
      check_results(state, 0);
    } else if (state.next < kExecutions * steps_of(state)) {
      return blame(state, "never completes: deadlock");
    }
    for (int32_t i = 0; i < s.words && proof_.holds(); ++i)
      if (state.words[static_cast<size_t>(i)].set != s.is_credit(i))
        proof_.fault = strf("%s %s, rank %d of %d: semaphore %d was not reset",
                            name_of(s.collective), s.algorithm, s.rank, s.ranks, i);
  }

  const bool in_place_, commutative_;
  std::vector<QueueState> ranks_;
  std::deque<int32_t> ready_;
  Proof proof_;
};

}  // namespace

Proof verify_lowered(const std::vector<Schedule>& lowered, bool in_place, bool commutative) {
  return LoweredRun(lowered, in_place, commutative).run();
}

Proof verify_lowered(const Algorithm& algorithm, int32_t ranks, int32_t root, const Levels* levels,
                     const Mapped& mapped, const Plan* plan) {
  std::vector<Schedule> schedules;
  for (int32_t rank = 0; rank < ranks; ++rank)
    schedules.push_back(build(algorithm, ranks, rank, root, levels, plan));
  const std::vector<Schedule> lowered = lower(schedules, mapped);
  const bool commutative = (algorithm.limits & kCommutative) != 0;
  Proof proof = verify_lowered(lowered, false, commutative);
  return proof.holds() ? verify_lowered(lowered, true, commutative) : proof;
}

}  // namespace tern::coll
