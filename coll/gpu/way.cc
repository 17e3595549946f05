// SPDX-License-Identifier: Apache-2.0
#include "coll/gpu/way.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "coll/gpu/kernel_run.hpp"
#include "coll/gpu/multicast_run.hpp"

namespace tern::coll {
namespace {

// Bytes of a vector or block that kernels move, and that words of LL and lines of LL128 do, in one
// hop and in two: a model's numbers, not measured ones.
constexpr size_t kMostByKernel = 1 << 20, kMostByLl = 32 << 10, kMostInTwoHops = 256 << 10;
constexpr size_t kMostByLines = 256 << 10, kMostByLinesInTwoHops = 1 << 20;
// Ranks from which on a switch saves a third of what a ring's links carry.
constexpr int kLeastToMulticast = 3;

const char* why_no_ll(const GpuTeam& team, const Params& params, const Placed& placed,
                      const Operation& operation, size_t bytes) noexcept {
  if (params.gpu_wire == "simple") return "TERN_GPU_WIRE asks for simple";
  const bool two = PushRun::is_two_hops(placed);
  if (params.gpu_wire != "ll" && bytes > (two ? kMostInTwoHops : kMostByLl))
    return two ? "more than 256 KiB" : "more than 32 KiB";
  return PushRun::why_not(team, placed, operation);
}

/// Of what words of LL do not do, or where lines are asked for.
const char* why_no_lines(const GpuTeam& team, const Params& params, const Placed& placed,
                         const Operation& operation, size_t bytes) noexcept {
  if (params.gpu_wire == "simple") return "TERN_GPU_WIRE asks for simple";
  if (params.gpu_wire == "ll") return "TERN_GPU_WIRE asks for ll";
  if (operation.collective == Collective::kBarrier) return "a barrier has no data";
  const bool two = PushRun::is_two_hops(placed);
  if (params.gpu_wire != "ll128" && bytes > (two ? kMostByLinesInTwoHops : kMostByLines))
    return two ? "more than 1 MiB" : "more than 256 KiB";
  if (const char* why = PushRun::why_not(team, placed, operation); why != nullptr) return why;
  return team.no_lines().empty() ? nullptr : team.no_lines().c_str();
}

/// By words or lines; kNone where by neither, with the reasons.
Way by_push(const GpuTeam& team, const Params& params, const Placed& placed,
            const Operation& operation, size_t bytes) {
  const bool two = PushRun::is_two_hops(placed), asked = params.gpu_wire == "ll128";
  Way way;
  way.no_lines = why_no_lines(team, params, placed, operation, bytes);
  if (asked && way.no_lines == nullptr) {
    way.engine = Way::kPush;
    way.wire = PushRun::kLines;
    way.why = "TERN_GPU_WIRE asks for ll128";
    return way;
  }
  way.why = why_no_ll(team, params, placed, operation, bytes);
  if (way.why != nullptr && way.no_lines != nullptr) return way;
  way.engine = Way::kPush;
  way.wire = way.why == nullptr ? PushRun::kWords : PushRun::kLines;
  if (way.wire == PushRun::kLines)
    way.why =
        two ? "two hops of at most 1 MiB over NVLink" : "one hop of at most 256 KiB over NVLink";
  else
    way.why = two ? "two hops of at most 256 KiB" : "one hop of at most 32 KiB";
  if (!asked) way.no_lines = nullptr;
  return way;
}

/// Null with the reason in *way.
const Programs::Uploaded* program_for(GpuTeam& team, const Placed& placed,
                                      const Operation& operation, CUstream stream, Way* way) {
  way->why = KernelRun::why_not(team, placed, operation);
  if (way->why != nullptr) return nullptr;
  if (const Programs::Uploaded* const there = team.programs().find(placed); there != nullptr)
    return there;
  if (!team.is_captured(stream)) return team.programs().upload(placed, &way->failure);
  way->why =
      "its program is not on the device yet, where nothing comes during a capture: the same call "
      "once before it helps";
  return nullptr;
}

Way by_stream(const GpuTeam& team, Way way) noexcept {
  way.shares = team.shares();
  way.engine = way.shares ? Way::kNone : Way::kStream;
  return way;
}

}  // namespace

std::string Way::in_words() const {
  std::string words = why != nullptr ? why : failure;
  if (engine == kKernel) words = "no words of LL: " + words;
  // What stands against both is said once.
  if (no_lines != nullptr && (why == nullptr || std::strcmp(why, no_lines) != 0))
    words += std::string("; no lines of LL128: ") + no_lines;
  if (no_multimem != nullptr) words += std::string("; not by the switch: ") + no_multimem;
  if (engine == kKernel) return words;
  if (!shares) return words;
  return "ranks share a GPU by MPS, where only kernels wait for others', and not here: " + words;
}

bool prefers_kernels(const GpuTeam& team, const Params& params, size_t bytes) noexcept {
  if (params.gpu_engine != "auto") return params.gpu_engine == "kernel";
  return team.shares() || bytes <= kMostByKernel;
}

// What is large kernels read from where it is (coll/flat/on_device.hpp).
bool takes_ordinary(const Params& params, const Operation& operation, size_t bytes) noexcept {
  if (params.gpu_engine == "host") return false;
  return params.gpu_engine != "auto" || (!operation.irregular && bytes <= kMostByKernel);
}

const char* why_not_multicast(const GpuTeam& team, const Params& params, const Operation& operation,
                              size_t bytes, bool any_order) noexcept {
  // What costs least is asked first: this stands before each call.
  if (team.multicast() == nullptr) return team.no_multicast().c_str();
  if (params.gpu_wire != "multimem") {
    const size_t most = splits(operation.collective) ? kMostByLinesInTwoHops : kMostByLines;
    if (!reduces(operation.collective)) return "what is only moved engines that copy do as fast";
    if (bytes <= most) return "it is small";
    if (team.ranks() < kLeastToMulticast) return "two ranks send each other what they have";
  }
  if (const char* why = MulticastRun::why_not(operation); why != nullptr) return why;
  return any_order || MulticastRun::is_exact(operation)
             ? nullptr
             : "its result would have other bits than the host's";
}

bool may_push_lines(const GpuTeam& team, const Params& params) noexcept {
  return team.no_lines().empty() && params.gpu_wire != "simple" && params.gpu_wire != "ll";
}

Way way_of(GpuTeam& team, const Params& params, const Placed& placed, const Operation& operation,
           size_t bytes, CUstream stream, const char* no_multimem) {
  Way way;
  if (no_multimem == nullptr && placed.is_row(MulticastRun::row_of(operation.collective))) {
    way.engine = Way::kMulticast;
    way.why = params.gpu_wire == "multimem" ? "TERN_GPU_WIRE asks for multimem"
                                            : "a switch reduces on the way";
    return way;
  }
  if (params.gpu_wire == "multimem")
    way.no_multimem = no_multimem != nullptr ? no_multimem : "another algorithm was chosen";
  if (params.gpu_engine == "host") {
    way.why = "TERN_GPU_ENGINE is host";
    return way;
  }
  if (params.gpu_engine == "stream") {
    way.why = "TERN_GPU_ENGINE is stream";
    return by_stream(team, std::move(way));
  }
  if (!prefers_kernels(team, params, bytes)) {
    way.why = "more than 1 MiB";
    return by_stream(team, std::move(way));
  }
  // `bytes` are the mean of blocks that differ: who knows all of them asks for the largest.
  if (operation.irregular) bytes = std::max(bytes, PushRun::largest(placed, operation));
  Way push = by_push(team, params, placed, operation, bytes);
  push.no_multimem = way.no_multimem;
  if (push.engine == Way::kPush) return push;
  way.program = program_for(team, placed, operation, stream, &way);
  if (!way.failure.empty()) return way;
  if (way.program != nullptr) {
    way.engine = Way::kKernel;
    way.why = push.why;
    way.no_lines = push.no_lines;
    return way;
  }
  if (params.gpu_engine == "kernel") return way;
  return by_stream(team, std::move(way));
}

}  // namespace tern::coll
