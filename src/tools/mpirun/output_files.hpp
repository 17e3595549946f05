// SPDX-License-Identifier: Apache-2.0
// The files of --output: DIR/rank.N/stdout and DIR/rank.N/stderr.
#pragma once

#include <string>

#include "base/fd.hpp"
#include "tools/mpirun/sink.hpp"

namespace tern::mpirun {

// Also creates the directories. Throws tern::Error naming the failed path.
[[nodiscard]] Fd open_output(const std::string& directory, int rank, const char* stream);

void make_output_folders(const std::string& directory, int ranks);

struct OutputFile {
  OutputFile(Loop& loop, Fd file) : fd(std::move(file)), sink(loop, fd.get()) {}
  Fd fd;
  Sink sink;
};

}  // namespace tern::mpirun
