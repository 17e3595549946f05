// SPDX-License-Identifier: Apache-2.0
// Recording: the memory in which a world's ranks record their calls (TERN_TRACE, TERN_PROFILE),
// and the timer that drains the records to the trace file.
// Why: mpirun outlives a killed rank, so its last records reach the file.
// Lifetime: Job. Threads: the loop's.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "base/params.hpp"
#include "tools/mpirun/loop.hpp"
#include "tools/mpirun/meeting.hpp"
#include "tools/mpirun/options.hpp"
#include "trace/drain.hpp"
#include "trace/page.hpp"

namespace tern::mpirun {

[[nodiscard]] inline bool wants_recording(const Params& params) {
  return !params.trace.empty() || !params.profile.empty();
}

class Recording {
 public:
  /// `file` may be invalid: a profile alone. `say` prints a remark. Throws Error.
  Recording(Loop& loop, trace::TraceFile& file, const Params& params, const JobFacts& facts,
            std::function<void(const std::string&)> say);
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;
  ~Recording();

  [[nodiscard]] int descriptor() const noexcept { return memory_.get(); }
  /// The value of trace::kAreaVariable.
  [[nodiscard]] std::string words() const;
  void add_rank(int world, int rank, const App& app);
  /// The rank's process has ended; `words` as in the line "end".
  void end_rank(int rank, const std::string& words, bool killed);
  /// The page of all ranks' profiles; empty if no profile is wanted. Also writes the JSON file.
  [[nodiscard]] std::string page();

 private:
  void run();
  void complain();

  Loop& loop_;
  trace::TraceFile& file_;
  const JobFacts& facts_;
  std::function<void(const std::string&)> say_;
  [[nodiscard]] trace::Area area(int rank) const noexcept;

  const std::string profile_;
  std::string program_;
  trace::AreaSizes sizes_;
  Fd memory_;
  Mapping map_;
  std::vector<std::unique_ptr<trace::Drain>> drains_;  // by rank
};

}  // namespace tern::mpirun
