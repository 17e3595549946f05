// SPDX-License-Identifier: Apache-2.0
// All output of a job: the ranks' streams, to mpirun's outputs or the files of --output, and
// mpirun's messages between lines.
// Lifetime: ends before the loop. Threads: the loop's.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "tools/mpirun/loop.hpp"
#include "tools/mpirun/options.hpp"
#include "tools/mpirun/output_files.hpp"
#include "tools/mpirun/sink.hpp"
#include "tools/mpirun/streams.hpp"

namespace tern::mpirun {

class Outputs {
 public:
  Outputs(Loop& loop, const Options& options);
  Outputs(const Outputs&) = delete;
  Outputs& operator=(const Outputs&) = delete;

  // A rank's ends; invalid: the rank writes to mpirun's outputs.
  struct Ends {
    Fd output, error;
  };
  [[nodiscard]] Ends connect(int rank);

  void say(const std::string& text);
  void remark(const std::string& text);

  [[nodiscard]] bool all_written() const noexcept;

  Streams streams;
  Loop::Handler on_change;
  std::function<void(int)> on_lost;

 private:
  [[nodiscard]] Fd connect(int rank, Sink& shown, const char* name);

  Loop& loop_;
  const Options& options_;
  Sink stdout_, stderr_;
  std::vector<std::unique_ptr<OutputFile>> files_;
};

}  // namespace tern::mpirun
