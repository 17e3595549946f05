// SPDX-License-Identifier: Apache-2.0
// Way: which engine puts an operation into a stream, and by which wire, alike on all ranks.
// Why: one place for what decides it: parameters, size, the row, and who shares a GPU.
// Who may wait where: on a GPU of its own a rank's streams and kernels may wait for other ranks';
// on one that ranks share by MPS, kernels whose blocks fit beside one another may; on one that they
// share without MPS nothing may, and there is no team. See: coll/gpu/README.md.
#pragma once

#include <string>

#include "base/params.hpp"
#include "coll/engine/operation.hpp"
#include "coll/gpu/engine.hpp"
#include "coll/gpu/push_run.hpp"
#include "coll/gpu/team.hpp"
#include "coll/select/select.hpp"

namespace tern::coll {

/// The wire that a call is asked to take, and by what; kAuto: by nothing.
struct AskedWire {
  enum By : uint8_t { kNothing, kHint, kParameter, kTable };
  Wire wire = Wire::kAuto;
  By by = kNothing;
  /// Of a size, too, for which no parameter puts kernels first.
  [[nodiscard]] bool brings_kernels() const noexcept {
    return (by == kHint || by == kTable) && wire != Wire::kMultimem;
  }
};

struct Way {
  using enum Engine;
  Engine engine = kNone;
  Wire wire = Wire::kLl;                        // kPush
  Programs::Stored* program = nullptr;          // kKernel
  const char* why = nullptr;                    // kNone: why no engine does it
  const char* no_push[kPushes] = {};            // kKernel: the reasons against kPushWires
  AskedWire asked;                              // where it is not taken:
  const char* denied = nullptr;                 // why not
  Choice choice{nullptr, Choice::Why::kModel};  // of the row
  const char* why_passed = nullptr;             // a line of the table, for its wire
  std::string failure;                          // instead, where a program has no memory
  bool shares = false;                          // a GPU, where a stream would have done it else
  /// kAuto: the driver's copies.
  [[nodiscard]] Wire taken() const noexcept;
  /// `asker`: what asks for the wire, in words.
  [[nodiscard]] std::string in_words(const std::string& asker) const;
};

/// Before the row is known: whether kernels come first.
[[nodiscard]] bool prefers_kernels(const GpuTeam& team, const Params& params,
                                   size_t bytes) noexcept;
/// Whether ordinary calls are worth it: before it is known who shares a GPU.
[[nodiscard]] bool takes_ordinary(const Params& params, const Operation& operation,
                                  size_t bytes) noexcept;
/// By a hint, or by a parameter.
[[nodiscard]] AskedWire asked_wire(const Params& params, const Forced* hints) noexcept;
/// Why switches do not do it, before the row is known; null: they can. `any_order`: the bits need
/// not be the host's. `any_size`: whether or not it is worth it.
[[nodiscard]] const char* why_not_multicast(const GpuTeam& team, const AskedWire& asked,
                                            const Operation& operation, size_t bytes,
                                            bool any_order, bool any_size) noexcept;
/// The reason against a wire before the row is known, whatever a table says, or null.
/// `no_multimem`: why_not_multicast().
[[nodiscard]] const char* why_no_wire(const GpuTeam& team, const Params& params,
                                      const AskedWire& asked, Wire wire,
                                      const char* no_multimem) noexcept;
/// Such a reason in words. `asker`: what asks for `asked`.
[[nodiscard]] std::string reason_in_words(const char* why, const AskedWire& asked,
                                          const std::string& asker);
/// Of Question: those that the model takes. `question`: what is known of kernels and bytes.
[[nodiscard]] Wires model_wires(const GpuTeam& team, const AskedWire& asked,
                                const Operation& operation, const Question& question,
                                const char* no_multimem) noexcept;
/// All ranks have made the same calls, captured or not. A program gets its place on the device.
/// `question`: with the model's wires. `no_multimem`: why_not_multicast().
[[nodiscard]] Way way_of(GpuTeam& team, const Params& params, const Placed& placed,
                         const Operation& operation, const Question& question,
                         const AskedWire& asked, const char* no_multimem);

}  // namespace tern::coll
