// SPDX-License-Identifier: Apache-2.0
// Judges the ends of ranks, and ends the remaining ranks.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/ended.hpp"
#include "base/error.hpp"
#include "mpi.h"
#include "tools/mpirun/debugger.hpp"
#include "tools/mpirun/job.hpp"
#include "tools/mpirun/not_started.hpp"
#include "tools/mpirun/parameters.hpp"
#include "tools/mpirun/stuck.hpp"

namespace tern::mpirun {
namespace {

constexpr double kTimeout = 0.5;      // seconds between SIGTERM and SIGKILL after a failure
constexpr double kSilentGrace = 2.0;  // before ending the others after an exit without MPI_Finalize
constexpr double kDrainPatience = 0.2;  // for outputs held open by processes that left the job
constexpr double kDeathPatience = 5.0;  // from SIGKILL to leaving a rank behind
constexpr double kTracerRound = 0.1;    // between checks whether a tracer has released a dead rank

}  // namespace

std::string Job::name_of(const Rank& rank) const {
  return strf("rank %d%s on host %s (pid %d, %s)", rank.number, words_of_world().c_str(),
              facts_.host.c_str(), rank.pid, rank.app->command[0].c_str());
}

std::string Job::fate(int without) {
  const int others = all_.running_with(*this) - without;
  if (others == 0) return "No other rank was running.";
  return others == 1 ? "The other rank is being ended."
                     : strf("The other %d ranks are being ended.", others);
}

void Job::on_exit(Rank& rank) {
  siginfo_t how{};
  // WNOWAIT keeps the zombie, so that its pid and process group stay reserved.
  if (::waitid(P_PID, static_cast<id_t>(rank.pid), &how, WEXITED | WNOHANG | WNOWAIT) != 0 ||
      how.si_pid == 0)
    return look_again(rank);
  loop_.forget(rank.pidfd.get());
  rank.pidfd.reset();
  // Prints the rank's last output first.
  outputs.streams.drain(rank.number);
  rank.ended = true;
  --running_;
  on_event();
  if (recording_ != nullptr)
    recording_->end_rank(rank.number, how, meeting_.shared.state(rank.number));
  judge(rank, how);
  if (running_ == 0) all_ended();
}

// Polls by a timer: the descriptor of a dead rank stays ready until the rank's tracer has reaped
// it, and a kernel may lack pidfds (a filter refuses pidfd_open).
void Job::look_again(Rank& rank) {
  loop_.forget(rank.pidfd.get());
  loop_.after(kTracerRound, this, [this, &rank] { on_exit(rank); });
}

void Job::judge(Rank& rank, const siginfo_t& how) {
  if (ending_) return;
  const boot::RankState state = meeting_.shared.state(rank.number);
  if (survive(rank, how)) return;
  if (how.si_code != CLD_EXITED) {
    fail(128 + how.si_status,
         strf("%s was killed by signal %d (%s%s%s). %s", name_of(rank).c_str(), how.si_status,
              ::strsignal(how.si_status), limit_of(how.si_status),
              how.si_code == CLD_DUMPED ? ", core dumped" : "", fate().c_str()));
  } else if (how.si_status != 0 && state == boot::RankState::kFinalised) {
    // The rank has finished MPI, so the others may end normally.
    all_.note_code(*this, how.si_status);
    outputs.say(strf("%s ended with exit code %d after MPI_Finalize.", name_of(rank).c_str(),
                     how.si_status));
  } else if (how.si_status != 0) {
    fail(how.si_status,
         strf("%s ended with exit code %d%s. %s", name_of(rank).c_str(), how.si_status,
              state == boot::RankState::kInitialised ? " without MPI_Finalize"
              : how.si_status == 127 ? cause_of_127(rank.app->command.front()).c_str()
                                     : "",
              fate().c_str()));
  } else if (state == boot::RankState::kInitialised) {
    judge_silent_end(rank);
  } else if (running_ > 0) {
    look_for_awaited_ends();
  }
}

// With fault tolerance, the ranks are told by a question, which wakes sleepers, and look around.
// Programs with sessions have no failure detector. Others enter one at the end of MPI_Init; a rank
// that is still on its way there finds the dead rank in the detector's memory.
bool Job::survive(Rank& rank, const siginfo_t& how) {
  std::string detector;
  if (parameters_of(options_).ft == 0 || meeting_.shared.sessions() ||
      !meeting_.shared.get(rank.number, boot::kDetectorKey, &detector) ||
      meeting_.shared.state(rank.number) != boot::RankState::kInitialised)
    return false;
  all_.wake_ranks();
  const bool exited = how.si_code == CLD_EXITED;
  const std::string end =
      exited ? strf("ended with exit code %d without MPI_Finalize", how.si_status)
             : strf("was killed by signal %d (%s)", how.si_status, ::strsignal(how.si_status));
  outputs.say(strf("%s %s. The job goes on (--with-ft).", name_of(rank).c_str(), end.c_str()));
  rank.death = exited ? std::max(how.si_status, 1) : 128 + how.si_status;
  rank.survivors = running_;
  return true;
}

// A rank may end without MPI, or after its last MPI program, unless another rank waits in a fence
// or in the creation of a session's communicator.
void Job::look_for_awaited_ends() {
  if (looks_for_awaited_) return;
  looks_for_awaited_ = true;
  loop_.after(kSilentGrace, this, [this] {
    looks_for_awaited_ = false;
    if (running_ == 0 || ending_) return;
    for (const auto& rank : ranks_)
      if (const Rank* const absent = ended_that_keeps(*rank); absent != nullptr)
        return fail(1, strf("rank %d%s has ended %s, where rank %d waits for it. %s",
                            absent->number, words_of_world().c_str(),
                            meeting_.shared.state(absent->number) == boot::RankState::kStarted
                                ? "and never called MPI_Init"
                                : "and runs no further MPI program",
                            rank->number, fate().c_str()));
    look_for_awaited_ends();
  });
}

const Job::Rank* Job::ended_that_keeps(const Rank& waiting) const {
  if (waiting.ended) return nullptr;
  const int awaited = meeting_.shared.awaited(waiting.number);
  const bool for_all = meeting_.shared.in_fence(waiting.number) && meeting_.shared.fence_waits();
  for (const auto& rank : ranks_)
    if (rank->ended && (for_all || rank->number == awaited)) return rank.get();
  return nullptr;
}

// A rank with exit code 0 before MPI_Finalize may leave other ranks waiting forever.
void Job::judge_silent_end(const Rank& rank) {
  ++silent_ends_;
  if (running_ == 0) return;
  if (silent_ends_ == 1)
    outputs.remark(
        strf("%s ended with exit code 0, but without MPI_Finalize. Other ranks may wait for this "
             "rank and will be ended in two seconds.",
             name_of(rank).c_str()));
  loop_.after(kSilentGrace, this, [this] {
    if (running_ > 0 && !ending_)
      fail(1, strf("%d rank%s still ran after another had left without MPI_Finalize. %s", running_,
                   running_ == 1 ? "" : "s", fate().c_str()));
  });
}

void Job::judge_silent_ends() {
  if (silent_ends_ == 0 || all_.has_code()) return;
  const std::string who =
      facts_.size == 1 ? "the rank" : strf("%d of %d ranks", silent_ends_, facts_.size);
  fail(1, strf("%s ended with exit code 0, but without MPI_Finalize: the program may be incomplete "
               "(exit(), a missing call, or a swallowed exception).",
               who.c_str()));
}

void Job::on_event() {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto got = ::read(meeting_.event.get(), &count, sizeof count);
  const boot::SharedJob::Abort abort = meeting_.shared.abort();
  if (abort.rank < 0 || abort.rank >= static_cast<int>(ranks_.size()) || ending_) return;
  const int code = (abort.code & 0xff) != 0 ? abort.code & 0xff : 1;
  const int runs = ranks_[static_cast<std::size_t>(abort.rank)]->ended ? 0 : 1;
  fail(code, strf("%s aborted the job with code %d%s%s. %s",
                  name_of(*ranks_[static_cast<std::size_t>(abort.rank)]).c_str(), abort.code,
                  abort.text.empty() ? "" : ": ", abort.text.c_str(), fate(runs).c_str()));
}

// The text is of use before the meeting only.
bool Job::tell_parent(const std::string& text) noexcept {
  for (int rank = 0; rank < facts_.size; ++rank)
    if (meeting_.shared.worlds.has_met(rank)) return false;
  return parent_ && parent_->caller->tell(text);
}

void Job::fail(int exit_code, const std::string& text) {
  if (tell_parent(text)) return end_ranks(SIGTERM, kTimeout);
  outputs.say(text);
  if (being_debugged()) tell_debugger_aborting(text);
  all_.end_connected(*this, exit_code);
}

void Job::end_ranks(int signal, double timeout) {
  ending_ = true;
  send_all(signal);
  send_all(SIGCONT);
  loop_.after(timeout, this, [this] { send_all(SIGKILL); });
  loop_.after(timeout + kDeathPatience, this, [this] { leave_behind(); });
}

// Neither SIGKILL nor mpirun can end these ranks, but the user can.
void Job::leave_behind() {
  if (running_ == 0 || left_behind_) return;
  left_behind_ = true;
  for (const auto& rank : ranks_)
    if (!rank->ended)
      outputs.say(strf(
          "%s does not end after SIGKILL: the process is %s. mpirun leaves the process behind.",
          name_of(*rank).c_str(), why_not_ended(rank->pid).c_str()));
  outputs.streams.close_all();
  loop_.after(kDrainPatience, this, [this] { all_.stop_if_over(); });
  all_.look();
}

/// Ranks tell the mpiruns of worlds that they have started (MPI_Comm_spawn).
bool Job::awaits_worlds() {
  for (const auto& rank : ranks_)
    for (std::string pid;
         meeting_.shared.get(rank->number, boot::world_key(rank->ended_worlds), &pid);
         ++rank->ended_worlds)
      if (!has_ended(std::atoi(pid.c_str()))) return true;
  return false;
}

void Job::all_ended() {
  constexpr double kRound = 0.005;  // seconds
  if (!ending_ && awaits_worlds()) return loop_.after(kRound, this, [this] { all_ended(); });
  judge_silent_ends();
  if (recording_ != nullptr) all_.console.error.write(this, recording_->page());
  const auto& first =
      *std::max_element(ranks_.begin(), ranks_.end(),
                        [](const auto& a, const auto& b) { return a->survivors < b->survivors; });
  const auto has_died = [](const auto& rank) { return rank->death != 0; };
  if (!parent_ && std::all_of(ranks_.begin(), ranks_.end(), has_died))
    all_.note_code(*this, first->death);
  (void)tell_parent(strf("the ranks of \"%s\" have ended without MPI_Init",
                         options_.apps.front().command.front().c_str()));
  send_all(SIGKILL);
  if (!outputs.streams.all_closed())
    loop_.after(kDrainPatience, this, [this] { outputs.streams.close_all(); });
  all_.look();
}

bool Job::is_over() {
  const bool over = running_ == 0 && (ending_ || !awaits_worlds());
  return (over || left_behind_) && outputs.streams.all_closed();
}

void Job::reap() {
  send_all(SIGKILL);
  for (const auto& rank : ranks_) {
    const bool waits = rank->ended || !left_behind_;
    if (rank->pid > 0) ::waitpid(rank->pid, nullptr, waits ? 0 : WNOHANG);
    if (rank->guarded != nullptr) *rank->guarded = 0;
  }
}

}  // namespace tern::mpirun
