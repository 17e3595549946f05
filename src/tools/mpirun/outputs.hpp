// SPDX-License-Identifier: Apache-2.0
// All output of a world: the ranks' streams, to mpirun's outputs or the files of --output, and
// mpirun's messages between lines. All worlds share one Console.
// Lifetime: ends before console and loop. Threads: the loop's.
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

// mpirun's standard outputs.
struct Console {
  explicit Console(Loop& loop) : output(loop, 1), error(loop, 2) {}
  void say(const std::string& text) { error.write(this, "mpirun: " + text + "\n"); }
  [[nodiscard]] bool all_written() const noexcept { return output.empty() && error.empty(); }

  Sink output, error;
};

class Outputs {
 public:
  // `world` 0: of the command line.
  Outputs(Loop& loop, Console& console, const Options& options, int world);
  Outputs(const Outputs&) = delete;
  Outputs& operator=(const Outputs&) = delete;

  // A rank's ends; invalid: the rank writes to mpirun's outputs.
  struct Ends {
    Fd output, error;
  };
  [[nodiscard]] Ends connect(int rank);

  void say(const std::string& text) { console_.say(text); }
  void remark(const std::string& text);

  Streams streams;
  std::function<void(int)> on_lost;

 private:
  [[nodiscard]] Fd connect(int rank, Sink& shown, const char* name);

  Loop& loop_;
  Console& console_;
  const Options& options_;
  const int world_;
  std::vector<std::unique_ptr<OutputFile>> files_;
};

}  // namespace tern::mpirun
