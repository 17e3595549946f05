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

/// Instead of a reason: "... asks for ...".
constexpr char kAsked[] = "a wire is asked for";

const char* why_no_ll(const GpuTeam& team, const AskedWire& asked, const Placed& placed,
                      const Operation& operation, size_t bytes) noexcept {
  if (asked.wire == Wire::kSimple) return kAsked;
  const bool two = PushRun::is_two_hops(placed);
  if (asked.wire != Wire::kLl && bytes > (two ? kMostInTwoHops : kMostByLl))
    return two ? "more than 256 KiB" : "more than 32 KiB";
  return PushRun::why_not(team, placed, operation);
}

/// Of what words of LL do not do, or where lines are asked for.
const char* why_no_lines(const GpuTeam& team, const AskedWire& asked, const Placed& placed,
                         const Operation& operation, size_t bytes) noexcept {
  if (asked.wire == Wire::kSimple || asked.wire == Wire::kLl) return kAsked;
  if (operation.collective == Collective::kBarrier) return "a barrier has no data";
  const bool two = PushRun::is_two_hops(placed);
  if (asked.wire != Wire::kLl128 && bytes > (two ? kMostByLinesInTwoHops : kMostByLines))
    return two ? "more than 1 MiB" : "more than 256 KiB";
  if (const char* why = PushRun::why_not(team, placed, operation); why != nullptr) return why;
  return team.no_lines().empty() ? nullptr : team.no_lines().c_str();
}

/// By words or lines; kNone where by neither, with the reasons.
Way by_push(const GpuTeam& team, const AskedWire& asked, const Placed& placed,
            const Operation& operation, size_t bytes) {
  const bool two = PushRun::is_two_hops(placed), lines = asked.wire == Wire::kLl128;
  Way way;
  way.no_lines = why_no_lines(team, asked, placed, operation, bytes);
  if (lines) way.denied = way.no_lines;
  if (!lines || way.denied != nullptr) way.why = why_no_ll(team, asked, placed, operation, bytes);
  if (way.why != nullptr && way.no_lines != nullptr) return way;
  way.engine = Way::kPush;
  way.wire =
      way.why == nullptr && !(lines && way.denied == nullptr) ? PushRun::kWords : PushRun::kLines;
  way.no_lines = nullptr;
  if (way.taken() == asked.wire)
    way.why = kAsked;
  else if (way.wire == PushRun::kLines)
    way.why =
        two ? "two hops of at most 1 MiB over NVLink" : "one hop of at most 256 KiB over NVLink";
  else
    way.why = two ? "two hops of at most 256 KiB" : "one hop of at most 32 KiB";
  return way;
}

/// Null with the reason in *way.
Programs::Stored* program_for(GpuTeam& team, const Placed& placed, const Operation& operation,
                              Way* way) {
  way->why = KernelRun::why_not(team, placed, operation);
  return way->why != nullptr ? nullptr : team.programs().store(placed, &way->failure);
}

/// Why switches are not taken where nothing asks for them; null: they are.
const char* why_no_gain(const GpuTeam& team, const Operation& operation, size_t bytes) noexcept {
  const size_t small = splits(operation.collective) ? kMostByLinesInTwoHops : kMostByLines;
  if (!reduces(operation.collective)) return "what is only moved engines that copy do as fast";
  if (bytes <= small) return "it is small";
  return team.ranks() < kLeastToMulticast ? "two ranks send each other what they have" : nullptr;
}

Way by_stream(const GpuTeam& team, Way way) noexcept {
  way.shares = team.shares();
  way.engine = way.shares ? Way::kNone : Way::kStream;
  return way;
}

}  // namespace

Wire Way::taken() const noexcept {
  if (engine == kMulticast) return Wire::kMultimem;
  if (engine == kKernel || engine == kExchange) return Wire::kSimple;
  if (engine != kPush) return Wire::kAuto;
  return wire == PushRun::kLines ? Wire::kLl128 : Wire::kLl;
}

std::string reason_in_words(const char* why, const AskedWire& asked, const std::string& asker) {
  return why == kAsked ? asker + " asks for " + name_of(asked.wire) : why;
}

std::string Way::in_words(const std::string& asker) const {
  std::string words = why != nullptr ? reason_in_words(why, asked, asker) : failure;
  if (engine == kKernel) words = "no words of LL: " + words;
  // What stands against both is said once.
  if (no_lines != nullptr && (why == nullptr || std::strcmp(why, no_lines) != 0))
    words += "; no lines of LL128: " + reason_in_words(no_lines, asked, asker);
  if (denied != nullptr) {
    const std::string demand = asker + " asks for " + name_of(asked.wire) + ", but: ";
    words = denied == why ? demand + words : words + "; " + demand + denied;
  }
  if (engine == kKernel || !shares) return words;
  return "ranks share a GPU by MPS, where only kernels wait for others', and not here: " + words;
}

bool prefers_kernels(const GpuTeam& team, const Params& params, size_t bytes) noexcept {
  if (params.gpu_engine != GpuEngine::kAuto) return params.gpu_engine == GpuEngine::kKernel;
  return team.shares() || bytes <= kMostByKernel;
}

// What is large kernels read from where it is (coll/flat/on_device.hpp).
bool takes_ordinary(const Params& params, const Operation& operation, size_t bytes) noexcept {
  if (params.gpu_engine == GpuEngine::kHost) return false;
  return params.gpu_engine != GpuEngine::kAuto || (!operation.irregular && bytes <= kMostByKernel);
}

AskedWire asked_wire(const Params& params, const Forced* hints) noexcept {
  if (hints != nullptr && hints->wire != Wire::kAuto) return {hints->wire, AskedWire::kHint};
  const Wire wire = params.gpu_wire;
  return {wire, wire == Wire::kAuto ? AskedWire::kNothing : AskedWire::kParameter};
}

const char* why_not_multicast(const GpuTeam& team, const AskedWire& asked,
                              const Operation& operation, size_t bytes, bool any_order,
                              bool any_size) noexcept {
  // What costs least is asked first: this stands before each call.
  if (team.multicast() == nullptr) return team.no_multicast().c_str();
  if (team.parts() == 0) return team.no_parts();
  if (asked.wire != Wire::kAuto && asked.wire != Wire::kMultimem) return kAsked;
  if (asked.wire == Wire::kAuto && !any_size)
    if (const char* why = why_no_gain(team, operation, bytes); why != nullptr) return why;
  if (const char* why = MulticastRun::why_not(operation); why != nullptr) return why;
  return any_order || MulticastRun::is_exact(operation)
             ? nullptr
             : "its result would have other bits than the host's";
}

const char* why_no_wire(const GpuTeam& team, const Params& params, const AskedWire& asked,
                        Wire wire, const char* no_multimem) noexcept {
  if (asked.wire != Wire::kAuto && asked.wire != wire) return kAsked;
  if (wire == Wire::kMultimem) return no_multimem;
  if (params.gpu_engine == GpuEngine::kHost) return "TERN_GPU_ENGINE is host";
  if (params.gpu_engine == GpuEngine::kStream) return "TERN_GPU_ENGINE is stream";
  if (team.parts() == 0) return team.no_parts();
  return wire != Wire::kLl128 || team.no_lines().empty() ? nullptr : team.no_lines().c_str();
}

Wires model_wires(const GpuTeam& team, const AskedWire& asked, const Operation& operation,
                  const Question& question, const char* no_multimem) noexcept {
  Wires wires;
  if (question.kernels && team.no_lines().empty() && asked.wire != Wire::kSimple &&
      asked.wire != Wire::kLl)
    wires.add(Wire::kLl128);
  if (no_multimem == nullptr &&
      (asked.wire == Wire::kMultimem || why_no_gain(team, operation, question.bytes) == nullptr))
    wires.add(Wire::kMultimem);
  return wires;
}

namespace {

/// kNone where a hint or a table asks for a wire of push.cuh in vain.
Way way_by_kernels(GpuTeam& team, const Params& params, const Placed& placed,
                   const Operation& operation, size_t bytes, const AskedWire& asked) {
  Way way;
  // `bytes` are the mean of blocks that differ: who knows all of them asks for the largest.
  if (operation.irregular) bytes = std::max(bytes, PushRun::largest(placed, operation));
  Way push = by_push(team, asked, placed, operation, bytes);
  if (push.engine == Way::kPush || (asked.brings_kernels() && asked.wire != Wire::kSimple))
    return push;
  way.program = program_for(team, placed, operation, &way);
  if (!way.failure.empty()) return way;
  way.denied = push.denied;
  if (way.program != nullptr) {
    way.engine = Way::kKernel;
    way.why = push.why;
    if (push.denied == nullptr && push.no_lines != kAsked) way.no_lines = push.no_lines;
    return way;
  }
  if (params.gpu_engine == GpuEngine::kKernel) return way;
  return by_stream(team, std::move(way));
}

/// But for the switch.
Way way_of_others(GpuTeam& team, const Params& params, const Placed& placed,
                  const Operation& operation, size_t bytes, const AskedWire& asked) {
  Way way;
  if (params.gpu_engine == GpuEngine::kHost) {
    way.why = "TERN_GPU_ENGINE is host";
    return way;
  }
  if (params.gpu_engine == GpuEngine::kStream) {
    way.why = "TERN_GPU_ENGINE is stream";
    return by_stream(team, std::move(way));
  }
  if (!prefers_kernels(team, params, bytes) && !asked.brings_kernels()) {
    way.why = "more than 1 MiB";
    return by_stream(team, std::move(way));
  }
  return way_by_kernels(team, params, placed, operation, bytes, asked);
}

}  // namespace

Way way_of(GpuTeam& team, const Params& params, const Placed& placed, const Operation& operation,
           const Question& question, const AskedWire& asked, const char* no_multimem) {
  const bool asks = asked.wire == Wire::kMultimem;
  const bool is_its_row = placed.is_row(MulticastRun::row_of(operation.collective));
  Way way;
  if (no_multimem == nullptr && is_its_row &&
      (asks || (asked.wire == Wire::kAuto && question.model_wires.has(Wire::kMultimem)))) {
    way.engine = Way::kMulticast;
    way.why = asks ? kAsked : "a switch reduces on the way";
  } else {
    const auto others = [&](const AskedWire& by) {
      return way_of_others(team, params, placed, operation, question.bytes, by);
    };
    way = others(asked);
    if (asked.brings_kernels() && way.taken() != asked.wire && way.failure.empty()) {
      const char* const why = way.denied != nullptr ? way.denied : way.why;
      way = others({});
      way.denied = why;
    }
    if (asks) way.denied = no_multimem != nullptr ? no_multimem : "another algorithm was chosen";
    if (asked.wire != Wire::kAuto && way.taken() != asked.wire && way.denied == nullptr)
      way.denied = way.why;
  }
  way.asked = asked;
  return way;
}

}  // namespace tern::coll
