// SPDX-License-Identifier: Apache-2.0
#include "tools/mpirun/outputs.hpp"

#include "base/error.hpp"

namespace tern::mpirun {

Outputs::Outputs(Loop& loop, const Options& options)
    : streams(loop), loop_(loop), options_(options), stdout_(loop, 1), stderr_(loop, 2) {
  stdout_.on_change = stderr_.on_change = [this] {
    if (stdout_.error() != 0) on_lost(stdout_.error());
    streams.pause_or_resume();
    on_change();
  };
  streams.on_all_closed = [this] { on_change(); };
}

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
  const std::string tag = options_.tag_output ? strf("[%d] ", rank) : std::string();
  return streams.add(rank, *sink,
                     LineSplitter(tag, LineSplitter::kLongest, options_.timestamp_output));
}

// A single rank writes directly to mpirun's outputs, because no other lines can mix in.
Outputs::Ends Outputs::connect(int rank) {
  if (options_.ranks() == 1 && !options_.tag_output && !options_.timestamp_output &&
      options_.output_directory.empty())
    return {};
  Ends ends;
  ends.output = connect(rank, stdout_, "stdout");
  ends.error = connect(rank, stderr_, "stderr");
  return ends;
}

void Outputs::say(const std::string& text) { stderr_.write(this, "mpirun: " + text + "\n"); }

void Outputs::remark(const std::string& text) {
  if (!options_.quiet) say(text);
}

bool Outputs::all_written() const noexcept {
  return streams.all_closed() && stdout_.empty() && stderr_.empty();
}

}  // namespace tern::mpirun
