// SPDX-License-Identifier: Apache-2.0
// Coll: collectives that are put into streams.
#include <new>

#include "base/error.hpp"
#include "coll/coll.hpp"
#include "coll/gpu/kernel_run.hpp"
#include "coll/gpu/pieces.hpp"
#include "coll/gpu/stream_run.hpp"

namespace tern::coll {
namespace {

/// Passes of a row that is a pipeline over ranks.
constexpr MPI_Count kPiped = 16;
/// Bytes of a vector or block that kernels move. A model's number, not a measured one.
constexpr size_t kMostByKernel = 1048576;

}  // namespace

int Coll::prepare_enqueue(core::Communicator& communicator, cuda::Device* device) noexcept {
  const core::ChannelLock lock(channel_.progress);
  try {
    CommState& state = state_of(communicator);
    if (state.team != nullptr) return MPI_SUCCESS;
    state.no_team.clear();
    state.team = teams_.lease(communicator, device, &state.no_team);
    return MPI_SUCCESS;
  } catch (const std::bad_alloc&) {
    return fail(MPI_ERR_NO_MEM, "no memory for a team of GPUs of %d ranks", communicator.size());
  } catch (const Error& error) {
    return fail(error);
  }
}

// All of it depends on what is alike on all ranks.
const Placed* Coll::placed_for(CommState& state, const Operation& operation, std::string* why_not) {
  Question question = question_of(operation);
  question.streams = true;
  if (const char* why = Pieces::why_not(operation); why != nullptr) {
    *why_not = why;
    return nullptr;
  }
  if (reduces(operation.collective) && !state.team->reduces()) {
    *why_not = "a rank has no kernels";
    return nullptr;
  }
  const Choice choice = selector_.choose(question, state.hints.get());
  const int root = rooted(operation.collective) ? operation.root : 0;
  const Placed* const placed = state.team->placed(*choice.algorithm, root, why_not);
  if (placed == nullptr) return nullptr;
  if (!placed->single_blocks) {
    *why_not = strf("a step of %s takes several blocks at once", choice.algorithm->name);
    return nullptr;
  }
  if (TERN_UNLIKELY(process_.explain.on()) && state.communicator.rank() == 0) {
    const core::ChannelLock lock(channel_.progress);
    (void)explain(state, question, choice);
  }
  return placed;
}

int Coll::fail_over(CommState& state) const noexcept {
  const core::ChannelLock lock(channel_.progress);
  if (state.communicator.interrupted()) return state.communicator.fail_interrupted();
  return fail(MPI_ERR_OTHER, "%s", state.trouble->why.c_str());
}

// Alike on all ranks, which have made the same calls, captured or not.
const Programs::Uploaded* Coll::program_for(GpuTeam& team, const Placed& placed,
                                            const Operation& operation, CUstream stream,
                                            std::string* why_not) {
  const std::string& engine = process_.params.gpu_engine;
  const bool forced = engine == "kernel";
  const bool large = operation.irregular || question_of(operation).bytes > kMostByKernel;
  if (engine == "stream" || (!forced && large)) return nullptr;
  std::string why = KernelRun::why_not(team, placed, operation);
  const Programs::Uploaded* program = why.empty() ? team.programs().find(placed) : nullptr;
  if (why.empty() && program == nullptr && team.is_captured(stream))
    why =
        "its program is not on the device yet, where nothing comes during a capture: the same "
        "call once before it helps";
  if (why.empty() && program == nullptr) program = team.programs().upload(placed, &why);
  if (forced) *why_not = why;
  return program;
}

int Coll::put_into(CommState& state, const Operation& operation, CUstream stream, bool* taken,
                   std::string* why_not) {
  GpuTeam& team = *state.team;
  const std::lock_guard<std::mutex> guard(team.mutex());
  if (team.forsaken())
    return fail(MPI_ERR_OTHER,
                "%s. No collective can be enqueued on this communicator any more; "
                "MPIX_Stream_comm_create makes one that takes them",
                team.why_forsaken().c_str());
  if (team.broken()) return fail(MPI_ERR_OTHER, "%s", team.why_broken().c_str());
  if (std::string report = team.programs().report(); !report.empty()) {
    team.break_off(report);
    return fail(MPI_ERR_OTHER, "%s", report.c_str());
  }
  const Placed* const placed = placed_for(state, operation, why_not);
  if (placed == nullptr) return MPI_SUCCESS;
  const Programs::Uploaded* const program = program_for(team, *placed, operation, stream, why_not);
  if (!why_not->empty()) return MPI_SUCCESS;
  *taken = true;
  cuda::Stream of_user;
  of_user.handle = stream;
  cuda::Job job(team.device(), of_user);
  const bool piped = find_algorithm(operation.collective, placed->schedule.algorithm)->chunk != 0;
  const int code =
      program != nullptr
          ? KernelRun(team, *placed, *program, operation, job, process_.params.gpu_patience * 1000)
                .run()
          : StreamRun(team, *placed, operation, job, piped ? kPiped : 1).run();
  if (TERN_LIKELY(code == MPI_SUCCESS)) return code;
  const std::string why = take_last_error().text;
  team.break_off("an earlier call that was put into a stream failed: " + why);
  return fail(code, "%s", why.c_str());
}

std::shared_ptr<GpuTeam> Coll::team_of(const core::Communicator& communicator) noexcept {
  const auto* const state = static_cast<const CommState*>(communicator.coll.get());
  return state == nullptr ? nullptr : state->team;
}

std::string Coll::why_no_team(const core::Communicator& communicator) {
  const auto* const state = static_cast<const CommState*>(communicator.coll.get());
  return state == nullptr || state->no_team.empty()
             ? "only MPIX_Stream_comm_create prepares devices for each other"
             : state->no_team;
}

bool Coll::is_over(const core::Communicator& communicator) noexcept {
  const core::ChannelLock lock(communicator.channel().progress);
  const auto* const state = static_cast<const CommState*>(communicator.coll.get());
  return communicator.interrupted() || (state != nullptr && state->over());
}

int Coll::enqueue(const Operation& operation, CUstream stream, bool* taken,
                  std::string* why_not) noexcept {
  *taken = false;
  try {
    if (operation.communicator->coll == nullptr) {
      *why_not = why_no_team(*operation.communicator);
      return MPI_SUCCESS;
    }
    CommState& state = static_cast<CommState&>(*operation.communicator->coll);
    if (state.team != nullptr && is_over(*operation.communicator)) return fail_over(state);
    if (state.team != nullptr) return put_into(state, operation, stream, taken, why_not);
    *why_not = state.no_team;
    return MPI_SUCCESS;
  } catch (const std::bad_alloc&) {
    return fail(MPI_ERR_NO_MEM, "no memory to put %s into a stream", name_of(operation.collective));
  } catch (const Error& error) {
    return fail(error);
  }
}

}  // namespace tern::coll
