// SPDX-License-Identifier: Apache-2.0
// Asks ranks for their awaited ranks and prints the answers.
#include "tools/mpirun/hang.hpp"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "base/clock.hpp"
#include "base/error.hpp"

namespace tern::mpirun {
namespace {

constexpr double kStartPatience = 30;
constexpr double kRound = 0.02;   // seconds between checks for answers
constexpr int kLeastRounds = 3;   // arrivals in flight at the question are handled by then
constexpr int kRanksInFull = 64;  // more lines would hide the verdict

// A rank that sleeps on descriptors wakes every half second. Before Linux 5.16 a question wakes no
// rank, and a sleep ends after a second.
int rounds_of_asking() noexcept { return futex_takes_several() ? 30 : 60; }

std::string activity_of(pid_t pid) {
  std::FILE* file = std::fopen(strf("/proc/%d/stat", pid).c_str(), "re");
  if (file == nullptr) return "gone";
  char state = '?';
  unsigned long user = 0, system = 0;
  const int got =
      std::fscanf(file, "%*d (%*[^)]) %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &state,
                  &user, &system);
  std::fclose(file);
  if (got != 3) return "in an unknown state";
  const char* words = state == 'R'                   ? "running"
                      : state == 'S'                 ? "asleep"
                      : state == 'D'                 ? "in the kernel"
                      : state == 'T' || state == 't' ? "stopped"
                      : state == 'Z'                 ? "ending"
                                                     : "in an unknown state";
  const double seconds =
      static_cast<double>(user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
  return strf("%s, %.1f s of processor time", words, seconds);
}

bool read_memory(pid_t pid, std::uint64_t address, void* to, std::size_t bytes) {
  const iovec local{to, bytes}, remote{reinterpret_cast<void*>(address), bytes};
  return ::process_vm_readv(pid, &local, 1, &remote, 1, 0) == static_cast<ssize_t>(bytes);
}

}  // namespace

Hang::Hang(Loop& loop, boot::SharedJob& shared, HangJob job)
    : loop_(loop),
      shared_(shared),
      job_(std::move(job)),
      start_(loop, shared, kStartPatience, job_.say) {}

void Hang::report(const std::string& reason, const std::function<void()>& then) {
  before_.clear();
  for (int rank = 0; rank < static_cast<int>(job_.ranks().size()); ++rank)
    before_.push_back({shared_.questions.waiting_since(rank), shared_.in_fence(rank)});
  shared_.questions.ask();
  collect(rounds_of_asking(), reason, then);
}

bool Hang::is_steady(int rank) const {
  if (static_cast<std::size_t>(rank) >= before_.size()) return false;
  const Before& before = before_[static_cast<std::size_t>(rank)];
  if (shared_.in_fence(rank)) return before.in_fence;
  return before.waiting_since != 0 && before.waiting_since == shared_.questions.waiting_since(rank);
}

bool Hang::all_answered() const {
  const std::vector<Rank> ranks = job_.ranks();
  std::string text;
  for (std::size_t i = 0; i < ranks.size(); ++i)
    if (!ranks[i].ended && !shared_.in_fence(static_cast<int>(i)) &&
        !shared_.questions.answered(static_cast<int>(i), &text))
      return false;
  return true;
}

void Hang::collect(int rounds, const std::string& reason, const std::function<void()>& then) {
  if (rounds > 0 && (rounds > rounds_of_asking() - kLeastRounds || !all_answered())) {
    loop_.after(kRound, this, [this, rounds, reason, then] { collect(rounds - 1, reason, then); });
    return;
  }
  print(reason);
  if (then) then();
}

// Reads the rank's memory, because ranks do not record their last call elsewhere.
std::string Hang::last_call(int rank, pid_t pid) const {
  std::uint64_t address = shared_.questions.call_address(rank);
  char name[64] = {};
  if (address == 0 || !read_memory(pid, address, &address, sizeof address) || address == 0 ||
      !read_memory(pid, address, name, sizeof name - 1))
    return {};
  return std::strncmp(name, "MPI_", 4) == 0 ? name : std::string();
}

std::string Hang::fence_of(int rank, const std::vector<Rank>& all, WaitNode* node) const {
  WaitReport report;
  for (std::size_t other = 0; other < all.size(); ++other)
    if (!shared_.in_fence(static_cast<int>(other))) report.wait_for(static_cast<int>(other));
  if (is_steady(rank)) node->state = WaitNode::State::kWaiting;
  std::string missing;
  for (std::size_t i = 0; i < report.ranks.size() && i < 8; ++i)
    missing += strf("%s%d", i == 0 ? "" : ", ", report.ranks[i]);
  const std::string call = last_call(rank, all[static_cast<std::size_t>(rank)].pid);
  node->reports.push_back(report);
  return strf("%s waits for all ranks; missing: %s%s",
              call.empty() ? "MPI_Init or MPI_Finalize" : call.c_str(), missing.c_str(),
              report.ranks.size() > 8 ? ", ..." : "");
}

std::string Hang::line_of(int rank, const Rank& known, WaitNode* node) const {
  if (known.ended) {
    node->state = WaitNode::State::kEnded;
    return "has ended";
  }
  if (shared_.in_fence(rank)) return fence_of(rank, job_.ranks(), node);
  std::string text;
  if (shared_.questions.answered(rank, &text)) node->reports = decode_wait_reports(text);
  if (node->reports.empty()) {
    const std::string call = last_call(rank, known.pid);
    const char* told = call.empty() ? "outside MPI" : "outside MPI; the last call was ";
    return told + call + " (" + activity_of(known.pid) + ")";
  }
  const bool steady = is_steady(rank);
  if (steady) node->state = WaitNode::State::kWaiting;
  std::string line = steady ? "" : "made progress since the question; now ";
  for (const WaitReport& report : node->reports) {
    if (&report != &node->reports.front()) line += "; ";
    if (!report.call.empty()) line += strf("%s, %.1f s: ", report.call.c_str(), report.seconds);
    line += report.words;
  }
  return line;
}

void Hang::print(const std::string& reason) {
  const std::vector<Rank> ranks = job_.ranks();
  std::vector<WaitNode> nodes(ranks.size());
  job_.say(strf("waiting ranks%s (%s):", job_.of_world.c_str(), reason.c_str()));
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const int rank = static_cast<int>(i);
    const std::string line = line_of(rank, ranks[i], &nodes[i]);
    if (rank < kRanksInFull) job_.say(strf("  rank %d: %s", rank, line.c_str()));
  }
  if (ranks.size() > kRanksInFull)
    job_.say(strf("  and %zu more ranks", ranks.size() - kRanksInFull));
  const std::string verdict = in_words(judge_waiting(nodes), nodes);
  if (!verdict.empty()) job_.say("  " + verdict);
}

bool Hang::all_wait(std::int64_t* newest) const {
  const std::vector<Rank> ranks = job_.ranks();
  bool all_wait = !ranks.empty();
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const int rank = static_cast<int>(i);
    if (ranks[i].ended || shared_.in_fence(rank)) continue;
    const std::int64_t since = shared_.questions.waiting_since(rank);
    all_wait &= since > 0;
    *newest = std::max(*newest, since);
  }
  return all_wait;
}

}  // namespace tern::mpirun
