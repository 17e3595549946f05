// SPDX-License-Identifier: Apache-2.0
// The files of --output: DIR/rank.N/stdout and DIR/rank.N/stderr.
#pragma once

#include <string>

#include "base/fd.hpp"
#include "tools/mpirun/sink.hpp"

namespace tern::mpirun {

// Makes the folders and the file, empty. Throws tern::Error naming what cannot be made.
[[nodiscard]] Fd open_output(const std::string& directory, int rank, const char* stream);

// The folders alone, for another launcher.
void make_output_folders(const std::string& directory, int ranks);

// One that mpirun itself writes, because lines are marked.
struct OutputFile {
  OutputFile(Loop& loop, Fd file) : fd(std::move(file)), sink(loop, fd.get()) {}
  Fd fd;
  Sink sink;
};

}  // namespace tern::mpirun
