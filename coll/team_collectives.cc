// SPDX-License-Identifier: Apache-2.0
// TeamCollectives: placement, team creation, waits for devices.
#include "coll/team_collectives.hpp"

#include <sched.h>

#include <algorithm>
#include <bit>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "coll/flat/flat.hpp"
#include "coll/flat/on_device.hpp"
#include "coll/flat/staged.hpp"
#include "coll/gpu/device_calls.hpp"
#include "coll/gpu/pieces.hpp"
#include "core/allocations.hpp"
#include "mpi.h"

namespace tern::coll {
namespace {

const std::byte* first_of(const Operation& operation, const Side& side) noexcept {
  const bool scatters = operation.collective == Collective::kScatter;
  const bool meant = !operation.in_place || (&side == &operation.input) == scatters;
  return meant ? first_byte_of(side) : nullptr;
}

/// Turn: the exclusive right to queue waiting work; null if taken.
class Turn {
 public:
  explicit Turn(cuda::Device* device) noexcept
      : device_(device != nullptr && device->try_take() ? device : nullptr) {}
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() {
    if (device_ != nullptr) device_->give();
  }
  [[nodiscard]] bool held() const noexcept { return device_ != nullptr; }

 private:
  cuda::Device* const device_;
};

/// A failed probe costs an epoch, so rest() backs off exponentially.
void rest(CommState& state) noexcept {
  constexpr uint32_t kMost = 255;
  state.own.rests = state.own.last_rest = std::min(kMost, 2 * state.own.last_rest + 1);
}

bool is_cut(const CommState& state) noexcept {
  return state.fate.dead() || state.communicator.fate.dead();
}

bool has_come(const GpuTeam& team, uint32_t call) noexcept {
  return static_cast<int32_t>(team.calls.passed() - call) >= 0;
}

}  // namespace

const char* TeamCollectives::why_not(const BlockingCall& call) const noexcept {
  const CommState& state = call.state;
  if (call.shared == nullptr) return "the ranks share no memory";
  if (!state.devices) return "no rank has a device driver";
  if (state.own.none) return "the devices form no team";
  if (state.own.rests > 0) return "data of earlier calls was not on the devices";
  if (call.question.ranks > cuda::kMostRanks) return "too many ranks";
  if (!OnDevice::takes(call.operation.collective)) return "devices do not support the collective";
  if (!all_read_all(call.operation.collective) && flat_bytes(call.question) < kLeastOnDevice)
    return "for small data the exchange between ranks costs more";
  const Params& params = context_.process.params;
  if (params.gpu_engine == GpuEngine::kHost ||
      (!needs_plan(*call.shared) && !takes_ordinary(params, call.operation, call.question.bytes)))
    return "TERN_GPU_ENGINE or the size excludes device streams";
  return Pieces::why_not(call.operation);
}

bool TeamCollectives::run(BlockingCall& call) {
  if (!shared_.take_slots(call)) return false;
  CommState& state = call.state;
  if (state.own.team == nullptr) ++state.own.calls_without;
  cuda::Job job;
  const bool on_device = uses_device(call.operation);
  if (TERN_UNLIKELY(on_device)) job = job_for(state, call.operation);
  const Turn turn(job.stream() == nullptr ? nullptr : &job.device());
  const bool mine = turn.held();
  const bool asks_first =
      call.method() != FlatMethod::kWhole || !all_read_all(call.operation.collective);
  Where where = Where::kHost;
  if (asks_first)
    where = flat_ask(call.operation, call.question.bytes, *call.slots, mine, on_device);
  else if (mine)
    where = flat_run_here(call.operation, *call.slots, true, &call.code);
  else
    call.code = SharedCollectives::run_plain(call, &where);
  if (where == Where::kAll) return run_together(call, std::move(job));
  job.abandon();
  if (where == Where::kSome) rest(state);
  if (asks_first && where == Where::kHost) call.where = Where::kHost;
  return where == Where::kHost && !asks_first;
}

// The job has no stream if the data lies on the host or on an unusable device.
cuda::Job TeamCollectives::job_for(CommState& state, const Operation& operation) noexcept {
  cuda::Job job;
  const auto gives_up = [&] {
    job.abandon();
    return cuda::Job();
  };
  for (const Side* side : {&operation.input, &operation.output}) {
    const std::byte* const first = first_of(operation, *side);
    if (first == nullptr) continue;
    const core::Data data{side->address, side->count, side->type};
    const cuda::Memory memory = cuda::look_up(first);
    std::string why;
    if (!cuda::on_device(memory.kind)) return gives_up();
    if (job.stream() != nullptr) {
      if (context_.process.gpus.device_of(memory, &why) != &job.device()) return gives_up();
      core::settle(job, data, memory);
      continue;
    }
    Failure unusable;
    job = core::begin_job(context_.process, data, &unusable);
    if (unusable) return gives_up();
    // Team creation waits for the device's work, which may wait for another rank.
    if (state.own.team == nullptr && !becomes_quiet(state, job.device())) return gives_up();
    if (state.own.team != nullptr && &state.own.team->memory.device() != &job.device())
      return gives_up();
  }
  if (job.failed()) return gives_up();
  return job;
}

// Calls 4, 8, 16 and so on wait until the default stream is empty: a program may always have work
// in this stream, but adds none during a call. All ranks count calls alike. Work that waits for
// another rank outlasts the attempt.
bool TeamCollectives::becomes_quiet(CommState& state, cuda::Device& device) noexcept {
  constexpr uint32_t kFirst = 4, kToTell = 256;
  constexpr int64_t kLongest = 100'000'000;  // ns
  constexpr int64_t kBetweenLooks = 200;     // us
  const uint32_t call = state.own.calls_without;
  if (device.is_quiet()) return true;
  if (call < kFirst || !std::has_single_bit(call)) return false;
  if (!device.has_waiting()) {
    const int64_t end = now_ns() + kLongest;
    bool quiet = false;
    context_.channel.progress.wait([&] { return (quiet = device.is_quiet()) || now_ns() > end; },
                                   [](WaitReport*) {}, kBetweenLooks);
    if (quiet) return true;
  }
  if (call == kToTell && context_.process.explain.on())
    context_.process.gpus.tell_choice(
        context_.process.explain,
        strf("small collectives of device memory on %s take the slower host path: memory "
             "shared by the devices is allocated only while device %d has no work in the default "
             "stream and no enqueued calls, and some collectives have waited 0.1 s each without "
             "success; call a collective after cudaDeviceSynchronize",
             state.communicator.name.or_words("a communicator").c_str(), device.ordinal));
  return false;
}

bool TeamCollectives::has_own_team(CommState& state, cuda::Device& device) {
  if (TERN_LIKELY(state.own.team != nullptr)) return true;
  std::string why_not;
  state.own.team =
      streams_.teams().lease(state.communicator, GpuTeams::Use::kOrdinary, &device, &why_not);
  state.own.none = state.own.team == nullptr;
  if (state.own.none) {
    context_.process.gpus.tell_choice(
        context_.process.explain,
        strf("direct GPU collectives on %s disabled: %s",
             state.communicator.name.or_words("a communicator").c_str(), why_not.c_str()));
    return false;
  }
  state.own.calls = std::make_unique<DeviceCalls>(state.communicator, state.own.team);
  state.own.calls->be_ordinary();
  return true;
}

bool TeamCollectives::run_together(BlockingCall& call, cuda::Job job) {
  CommState& state = call.state;
  if (!has_own_team(state, job.device())) {
    job.abandon();
    return false;
  }
  GpuTeam& team = *state.own.team;
  bool taken = false;
  std::string why_not;
  Failure why;
  const Choice plan = state.memo.answer;
  {
    const core::ChannelUnlock meanwhile(context_.channel.progress);
    why = streams_.put_into(state, team, call.operation, job, &taken, &why_not,
                            needs_plan(*call.shared) ? &plan : nullptr);
  }
  if (TERN_UNLIKELY(why)) leave_team(state, job, why);
  if (!taken) {
    job.abandon();
    return false;
  }
  state.own.last_rest = 0;
  await_team(state, call.operation, job, team.calls.count());
  return true;
}

void TeamCollectives::await_team(CommState& state, const Operation& operation, cuda::Job& job,
                                 uint32_t call) {
  GpuTeam& team = *state.own.team;
  constexpr int64_t kMomentNs = 100'000'000;
  int64_t let_go = 0;  // ns
  context_.channel.progress.stay_awake(1);
  context_.channel.progress.wait(
      [&] {
        if (has_come(team, call)) return true;
        state.own.calls->watch();
        if (TERN_UNLIKELY(is_cut(state)) && now_ns() - let_go > kMomentNs) {
          if (let_go == 0)
            team.reports.end_kernels();
          else
            team.let_go();
          let_go = now_ns();
        }
        return job.has_failed_meanwhile();
      },
      [&](WaitReport* report) { (void)state.own.calls->describe(report); });
  context_.channel.progress.stay_awake(-1);
  if (TERN_UNLIKELY(!has_come(team, call)))
    leave_team(state, job,
               failure(MPI_ERR_OTHER, "%s: the device has failed: %s",
                       name_of(operation.collective), job.failure().c_str()));
  job.has_ended();
  if (TERN_LIKELY(let_go == 0)) return;
  team.broken.end(failure(MPI_ERR_OTHER, "a collective was aborted"));
  const Fate& fate = state.communicator.fate.dead() ? state.communicator.fate : state.fate;
  throw Error(fate.reason());
}

// The stream waits for absent ranks while using the caller's buffers, so leave_team() ends the
// waits.
void TeamCollectives::leave_team(CommState& state, cuda::Job& job, const Failure& why) {
  constexpr int64_t kMostNs = 10'000'000'000;
  state.own.team->broken.end(why);
  state.own.team->let_go();
  const int64_t began = now_ns();
  while (!job.done() && now_ns() - began < kMostNs) ::sched_yield();
  if (!job.done()) job.abandon();
  throw Error(why);
}

}  // namespace tern::coll
