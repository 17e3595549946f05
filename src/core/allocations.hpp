// SPDX-License-Identifier: Apache-2.0
// Visits every allocation spanned by a call's data.
// Why: most data lies in one allocation, but types made of addresses (MPI_BOTTOM) or address
// differences span several.
// Cost: a few compares for one allocation. Threads: any. See: tests/gpu/mpi/several_allocations.cc.
#pragma once

#include "core/data.hpp"

namespace tern::cuda {
class Job;
}
namespace tern::core {

/// Orders the job after the application's writes to the data. `first` is the allocation of the
/// first byte.
void settle(cuda::Job& job, const Data& data, const cuda::Memory& first) noexcept;
void settle(cuda::Job& job, const Data& data) noexcept;

/// Two addresses in one buffer, on the host and a device or on two devices. Managed memory never
/// counts.
struct Apart {
  const void* one = nullptr;  // null: all data lies on one device or on the host
  const void* other = nullptr;
};
/// Examines about the first 256 blocks of the data.
[[nodiscard]] Apart places_apart(const Data& data) noexcept;

}  // namespace tern::core
