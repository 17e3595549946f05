// SPDX-License-Identifier: Apache-2.0
// The allocations that data reaches. Most data lies in that of its first byte; types made of
// addresses (MPI_BOTTOM), or of differences of addresses, reach over several.
// Why: what is asked, or done, for an allocation has to be for each.
// Cost: a few compares where there is one.
// Threads: any. See: tests/gpu/mpi/several_allocations.cc.
#pragma once

#include "core/data.hpp"

namespace tern::cuda {
class Job;
}
namespace tern::core {

/// Orders the job behind what the application has written to the data, which begins in `first`.
void settle(cuda::Job& job, const Data& data, const cuda::Memory& first) noexcept;
/// The same, where that is not known yet.
void settle(cuda::Job& job, const Data& data) noexcept;

/// Two places of one buffer of which one is the host's and one a device's, or which are two
/// devices'. Managed memory is everyone's.
struct Apart {
  const void* one = nullptr;  // null: there are no such places
  const void* other = nullptr;
};
/// Looks at no more than the first 256 blocks of the data.
[[nodiscard]] Apart places_apart(const Data& data) noexcept;

}  // namespace tern::core
