// SPDX-License-Identifier: Apache-2.0
// Which kernel reduces which type: signed and unsigned integers share sums, complex sums are sums
// of parts, bits are bytes. So 25 kernels cover 300 pairs of operation and type.
#pragma once

#include <cstdint>
#include <optional>

#include "base/number.hpp"
#include "cuda/kernels/arguments.hpp"

namespace tern::cuda {

enum class ReduceKernel : uint8_t {
#define TERN_NAME_ONLY(suffix, ...) suffix,
  TERN_REDUCE_KERNELS(TERN_NAME_ONLY)
#undef TERN_NAME_ONLY
      kCount
};

[[nodiscard]] const char* name_of(ReduceKernel kernel) noexcept;

struct ReducePlan {
  ReduceKernel kernel;
  int factor;  // kernel elements per element of the type
  int bytes;
};

/// Returns nothing if the operation is undefined on the type, is MPI_REPLACE or MPI_NO_OP (copies),
/// or if devices lack the type (long double, quadruple precision).
[[nodiscard]] std::optional<ReducePlan> plan_reduce(Reduction operation, Number number) noexcept;

[[nodiscard]] std::optional<MultimemReduction> plan_multimem(ReduceKernel kernel,
                                                             Reduction operation) noexcept;
/// Whether the result has the host's bits: switches round float sums in another order, and differ
/// in minima of NaNs or of two zeros.
[[nodiscard]] bool is_exact(MultimemReduction reduction) noexcept;

}  // namespace tern::cuda
