// SPDX-License-Identifier: Apache-2.0
#include "coll/gpu/way.hpp"

#include "base/error.hpp"
#include "coll/gpu/kernel_run.hpp"
#include "coll/gpu/push_run.hpp"

namespace tern::coll {
namespace {

// Bytes of a vector or block that kernels move, and that words of LL do: a model's numbers, not
// measured ones.
constexpr size_t kMostByKernel = 1048576, kMostByLl = 32768;

std::string why_no_ll(const GpuTeam& team, const Params& params, const Placed& placed,
                      const Operation& operation, size_t bytes) {
  if (params.gpu_wire == "simple") return "TERN_GPU_WIRE asks for simple";
  if (params.gpu_wire == "auto" && bytes > kMostByLl) return strf("more than %zu bytes", kMostByLl);
  return PushRun::why_not(team, placed, operation);
}

const Programs::Uploaded* program_for(GpuTeam& team, const Placed& placed,
                                      const Operation& operation, CUstream stream,
                                      std::string* why) {
  *why = KernelRun::why_not(team, placed, operation);
  if (!why->empty()) return nullptr;
  if (const Programs::Uploaded* const there = team.programs().find(placed); there != nullptr)
    return there;
  if (!team.is_captured(stream)) return team.programs().upload(placed, why);
  *why =
      "its program is not on the device yet, where nothing comes during a capture: the same call "
      "once before it helps";
  return nullptr;
}

Way by_stream(const GpuTeam& team, std::string why) {
  if (!team.shares()) return {Way::kStream, nullptr, std::move(why)};
  return {Way::kNone, nullptr,
          "ranks share a GPU by MPS, where only kernels wait for others', and not here: " + why};
}

}  // namespace

bool prefers_kernels(const GpuTeam& team, const Params& params, const Operation& operation,
                     size_t bytes) noexcept {
  if (params.gpu_engine != "auto") return params.gpu_engine == "kernel";
  return team.shares() || (!operation.irregular && bytes <= kMostByKernel);
}

Way way_of(GpuTeam& team, const Params& params, const Placed& placed, const Operation& operation,
           size_t bytes, CUstream stream) {
  if (params.gpu_engine == "stream") return by_stream(team, "TERN_GPU_ENGINE is stream");
  if (!prefers_kernels(team, params, operation, bytes))
    return by_stream(
        team, operation.irregular ? "blocks differ" : strf("more than %zu bytes", kMostByKernel));
  const std::string no_ll = why_no_ll(team, params, placed, operation, bytes);
  if (no_ll.empty()) return {Way::kPush, nullptr, strf("one hop of at most %zu bytes", kMostByLl)};
  std::string why;
  const Programs::Uploaded* const program = program_for(team, placed, operation, stream, &why);
  if (program != nullptr) return {Way::kKernel, program, "no words of LL: " + no_ll};
  if (params.gpu_engine == "kernel") return {Way::kNone, nullptr, why};
  return by_stream(team, "no kernel: " + why);
}

}  // namespace tern::coll
