// SPDX-License-Identifier: Apache-2.0
// Recording: the memory for the records of a world's ranks (TERN_TRACE, TERN_PROFILE), and the
// timer of the drain to the trace file. Why: mpirun outlives a killed rank, whose last records
// reach the file. Lifetime: Job. Threads: the loop's.
#pragma once

#include <csignal>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "tools/mpirun/loop.hpp"
#include "tools/mpirun/meeting.hpp"
#include "tools/mpirun/options.hpp"
#include "trace/claim.hpp"
#include "trace/drain.hpp"
#include "trace/page.hpp"

namespace tern::mpirun {

/// The wishes for all worlds.
struct Wanted {
  trace::TraceFile trace;  // invalid: a profile alone
  bool profile = false;
  std::string profile_file;  // as JSON; spawned worlds write FILE.world.NUMBER
  uint64_t buffer = 0;       // bytes of a thread's ring
};

class Recording {
 public:
  /// `profile` may be without a file. `say` prints a remark. Throws Error.
  Recording(Loop& loop, Wanted& wanted, trace::Claim profile, const JobFacts& facts,
            std::function<void(const std::string&)> say);
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;
  ~Recording();

  [[nodiscard]] int descriptor() const noexcept { return memory_.get(); }
  /// The value of trace::kAreaVariable.
  [[nodiscard]] std::string words() const;
  void add_rank(int world, int rank, const App& app);
  /// The rank's process has ended.
  void end_rank(int rank, const siginfo_t& how, boot::RankState state);
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

  const bool wants_profile_;
  const trace::Claim profile_;
  std::string program_;
  trace::AreaSizes sizes_;
  Fd memory_;
  Mapping map_;
  std::vector<std::unique_ptr<trace::Drain>> drains_;  // by rank
};

/// Null if nothing is wanted; also, with a remark, without memory for records: the job goes on.
/// Throws Error if the first world's profile cannot be written.
[[nodiscard]] std::unique_ptr<Recording> make_recording(
    Loop& loop, Wanted& wanted, int world, const JobFacts& facts,
    const std::function<void(const std::string&)>& say);

}  // namespace tern::mpirun
