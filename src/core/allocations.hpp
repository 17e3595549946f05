// SPDX-License-Identifier: Apache-2.0
// Visits every allocation spanned by a call's data.
// Why: types made of addresses (MPI_BOTTOM) or address differences span several.
#pragma once

#include "core/data.hpp"

namespace tern::cuda {
class Job;
}
namespace tern::core {

/// settle() orders the job after the application's writes. `first` is the first byte's allocation.
void settle(cuda::Job& job, const Data& data, const cuda::Memory& first) noexcept;
void settle(cuda::Job& job, const Data& data) noexcept;

/// Apart holds two addresses in one buffer, on host and device or on two devices; managed memory
/// never counts.
struct Apart {
  const void* one = nullptr;
  const void* other = nullptr;
};
/// The search examines about 256 blocks.
[[nodiscard]] Apart places_apart(const Data& data) noexcept;

}  // namespace tern::core
