// SPDX-License-Identifier: Apache-2.0
// Objects that the program has not freed when MPI ends.
#pragma once

#include "core/process.hpp"

namespace tern::io {
class File;
}

namespace tern::api {

/// Ends the transfers of files still open, and names the files.
void end_files(const core::Process& process) noexcept;
/// With TERN_CHECK=leaks: reports leaks by kind and creating call. Call before the last fence.
void report_leaks(const core::Process& process) noexcept;

/// With TERN_CHECK=leaks: reports requests of a file before MPI_File_close.
void report_requests(const core::Process& process, const io::File& file) noexcept;

}  // namespace tern::api
