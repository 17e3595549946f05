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
#include "coll/gpu/push_run.hpp"
#include "coll/gpu/team.hpp"

namespace tern::coll {

struct Way {
  enum Engine : uint8_t { kNone, kStream, kKernel, kPush, kMulticast, kExchange };
  Engine engine = kNone;
  PushRun::Wire wire = PushRun::kWords;         // kPush
  const Programs::Uploaded* program = nullptr;  // kKernel
  const char* why = nullptr;                    // kNone: why no engine does it
  const char* no_lines = nullptr;               // kKernel, or where they are asked for: why not
  const char* no_multimem = nullptr;            // where it is asked for
  std::string failure;                          // instead, where a program cannot be brought there
  bool shares = false;                          // a GPU, where a stream would have done it else
  [[nodiscard]] std::string in_words() const;
};

/// Before the row is known: whether kernels come first.
[[nodiscard]] bool prefers_kernels(const GpuTeam& team, const Params& params,
                                   size_t bytes) noexcept;
/// Whether ordinary calls are worth it: before it is known who shares a GPU.
[[nodiscard]] bool takes_ordinary(const Params& params, const Operation& operation,
                                  size_t bytes) noexcept;
/// Why switches do not do it, or are not worth it, before the row is known; null: they do.
/// `any_order`: the bits need not be the host's.
[[nodiscard]] const char* why_not_multicast(const GpuTeam& team, const Params& params,
                                            const Operation& operation, size_t bytes,
                                            bool any_order) noexcept;
/// Before the row is known: whether kernels may push lines of LL128.
[[nodiscard]] bool may_push_lines(const GpuTeam& team, const Params& params) noexcept;
/// All ranks have made the same calls, captured or not. A program is brought to the device.
/// `no_multimem`: why_not_multicast().
[[nodiscard]] Way way_of(GpuTeam& team, const Params& params, const Placed& placed,
                         const Operation& operation, size_t bytes, CUstream stream,
                         const char* no_multimem);

}  // namespace tern::coll
