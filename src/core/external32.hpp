// SPDX-License-Identifier: Apache-2.0
// external32: the standard's portable data format: big-endian, IEEE, fixed sizes (MPI-5.0 section
// 14.5.2).
#pragma once

#include "core/datatype.hpp"

namespace tern::core {

[[nodiscard]] MPI_Count external32_size(const Datatype& type) noexcept;

/// Packing never allocates or fails. A value too large for the external form (a long of 2^40) loses
/// its upper bytes.
void pack_external32(const Datatype& type, const void* buf, MPI_Count count, void* out) noexcept;
void unpack_external32(const Datatype& type, void* buf, MPI_Count count, const void* in) noexcept;

}  // namespace tern::core
