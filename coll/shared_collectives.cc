// SPDX-License-Identifier: Apache-2.0
// SharedCollectives: slabs, and blocking collectives.
#include "coll/shared_collectives.hpp"

#include <algorithm>
#include <new>

#include "base/error.hpp"
#include "coll/flat/flat.hpp"
#include "coll/flat/on_device.hpp"
#include "coll/flat/staged.hpp"
#include "mpi.h"

namespace tern::coll {
namespace {

// Flags of an introduction: a device driver is loaded; ranks share cores; this rank cannot read the
// others' buffers (large slab).
constexpr uint32_t kDriver = 1U << 31, kCrowded = 1U << 30, kReadsNone = 1U << 29;

uint32_t introduction_of(const Slab& slab, Slab::Size size) {
  const uint32_t own = slab.introduction();
  if (own == core::Slabs::kNone) return own;
  const bool reads_none = size == Slab::Size::kLarge && !slab.can_get();
  return own | (cuda::driver() != nullptr ? kDriver : 0) | (slab.crowded() ? kCrowded : 0) |
         (reads_none ? kReadsNone : 0);
}

bool take_bit(uint32_t bit, std::vector<uint32_t>* all) noexcept {
  bool any = false;
  for (uint32_t& one : *all) {
    if (one == core::Slabs::kNone) continue;
    any |= (one & bit) != 0;
    one &= ~bit;
  }
  return any;
}

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

bool SharedCollectives::make_slab(CommState& state, Slab::Size size, const char* name,
                                  std::unique_ptr<Slab>& slab) {
  std::unique_ptr<Slab> made = context_.flights.make_slab(state.communicator, size, nullptr);
  try {
    std::vector<uint32_t> all =
        context_.executions.exchange(state.communicator, introduction_of(*made, size), name);
    if (take_bit(kDriver, &all)) state.find_devices();
    const bool some_read_none = take_bit(kReadsNone, &all);
    if (size == Slab::Size::kLarge) state.single_copy = !some_read_none;
    made->rooted_room =
        static_cast<uint32_t>((take_bit(kCrowded, &all) ? kDeepLane : kLineLane).room());
    if (std::find(all.begin(), all.end(), core::Slabs::kNone) != all.end()) {
      context_.flights.drop_slab();
      return false;
    }
    made->meet(all);
  } catch (...) {  // peers may read the slab until the communicator ends
    state.shares_memory = false;
    slab = std::move(made);
    throw;
  }
  slab = std::move(made);
  return true;
}

Slab* SharedCollectives::slab_for(CommState& state, Slab::Size size, const char* name) {
  std::unique_ptr<Slab>& slab = state.slabs[static_cast<size_t>(size)];
  if (TERN_LIKELY(slab != nullptr)) return slab.get();
  if (!make_slab(state, size, name, slab)) {
    lack(state, size);
    return nullptr;
  }
  return slab.get();
}

void SharedCollectives::lack(CommState& state, Slab::Size size) {
  const bool large = size == Slab::Size::kLarge;
  (large ? state.shares_large : state.shares_memory) = false;
  context_.process.explain.say(
      "fallback", {{"what", "messages"}, {"communicator", state.communicator.name.text()}},
      strf("collectives%s on %s use messages instead of shared memory: a rank has "
           "more communicators than slabs; free unused communicators",
           large ? strf(" above %zu B", kSmallLane.room()).c_str() : "",
           state.communicator.name.or_words("a communicator").c_str()));
}

bool SharedCollectives::may_serve(const CommState& state, const Operation& operation,
                                  const Question& question) noexcept {
  return state.shares_memory && flat_takes(operation) &&
         fits_in_slot(operation, question, kLargeLane) &&
         (state.shares_large || flat_bytes(question) <= kSmallLane.room());
}

void SharedCollectives::choose(BlockingCall& call) const {
  const bool shared = may_serve(call.state, call.operation, call.question);
  if (shared && TERN_UNLIKELY(call.state.own.rests > 0)) --call.state.own.rests;
  const Choice& choice = context_.choose(call.state, call.operation, call.question, shared);
  if (shared) call.shared = choice.algorithm;
}

bool SharedCollectives::take_slots(BlockingCall& call) {
  if (call.slots != nullptr) return true;
  CommState& state = call.state;
  const FlatMethod method = call.method();
  const size_t bytes = room_for(method, call.question, state.shares_large);
  if (rooted(call.operation.collective) && bytes <= kDeepLane.room() &&
      take_deep_slots(call, bytes))
    return true;
  Slab* const slab = slab_for(state, slab_size_of(bytes), name_of(call.question.collective));
  if (slab == nullptr) {
    call.shared = nullptr;
    return false;
  }
  call.slots = &slab->lane_for(bytes);
  if (method == FlatMethod::kDirect && !state.single_copy)
    call.shared = context_.choose(state, call.operation, call.question, true).algorithm;
  return true;
}

// The first slab owns the deep slab.
bool SharedCollectives::take_deep_slots(BlockingCall& call, size_t bytes) {
  constexpr uint32_t kWithoutDeep = 16;  // all ranks count alike
  Slab* keeper = nullptr;
  for (const auto& slab : call.state.slabs)
    if (slab != nullptr && (keeper == nullptr || slab->deep != nullptr)) keeper = slab.get();
  if (keeper == nullptr || call.question.ranks > Slab::kFewRanks) return false;
  if (TERN_UNLIKELY(keeper->deep == nullptr) &&
      (++keeper->rooted_calls != kWithoutDeep ||
       !make_slab(call.state, Slab::Size::kDeep, name_of(call.question.collective), keeper->deep)))
    return false;
  if (bytes > keeper->deep->rooted_room) return false;
  call.slots = &keeper->deep->lane();
  return true;
}

void SharedCollectives::ask_for_drivers(const BlockingCall& call) {
  CommState& state = call.state;
  if (TERN_LIKELY(state.devices || state.asked_for_drivers)) return;
  if (call.method() != FlatMethod::kNone || flat_bytes(call.question) < kLeastOnDevice ||
      !OnDevice::takes(call.operation.collective))
    return;
  const std::vector<uint32_t> all = context_.executions.exchange(
      state.communicator, cuda::driver() == nullptr ? 0 : 1, name_of(call.question.collective));
  if (std::find(all.begin(), all.end(), 1U) != all.end()) state.find_devices();
  state.asked_for_drivers = true;
}

const char* SharedCollectives::why_not_on_devices(const BlockingCall& call) noexcept {
  if (call.shared == nullptr) return "the ranks share no memory";
  if (call.operation.collective == Collective::kBarrier) return "a barrier has no data";
  if (needs_plan(*call.shared)) return "a plan was chosen";
  if (call.method() == FlatMethod::kNone &&
      (!call.state.devices || !OnDevice::takes(call.operation.collective)))
    return "no rank has a device driver";
  if (flat_bytes(call.question) < kLeastOnDevice) return "small data is staged through the host";
  if (call.where == Where::kHost) return "no rank's data lies on a device";
  return nullptr;
}

bool SharedCollectives::run_on_devices(BlockingCall& call) {
  if (!take_slots(call)) return false;
  const Operation& operation = call.operation;
  if (call.question.ranks > Slab::kFewRanks) {
    call.where = any_on_device(operation, *call.slots) ? Where::kSome : Where::kHost;
    return false;
  }
  OnDevice all(operation, *call.slots, *context_.channel.pml, device_links_);
  call.where = all.meet();
  if (call.where == Where::kSome && !all.islands().empty())
    call.state.islands =
        context_.places.of_names(*operation.communicator, all.islands(),
                                 "collectives of memory on GPUs without peer access between all");
  if (call.where != Where::kAll) return false;
  if (TERN_UNLIKELY(context_.explains(*operation.communicator)))
    context_.process.gpus.tell_choice(
        context_.process.explain,
        strf("%s of device memory: every rank %s the buffers of all ranks; %s",
             name_of(operation.collective),
             operation.op != nullptr ? "reduces its slice of" : "copies its part from",
             all.shares_one() ? "all share a GPU" : "all GPUs have peer access"));
  call.code = all.run();
  return true;
}

int SharedCollectives::run_plain(const BlockingCall& call, Where* where) {
  Slots& slots = *call.slots;
  const auto run = [&](const Operation& what) {
    if (TERN_LIKELY(where == nullptr)) return flat_run(what, call.method(), slots);
    int code = MPI_SUCCESS;
    *where = flat_run_here(what, slots, false, &code);
    return code;
  };
  if (TERN_LIKELY(!uses_device(call.operation))) return run(call.operation);
  Staged staged(call.operation);
  const Failure why = staged.download();
  if (call.method() == FlatMethod::kWhole) slots.mark_device();
  const Slots::Poisoned poisoned(slots, static_cast<bool>(why));  // the peers wait for this rank
  const int code = run(staged.operation());
  if (where != nullptr && *where != Where::kHost) return code;
  if (why) return fail(why);
  return code == MPI_SUCCESS ? fail(staged.upload()) : code;
}

const char* SharedCollectives::why_not_in_slots(const BlockingCall& call) noexcept {
  if (call.method() == FlatMethod::kNone)
    return call.shared == nullptr ? "the ranks share no memory" : "the row is a schedule";
  return call.where == Where::kSome ? "a rank's data lies on a device" : nullptr;
}

bool SharedCollectives::run_in_slots(BlockingCall& call) {
  if (!take_slots(call) || call.method() == FlatMethod::kNone) return false;
  call.code = run_plain(call);
  return true;
}

void SharedCollectives::note_devices(const BlockingCall& call) noexcept {
  if (call.slots == nullptr || TERN_LIKELY(!call.slots->found_device())) return;
  if (all_read_all(call.operation.collective)) call.state.find_devices();
}

}  // namespace tern::coll
