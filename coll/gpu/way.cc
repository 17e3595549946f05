// SPDX-License-Identifier: Apache-2.0
#include "coll/gpu/way.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "coll/gpu/kernel_run.hpp"
#include "coll/gpu/multicast_run.hpp"

namespace tern::coll {
namespace {

// kMostByKernel: largest vector or block for kernels; modelled, not measured.
constexpr size_t kMostByKernel = 1 << 20;
// From 3 ranks on, a switch saves a third of a ring's traffic.
constexpr int kLeastToMulticast = 3;

constexpr char kAsked[] = "a wire is requested";

bool excludes(const AskedWire& asked, const PushFacts& wire) noexcept {
  return asked.wire == Wire::kSimple ||
         (push_index(asked.wire) >= 0 && push_index(asked.wire) < push_index(wire.wire));
}

const PushLimit& limit_of(const PushFacts& wire, bool two_hops) noexcept {
  return two_hops ? wire.two_hops : wire.one_hop;
}

const char* why_not_of(const GpuTeam& team, const PushFacts& wire) noexcept {
  return wire.lines && !team.no_lines().empty() ? team.no_lines().c_str() : nullptr;
}

// With few thread blocks in flight, copies are faster; modelled, not measured.
const char* why_too_few(const GpuTeam& team, const PushFacts& wire) noexcept {
  constexpr int kLeast = 4;
  return wire.flags && team.kernels.parts(kMostPushParts) < kLeast
             ? "fewer than 4 thread blocks are free"
             : nullptr;
}

const char* why_no_push(const GpuTeam& team, const AskedWire& asked, const PushFacts& wire,
                        const Placed& placed, const Operation& operation, size_t bytes) noexcept {
  if (excludes(asked, wire)) return kAsked;
  if (operation.collective == Collective::kBarrier && wire.no_barrier != nullptr)
    return wire.no_barrier;
  const bool two_hops = placed.has(kTwoHops);
  const PushLimit& limit = limit_of(wire, two_hops);
  if (asked.wire != wire.wire) {
    if (bytes > limit.bytes) return limit.beyond;
    if (wire.flags && rooted(operation.collective) && !two_hops)
      return "bulk saves nothing at a root";
    if (const char* why = why_too_few(team, wire); why != nullptr) return why;
  }
  const char* const why = PushRun::why_not(team, placed, operation, wire.wire);
  return why != nullptr ? why : why_not_of(team, wire);
}

/// by_push() picks the requested wire, else the first possible wire.
Way by_push(const GpuTeam& team, const AskedWire& asked, const Placed& placed,
            const Operation& operation, size_t bytes) {
  Way way;
  const PushFacts* taken = nullptr;
  for (size_t i = 0; i < kPushFacts.size(); ++i) {
    const PushFacts& wire = kPushFacts[i];
    const char* const why = why_no_push(team, asked, wire, placed, operation, bytes);
    way.no_push[i] = why;
    if (why == nullptr && (taken == nullptr || wire.wire == asked.wire)) taken = &wire;
    if (i > 0 && wire.wire == asked.wire) way.denied = why;
    if (taken != nullptr && asked.wire == Wire::kAuto) break;
  }
  way.why = way.no_push[0];
  if (taken == nullptr) return way;
  way.engine = Way::kPush;
  way.wire = taken->wire;
  way.why = taken->wire == asked.wire ? kAsked : limit_of(*taken, placed.has(kTwoHops)).within;
  return way;
}

Programs::Stored* program_for(GpuTeam& team, const Placed& placed, const Operation& operation,
                              Way* way) {
  way->why = KernelRun::why_not(team, placed, operation);
  return way->why != nullptr ? nullptr : team.programs.store(placed, &way->failure);
}

const char* why_no_gain(const GpuTeam& team, const Operation& operation, size_t bytes) noexcept {
  size_t small = 0;
  for (const auto& facts : kPushFacts)
    if (!facts.flags) small = std::max(small, limit_of(facts, splits(operation.collective)).bytes);
  if (!reduces(operation.collective)) return "copy engines are as fast when nothing is reduced";
  if (bytes <= small) return "the data is small";
  return team.memory.ranks() < kLeastToMulticast ? "with two ranks a switch saves nothing"
                                                 : nullptr;
}

Way by_stream(const GpuTeam& team, Way way) noexcept {
  way.shares = team.kernels.share_gpu();
  way.engine = way.shares ? Way::kNone : Way::kStream;
  return way;
}

}  // namespace

Wire Way::taken() const noexcept {
  if (engine == kMulticast) return Wire::kMultimem;
  if (engine == kKernel || engine == kExchange) return Wire::kSimple;
  if (engine != kPush) return Wire::kAuto;
  return wire;
}

std::string reason_in_words(const char* why, const AskedWire& asked, const std::string& asker) {
  return why == kAsked ? asker + " asks for " + name_of(asked.wire) : why;
}

std::string Way::in_words(const std::string& asker) const {
  std::string words = why != nullptr ? reason_in_words(why, asked, asker) : failure;
  if (engine == kKernel) words = strf("no %s: %s", kPushFacts[0].name, words.c_str());
  const int refused = engine == kPush ? push_index(wire) : kPushes;
  for (int i = 1; i < refused; ++i)
    if (no_push[i] != nullptr && (why == nullptr || std::strcmp(why, no_push[i]) != 0))
      words += strf("; no %s: %s", kPushFacts[static_cast<size_t>(i)].name,
                    reason_in_words(no_push[i], asked, asker).c_str());
  if (denied != nullptr) {
    const std::string demand = asker + " asks for " + name_of(asked.wire) + ", but: ";
    words = denied == why ? demand + words : words + "; " + demand + denied;
  }
  if (engine == kKernel || !shares) return words;
  return "ranks share a GPU through MPS, where only kernels may wait, and no kernel fits this "
         "call: " +
         words;
}

bool prefers_kernels(const GpuTeam& team, const Params& params, size_t bytes) noexcept {
  if (params.gpu_engine != GpuEngine::kAuto) return params.gpu_engine == GpuEngine::kKernel;
  return team.kernels.share_gpu() || bytes <= kMostByKernel;
}

// takes_ordinary() leaves large data to the kernels of coll/flat/on_device.hpp, which read in
// place.
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
  // Each call runs these tests, so cheap tests come first.
  if (team.multicast() == nullptr) return team.no_multicast().c_str();
  if (team.kernels.parts() == 0) return team.kernels.why_none();
  if (asked.wire != Wire::kAuto && asked.wire != Wire::kMultimem) return kAsked;
  if (asked.wire == Wire::kAuto && !any_size)
    if (const char* why = why_no_gain(team, operation, bytes); why != nullptr) return why;
  if (const char* why = MulticastRun::why_not(operation); why != nullptr) return why;
  return any_order || MulticastRun::is_exact(operation)
             ? nullptr
             : "the result's bits would differ from the host's";
}

const char* why_no_wire(const GpuTeam& team, const Params& params, const AskedWire& asked,
                        Wire wire, const char* no_multimem) noexcept {
  if (asked.wire != Wire::kAuto && asked.wire != wire) return kAsked;
  if (wire == Wire::kMultimem) return no_multimem;
  if (params.gpu_engine == GpuEngine::kHost) return "TERN_GPU_ENGINE is host";
  if (params.gpu_engine == GpuEngine::kStream) return "TERN_GPU_ENGINE is stream";
  if (team.kernels.parts() == 0) return team.kernels.why_none();
  return push_index(wire) < 0 ? nullptr : why_not_of(team, facts_of(wire));
}

Wires model_wires(const GpuTeam& team, const Params& params, const AskedWire& asked,
                  const Operation& operation, const Question& question,
                  const char* no_multimem) noexcept {
  Wires wires;
  const bool any_size = prefers_kernels(team, params, 0);
  for (const PushFacts& wire : kPushFacts)
    if ((wire.flags ? any_size && PushRun::has_all_blocks(operation) : question.kernels) &&
        why_not_of(team, wire) == nullptr && why_too_few(team, wire) == nullptr &&
        !excludes(asked, wire))
      wires.add(wire.wire);
  if (no_multimem == nullptr &&
      (asked.wire == Wire::kMultimem || why_no_gain(team, operation, question.bytes) == nullptr))
    wires.add(Wire::kMultimem);
  return wires;
}

namespace {

/// way_by_kernels() returns kNone if a hint or table requests an impossible push wire.
Way way_by_kernels(GpuTeam& team, const Params& params, const Placed& placed,
                   const Operation& operation, size_t bytes, const AskedWire& asked) {
  Way way;
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
    for (int i = 1; i < kPushes && push.denied == nullptr; ++i)
      if (push.no_push[i] != kAsked) way.no_push[i] = push.no_push[i];
    return way;
  }
  if (params.gpu_engine == GpuEngine::kKernel) return way;
  return by_stream(team, std::move(way));
}

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
    way = by_push(team, asked, placed, operation, bytes);
    if (way.engine == Way::kPush && facts_of(way.wire).flags) return way;
    way.why = "more than 1 MiB";
    return by_stream(team, std::move(way));
  }
  return way_by_kernels(team, params, placed, operation, bytes, asked);
}

}  // namespace

Way way_of(GpuTeam& team, const Params& params, const Placed& placed, const Operation& operation,
           const Question& question, const AskedWire& asked, const char* no_multimem) {
  const bool asks = asked.wire == Wire::kMultimem;
  const bool is_its_row = placed.has(kBySwitch);
  Way way;
  if (no_multimem == nullptr && is_its_row &&
      (asks || (asked.wire == Wire::kAuto && question.model_wires.has(Wire::kMultimem)))) {
    way.engine = Way::kMulticast;
    way.why = asks ? kAsked : "the switch reduces in flight";
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
