// SPDX-License-Identifier: Apache-2.0
// Page: the report of a job's profiles, as text for a terminal and as JSON.
// Waits: a rank measures the wait before a message came (late sender), before the receiver matched
// (late receiver), and before it got a lock. All ranks leave a collective
// call together. The rank with the least time inside came last; the further time of the other ranks
// is their wait for this rank.
// Lifetime: the Areas'. Threads: a single caller.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "trace/area.hpp"
#include "trace/profile.hpp"

namespace tern::trace {

/// A wait state, of all ranks together.
struct WaitState {
  enum class Kind : uint8_t {
    kLateSender,
    kLateReceiver,
    kLock,
    kLateRank,
    kEarlyEnd
  } kind = Kind::kLateSender;
  std::string function, site;
  double seconds = 0, share = 0;  // of all ranks' time
  int cause = -1;                 // world rank; -1: several
};

class Page {
 public:
  explicit Page(std::string program) : program_(std::move(program)) {}
  /// A rank that never recorded adds nothing.
  void add(int rank, const Area& area);
  [[nodiscard]] bool empty() const noexcept { return ranks_.empty(); }
  [[nodiscard]] std::string text() const;
  [[nodiscard]] std::string json() const;
  /// The largest first, down to a hundredth of the time.
  [[nodiscard]] std::vector<WaitState> waits() const;

 private:
  using SiteKey = std::tuple<std::string, std::string, std::string>;  // function, site, members
  struct Site {
    std::string comm;  // name of one with these members
    RecordKind kind = RecordKind::kCall;
    int64_t calls = 0, bytes = 0, ns = 0, most_ns = 0, failed = 0;
    std::array<uint64_t, kSizeClasses> sizes{};
    std::map<int, int64_t> by_rank;                    // ns
    std::array<std::map<int, int64_t>, 3> waited_for;  // by the first kinds of waits: by cause, ns
    [[nodiscard]] int64_t waited(WaitState::Kind what) const;
  };
  struct RankTime {
    int rank = 0;
    int64_t run_ns = 0, mpi_ns = 0;
  };
  using SiteRow = std::pair<const SiteKey, Site>;

  [[nodiscard]] std::vector<const SiteRow*> by_time() const;
  /// "solve (solve.c:12) < main (main.c:40)"
  [[nodiscard]] std::string short_site(const std::string& site) const;
  [[nodiscard]] double all_seconds() const noexcept;
  void add_late_ranks(std::vector<WaitState>* found) const;
  [[nodiscard]] std::string share_lines() const;
  [[nodiscard]] std::string site_lines() const;
  [[nodiscard]] std::vector<std::pair<std::string, Site>> by_words() const;
  [[nodiscard]] std::string lost_lines() const;
  [[nodiscard]] std::string wait_lines() const;
  [[nodiscard]] std::string unexplained_line(const std::vector<WaitState>& found) const;

  std::string program_;
  uint64_t lost_lines_ = 0;  // of definitions
  std::vector<RankTime> ranks_;
  std::map<SiteKey, Site> sites_;
  std::map<std::string, std::string> sources_;  // of frames
};

}  // namespace tern::trace
