// SPDX-License-Identifier: Apache-2.0
// Coll: blocking collectives of ranks that share memory.
#include <algorithm>
#include <new>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "coll/coll.hpp"
#include "coll/flat/flat.hpp"
#include "coll/flat/on_device.hpp"
#include "coll/flat/staged.hpp"
#include "mpi.h"

namespace tern::coll {
namespace {
// Bits in a slab; page tables grow with the square of the number.
constexpr int kMostRanks = SlabHead::kMostRanks;

// In an introduction: the rank has a driver of devices.
constexpr uint32_t kDriver = 1U << 31;

uint32_t with_driver(uint32_t introduction) noexcept {
  return introduction == core::Slabs::kNone || cuda::driver() == nullptr ? introduction
                                                                         : introduction | kDriver;
}

/// Takes the bits off; whether any rank has a driver.
bool take_drivers(std::vector<uint32_t>* all) noexcept {
  bool any = false;
  for (uint32_t& one : *all) {
    if (one == core::Slabs::kNone) continue;
    any |= (one & kDriver) != 0;
    one &= ~kDriver;
  }
  return any;
}

/// Many ranks do not read each other's devices.
bool any_on_device(const Operation& operation, Slots& slots) {
  core::Process& process = operation.communicator->process();
  core::Datatype& type = core::predefined_type(process, MPI_INT);
  int mine = uses_device(operation) ? 1 : 0, any = 0;
  Operation ask{};
  ask.collective = Collective::kAllreduce;
  ask.communicator = operation.communicator;
  ask.op = process.handles.find<core::Op>(MPI_MAX);
  ask.input = {&mine, 1, &type};
  ask.output = {&any, 1, &type};
  const int code = flat_run(ask, FlatMethod::kTwoLevel, slots);
  if (code != MPI_SUCCESS) throw Error(code, take_last_error().text);
  return any != 0;
}

}  // namespace

bool Coll::shares_memory(const core::Communicator& communicator) const noexcept {
  if (channel_.slabs == nullptr || communicator.inter()) return false;
  if (communicator.size() < 2 || communicator.size() > kMostRanks) return false;
  for (int rank = 0; rank < communicator.size(); ++rank)
    if (rank != communicator.rank() && !channel_.slabs->reaches(communicator.peer(rank)))
      return false;
  return true;
}

// Some messages at the first use; from then on none.
Slab* Coll::slab_for(CommState& state, Slab::Size size, const char* name) {
  std::unique_ptr<Slab>& slab = state.slabs[static_cast<size_t>(size)];
  if (TERN_LIKELY(slab != nullptr)) return slab.get();
  std::unique_ptr<Slab> made = flights_.make_slab(state.communicator, size, nullptr);
  std::vector<uint32_t> all;
  try {
    all = executions_.exchange(state.communicator, with_driver(made->introduction()), name);
    state.devices |= take_drivers(&all);
    if (std::find(all.begin(), all.end(), core::Slabs::kNone) != all.end()) {
      lack(state, size);
      return nullptr;
    }
    made->meet(all);
  } catch (...) {  // peers may read it, and do until the communicator ends
    state.shares_memory = false;
    slab = std::move(made);
    throw;
  }
  slab = std::move(made);
  if (size == Slab::Size::kLarge) {
    all = executions_.exchange(state.communicator, slab->can_get() ? 1 : 0, name);
    state.single_copy = std::find(all.begin(), all.end(), 0U) == all.end();
  }
  return slab.get();
}

// Once for a communicator.
void Coll::lack(CommState& state, Slab::Size size) {
  flights_.drop_slab();
  const bool large = size == Slab::Size::kLarge;
  (large ? state.shares_large : state.shares_memory) = false;
  process_.explain.say(
      "fallback", {{"what", "messages"}, {"communicator", state.communicator.name.text()}},
      strf("collectives%s on %s take messages instead of shared memory: a rank has "
           "more communicators than slabs; freeing some helps those made later",
           large ? strf(" above %zu B", kSmallLane.room()).c_str() : "",
           state.communicator.name.or_words("a communicator").c_str()));
}

Slots* Coll::slots_for(CommState& state, const Question& question, const Choice& choice) {
  const FlatMethod method = choice.algorithm->flat;
  size_t bytes = method == FlatMethod::kDirect ? kLargeLane.room() : flat_bytes(question);
  // The small lane has too few slots: the second epoch of a call would wait for all ranks.
  if (method == FlatMethod::kTwoLevel && bytes > kLineLane.room() && state.shares_large)
    bytes = kLargeLane.room();
  const Slab::Size size = bytes <= kSmallLane.room() ? Slab::Size::kSmall : Slab::Size::kLarge;
  Slab* const slab = slab_for(state, size, name_of(question.collective));
  return slab == nullptr ? nullptr : &slab->lane_for(bytes);
}

bool Coll::may_be_flat(const CommState& state, const Operation& operation,
                       const Question& question) noexcept {
  return state.shares_memory && flat_takes(operation) &&
         fits_in_slot(operation, question, kLargeLane) &&
         (state.shares_large || flat_bytes(question) <= kSmallLane.room());
}

// What is large goes through the host only where no rank has it on a device: all ranks ask all.
Coll::Ran Coll::run_on_device(const Operation& operation, const Question& question, Slots& slots,
                              int* code) {
  if (operation.collective == Collective::kBarrier || flat_bytes(question) < kLeastOnDevice)
    return Ran::kNotYet;
  if (question.ranks > Slab::kFewRanks)
    return any_on_device(operation, slots) ? Ran::kNotFlat : Ran::kNotYet;
  OnDevice all(operation, slots, *channel_.pml, device_links_);
  switch (all.meet()) {
    case OnDevice::Met::kHost:
      return Ran::kNotYet;
    case OnDevice::Met::kMessages:
      if (!all.islands().empty())
        state_of(*operation.communicator).islands =
            places_.of_names(*operation.communicator, all.islands(),
                             "collectives of memory on GPUs that do not all reach each other");
      return Ran::kNotFlat;
    case OnDevice::Met::kTogether:
      if (TERN_UNLIKELY(process_.explain.on()) && operation.communicator->rank() == 0)
        process_.gpus.tell_choice(
            process_.explain,
            strf("%s of device memory: every rank %s the buffers of all ranks, which %s",
                 name_of(operation.collective),
                 operation.op != nullptr ? "reduces its slice of" : "copies what it needs from",
                 all.shares_one() ? "share a GPU" : "have GPUs that reach each other"));
      *code = all.run();
  }
  return Ran::kDone;
}

int Coll::run_in_slots(const Operation& operation, FlatMethod method, Slots& slots,
                       Elsewhere* where) {
  const auto run = [&](const Operation& what) {
    if (TERN_LIKELY(where == nullptr)) return flat_run(what, method, slots);
    int code = MPI_SUCCESS;
    *where = flat_run_here(what, slots, false, &code);
    return code;
  };
  if (TERN_LIKELY(!uses_device(operation))) return run(operation);
  Staged staged(operation);
  const int downloaded = staged.download();
  const std::string why = downloaded == MPI_SUCCESS ? std::string() : take_last_error().text;
  if (method == FlatMethod::kWhole) slots.mark_device();
  const Slots::Poisoned poisoned(slots,
                                 downloaded != MPI_SUCCESS);  // the others wait for this rank
  const int code = run(staged.operation());
  if (where != nullptr && *where != Elsewhere::kNone) return code;
  if (downloaded != MPI_SUCCESS) return fail(downloaded, "%s", why.c_str());
  return code == MPI_SUCCESS ? staged.upload() : code;
}

Coll::Ran Coll::run_flat(const Operation& operation, const Question& question, int* code) {
  CommState& state = state_of(*operation.communicator);
  if (!may_be_flat(state, operation, question)) return Ran::kNotYet;
  if (TERN_UNLIKELY(state.team_rests > 0)) --state.team_rests;
  Choice choice = choose(state, operation, question, true);
  if (choice.algorithm->flat == FlatMethod::kNone) {
    if (!state.devices || !OnDevice::takes(operation.collective)) return Ran::kNotYet;
    Slab* const slab = slab_for(state, Slab::Size::kLarge, name_of(question.collective));
    if (slab == nullptr) return Ran::kNotYet;
    Slots& lane = slab->lane_for(kLargeLane.room());
    if (may_use_team(state, operation, question) &&
        run_on_team(operation, question, FlatMethod::kNone, lane, code) == Ran::kDone)
      return Ran::kDone;
    return run_on_device(operation, question, lane, code);
  }
  Slots* const slots = slots_for(state, question, choice);
  if (choice.algorithm->flat == FlatMethod::kDirect && !state.single_copy)
    choice = choose(state, operation, question, true);  // now it is known
  if (slots == nullptr || choice.algorithm->flat == FlatMethod::kNone) return Ran::kNotYet;
  const FlatMethod method = choice.algorithm->flat;
  const auto run = [&] {
    Ran ran = Ran::kNotYet;
    if (TERN_UNLIKELY(may_use_team(state, operation, question)))
      ran = run_on_team(operation, question, method, *slots, code);
    if (TERN_LIKELY(ran == Ran::kNotYet)) ran = run_on_device(operation, question, *slots, code);
    if (ran == Ran::kNotYet) *code = run_in_slots(operation, method, *slots);
    if (TERN_UNLIKELY(slots->found_device()) && all_read_all(operation.collective))
      state.devices = true;  // a driver that came after the communicator
    return ran == Ran::kNotYet ? Ran::kDone : ran;
  };
  if (TERN_LIKELY(!process_.explain.on()) || operation.communicator->rank() != 0) return run();
  const Question asked = state.question;  // the run may ask others
  Measured* const sum = explain(state, asked, choice);
  const int64_t began = now_ns();
  const Ran ran = run();
  sum->nanoseconds += now_ns() - began;
  return ran;
}

}  // namespace tern::coll
