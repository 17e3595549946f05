// SPDX-License-Identifier: Apache-2.0
// Ranges: MPI calls as NVTX ranges, in the domain "MPI" of a profiler.
// Protocol: a profiler sets NVTX_INJECTION64_PATH to the path of a library. The function
// InitializeInjectionNvtx2 of this library asks for tables of function pointers, and fills the
// tables. Source of numbers and layouts: NVIDIA's NVTX 3 (nvtxTypes.h, nvToolsExt.h).
// Lifetime: the process. Threads: any, after start_ranges(); a range begins and ends in one thread.
#pragma once

#include <string>

namespace tern::trace {

inline constexpr const char* kProfilerVariable = "NVTX_INJECTION64_PATH";

/// Loads the profiler's library. Returns an error sentence, or an empty text.
[[nodiscard]] std::string start_ranges();
/// Without effect before start_ranges().
void begin_range(const char* name) noexcept;
void end_range() noexcept;

}  // namespace tern::trace
