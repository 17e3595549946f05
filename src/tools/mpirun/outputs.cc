// SPDX-License-Identifier: Apache-2.0
#include "tools/mpirun/outputs.hpp"

#include "base/error.hpp"

namespace tern::mpirun {

Outputs::Outputs(Loop& loop, Console& console, const Options& options, int world)
    : streams(loop), loop_(loop), console_(console), options_(options), world_(world) {}

Fd Outputs::connect(int rank, Sink& shown, const char* name) {
  const bool marked = options_.tag_output || options_.timestamp_output;
  Sink* sink = &shown;
  if (!options_.output_directory.empty()) {
    Fd file = open_output(options_.output_directory, rank, name);
    if (!marked) return file;
    sink = &files_.emplace_back(std::make_unique<OutputFile>(loop_, std::move(file)))->sink;
    sink->on_change = [this, sink] {
      if (sink->error() != 0) on_lost(sink->error());
    };
  }
  std::string tag;
  if (options_.tag_output) tag = world_ == 0 ? strf("[%d] ", rank) : strf("[%d.%d] ", world_, rank);
  return streams.add(rank, *sink,
                     LineSplitter(tag, LineSplitter::kLongest, options_.timestamp_output));
}

// A single rank writes directly to mpirun's outputs, because no other lines can mix in. Worlds that
// it starts pass whole lines.
Outputs::Ends Outputs::connect(int rank) {
  if (world_ == 0 && options_.ranks() == 1 && !options_.tag_output && !options_.timestamp_output &&
      options_.output_directory.empty())
    return {};
  Ends ends;
  ends.output = connect(rank, console_.output, "stdout");
  ends.error = connect(rank, console_.error, "stderr");
  return ends;
}

void Outputs::remark(const std::string& text) {
  if (!options_.quiet) say(text);
}

}  // namespace tern::mpirun
