// SPDX-License-Identifier: Apache-2.0
// The allocations that data reaches. Most data lies in that of its first byte; types made of
// addresses (MPI_BOTTOM), or of differences of addresses, reach over several.
// Why: what is asked, or done, for an allocation has to be for each.
// Cost: a few compares where there is one.
// Threads: any. See: tests/gpu/mpi/several_allocations.cc.
#pragma once

#include "core/device_copy.hpp"

namespace tern::core {

/// Orders the job behind what the application has written to the data, which begins in `first`.
void settle(cuda::Job& job, const Data& data, const cuda::Memory& first) noexcept;
/// The same, where that is not known yet.
void settle(cuda::Job& job, const Data& data) noexcept;

}  // namespace tern::core
