// SPDX-License-Identifier: Apache-2.0
// Way: the engine and wire that put an operation into a stream; the same on all ranks.
#pragma once

#include <string>

#include "base/params.hpp"
#include "coll/engine/operation.hpp"
#include "coll/gpu/engine.hpp"
#include "coll/gpu/push_run.hpp"
#include "coll/gpu/team.hpp"
#include "coll/select/select.hpp"

namespace tern::coll {

struct AskedWire {
  enum By : uint8_t { kNothing, kHint, kParameter, kTable };
  Wire wire = Wire::kAuto;
  By by = kNothing;
  /// The requested wire overrides the default of copies for large data.
  [[nodiscard]] bool brings_kernels() const noexcept {
    return (by == kHint || by == kTable) && wire != Wire::kMultimem;
  }
};

struct Way {
  using enum Engine;
  Engine engine = kNone;
  Wire wire = Wire::kLl;
  Programs::Stored* program = nullptr;
  const char* why = nullptr;          // kNone: the reason against all engines
  const char* no_push[kPushes] = {};  // kKernel: the reasons against kPushWires
  AskedWire asked;                    // the requested wire, if not used, and the reason
  const char* denied = nullptr;
  Choice choice{nullptr, Choice::Why::kModel};
  const char* why_passed = nullptr;  // a table line skipped for its wire
  std::string failure;               // set instead if a program has no memory
  bool shares = false;               // ranks share a GPU, which rules out the stream engine
  [[nodiscard]] Wire taken() const noexcept;
  [[nodiscard]] std::string in_words(const std::string& asker) const;
};

/// prefers_kernels() decides before the algorithm is chosen.
[[nodiscard]] bool prefers_kernels(const GpuTeam& team, const Params& params,
                                   size_t bytes) noexcept;
/// takes_ordinary() decides before ranks know each other's GPUs.
[[nodiscard]] bool takes_ordinary(const Params& params, const Operation& operation,
                                  size_t bytes) noexcept;
[[nodiscard]] AskedWire asked_wire(const Params& params, const Forced* hints) noexcept;
/// `any_order`: the bits may differ from the host's. `any_size`: ignore whether the switch gains.
/// Called before the algorithm is chosen.
[[nodiscard]] const char* why_not_multicast(const GpuTeam& team, const AskedWire& asked,
                                            const Operation& operation, size_t bytes,
                                            bool any_order, bool any_size) noexcept;
/// why_no_wire() holds for any algorithm and table. `no_multimem` comes from why_not_multicast().
[[nodiscard]] const char* why_no_wire(const GpuTeam& team, const Params& params,
                                      const AskedWire& asked, Wire wire,
                                      const char* no_multimem) noexcept;
[[nodiscard]] std::string reason_in_words(const char* why, const AskedWire& asked,
                                          const std::string& asker);
[[nodiscard]] Wires model_wires(const GpuTeam& team, const Params& params, const AskedWire& asked,
                                const Operation& operation, const Question& question,
                                const char* no_multimem) noexcept;
/// way_of() requires the same calls on all ranks, captured or not, and may reserve device memory
/// for a program.
[[nodiscard]] Way way_of(GpuTeam& team, const Params& params, const Placed& placed,
                         const Operation& operation, const Question& question,
                         const AskedWire& asked, const char* no_multimem);

}  // namespace tern::coll
