// SPDX-License-Identifier: Apache-2.0
// All that a job writes: the outputs of its ranks, to mpirun's own outputs or to the files of
// --output, and the messages of mpirun between the lines of the ranks.
// Lifetime: may not outlive the loop. Threads: the loop's.
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

  // A rank's ends; not valid: the rank writes to mpirun's own outputs.
  struct Ends {
    Fd output, error;
  };
  [[nodiscard]] Ends connect(int rank);

  void say(const std::string& text);
  // A message that is no error; silent with --quiet.
  void remark(const std::string& text);

  // All streams are closed, and mpirun's own outputs have taken everything.
  [[nodiscard]] bool all_written() const noexcept;

  Streams streams;
  Loop::Handler on_change;           // all_written() may be true now
  std::function<void(int)> on_lost;  // an output broke, with this errno

 private:
  [[nodiscard]] Fd connect(int rank, Sink& shown, const char* name);

  Loop& loop_;
  const Options& options_;
  Sink stdout_, stderr_;
  std::vector<std::unique_ptr<OutputFile>> files_;
};

}  // namespace tern::mpirun
