// SPDX-License-Identifier: Apache-2.0
// Which kernel reduces which type: signed and unsigned numbers share one where their sums are the
// same, complex sums are sums, bits are bytes.
// Why: 25 kernels do the work of 300 pairs of operation and type.
// See: cuda/kernels/arguments.hpp (the kernels), tests/unit/cuda/reduce_kernels_test.cc.
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

/// "tern_reduce_f32".
[[nodiscard]] const char* name_of(ReduceKernel kernel) noexcept;

struct ReducePlan {
  ReduceKernel kernel;
  int factor;  // elements of the kernel in one element of the type
  int bytes;   // from one element of the type to the next
};

/// Nothing where the operation is not defined on the type, where it is MPI_REPLACE or MPI_NO_OP
/// (copies, not reductions), or where devices lack the type: long double and quadruple precision.
[[nodiscard]] std::optional<ReducePlan> plan_reduce(Reduction operation, Number number) noexcept;

/// The same by a switch, of the kernel that a plan names; nothing where switches do not do it.
[[nodiscard]] std::optional<MultimemReduction> plan_multimem(ReduceKernel kernel,
                                                             Reduction operation) noexcept;
/// Whether it has the host's bits: of floats sums are rounded in another order, and minima differ
/// where a NaN or two zeros are compared.
[[nodiscard]] bool is_exact(MultimemReduction reduction) noexcept;

}  // namespace tern::cuda
