// SPDX-License-Identifier: Apache-2.0
// Starting ranks and judging their ends.
#include "tools/mpirun/job.hpp"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>

#include "base/error.hpp"
#include "mpi.h"
#include "tools/mpirun/debugger.hpp"
#include "tools/mpirun/parameters.hpp"
#include "tools/mpirun/spawn.hpp"
#include "tools/mpirun/standard_input.hpp"
#include "topo/cpus.hpp"

extern "C" char** environ;

namespace tern::mpirun {
namespace {

constexpr double kPatience = 0.5;       // seconds between SIGTERM and SIGKILL after a failure
constexpr double kUserPatience = 2.0;   // the same after the user's Ctrl-C
constexpr double kSilentGrace = 2.0;    // for the others when one left without MPI_Finalize
constexpr double kDrainPatience = 0.2;  // for outputs held open by processes that left the job

std::string make_id() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return strf("tern-%d-%llx", ::getpid(),
              static_cast<unsigned long long>(now.tv_sec) * 1'000'000'000ULL +
                  static_cast<unsigned long long>(now.tv_nsec));
}

// Two pipes and a process a rank: 1,024 descriptors would do for 300 ranks. Returns the old limit.
rlimit raise_open_files() {
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  const rlimit most{before.rlim_max, before.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &most);
  return before;
}

}  // namespace

Job::Job(Loop& loop, const Options& options, Places places, const sigset_t& mask)
    : loop_(loop),
      options_(options),
      mask_(mask),
      open_files_(raise_open_files()),
      host_(topo::host_name()),
      id_(make_id()),
      size_(options.ranks()),
      universe_(std::max(size_, topo::allowed_cpu_count())),
      guard_(size_),
      memory_fd_(make_memfd("tern-boot", boot::SharedJob::bytes_for(size_))),
      event_fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      shared_(boot::SharedJob::create(memory_fd_.get(),
                                      {size_, universe_, ::getpid(), event_fd_.get(), id_})),
      hang_(loop, shared_,
            {[this] { return ranks_now(); }, [this](const std::string& line) { say(line); }}),
      door_(loop,
            {id_, host_, size_, universe_, static_cast<int>(options.apps.size()), event_fd_.get()},
            shared_, guard_),
      environment_(environ, id_, size_, universe_),
      stdout_(loop, 1),
      stderr_(loop, 2),
      streams_(loop),
      places_(std::move(places)) {
  set_environment();
  stdout_.on_change = stderr_.on_change = [this] {
    if (stdout_.error() != 0 && !ending_) on_lost_output(stdout_.error());
    streams_.pause_or_resume();
    maybe_stop();
  };
  streams_.on_all_closed = [this] { maybe_stop(); };
}

Job::~Job() { reap(); }

void Job::set_environment() {
  for (const std::string& name : options_.unset) environment_.unset(name);
  door_.tell(environment_);
  door_.on_trouble = [this](const std::string& text) { say(text); };
  environment_.set(boot::kBootVariable, std::to_string(memory_fd_.get()));
  environment_.set(boot::kBootPidVariable, std::to_string(::getpid()));
  for (const auto& [name, value] : options_.environment) environment_.set(name, value);
}

void Job::say(const std::string& text) { stderr_.write(this, "mpirun: " + text + "\n"); }

void Job::remark(const std::string& text) {
  if (!options_.quiet) say(text);
}

void Job::start() {
  const std::vector<std::string> paths = find_programs(options_);
  loop_.watch(event_fd_.get(), EPOLLIN, [this] { on_event(); });
  guard_.keep_alive(loop_);
  if (options_.timeout_s > 0) loop_.after(options_.timeout_s, [this] { on_timeout(); });
  if (!places_.remark.empty()) remark(places_.remark);
  if (options_.input == Input::kAll && needs_feed(0)) feed_ = std::make_unique<Feed>(loop_, 0);
  make_debugger_table(size_);
  if (const auto hang = parameters_of(options_).hang; hang > 0)
    hang_.watch(static_cast<double>(hang) * 1e-6);
  if (const auto sets = process_sets_of(options_); !sets.empty())
    shared_.put(0, boot::kSetsKey, boot::write_sets(sets));
  int number = 0;
  for (std::size_t app = 0; app < options_.apps.size(); ++app)
    for (int i = 0; i < options_.apps[app].ranks && !ending_; ++i, ++number) {
      if (options_.report_bindings)
        say(binding_in_words(number, places_.cpus[static_cast<std::size_t>(number)],
                             places_.machine.cores));
      start_rank(number, static_cast<int>(app), paths[app]);
    }
  ranks_started();
}

void Job::ranks_started() {
  const bool stopped = being_debugged();
  if (!ending_) tell_debugger_started();
  if (stopped) send_all(SIGCONT);
  if (feed_ != nullptr) feed_->look();
  if (running_ == 0) all_ended();
}

Fd Job::connect_input(const Rank& rank) {
  const bool reads = options_.input == Input::kAll ||
                     (options_.input == Input::kRank && rank.number == options_.input_rank);
  if (!reads) return open_null();
  if (options_.input == Input::kRank && ::isatty(0) == 1) feed_ = std::make_unique<Feed>(loop_, 0);
  if (feed_ != nullptr) return feed_->add();
  return options_.input == Input::kAll ? open_again(0) : Fd();
}

Fd Job::connect_output(const Rank& rank, Sink& shown, const char* name) {
  const bool marked = options_.tag_output || options_.timestamp_output;
  Sink* sink = &shown;
  if (!options_.output_directory.empty()) {
    Fd file = open_output(options_.output_directory, rank.number, name);
    if (!marked) return file;
    sink = &files_.emplace_back(std::make_unique<OutputFile>(loop_, std::move(file)))->sink;
    sink->on_change = [this, sink] {
      if (sink->error() != 0 && !ending_) on_lost_output(sink->error());
    };
  }
  const std::string tag = options_.tag_output ? strf("[%d] ", rank.number) : std::string();
  return streams_.add(rank.number, *sink,
                      LineSplitter(tag, LineSplitter::kLongest, options_.timestamp_output));
}

// A job of one writes straight to mpirun's outputs: there is nobody to be kept apart from.
void Job::connect_outputs(Rank& rank, Fd* output, Fd* error) {
  if (size_ == 1 && !options_.tag_output && !options_.timestamp_output &&
      options_.output_directory.empty())
    return;
  *output = connect_output(rank, stdout_, "stdout");
  *error = connect_output(rank, stderr_, "stderr");
}

void Job::start_rank(int number, int app_index, const std::string& path) {
  ranks_.push_back(std::make_unique<Rank>());
  Rank& rank = *ranks_.back();
  rank.number = number;
  rank.app = &options_.apps[static_cast<std::size_t>(app_index)];
  shared_.set_app(number, app_index);
  Fd output, error;
  connect_outputs(rank, &output, &error);
  const Fd input = connect_input(rank);
  std::vector<char*> arguments;
  for (const std::string& word : rank.app->command)
    arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  Spawn request;
  request.path = path.c_str();
  request.arguments = arguments.data();
  request.environment = environment_.of_rank(number, rank.app->environment);
  request.directory = rank.app->directory.empty() ? nullptr : rank.app->directory.c_str();
  if (places_.machine.this_machine) request.cpus = &places_.cpus[static_cast<std::size_t>(number)];
  request.stop_at_start = being_debugged();
  if (input.valid()) request.input = input.get();
  if (output.valid()) request.output = output.get();
  if (error.valid()) request.error = error.get();
  request.inherited[0] = memory_fd_.get();
  request.inherited[1] = event_fd_.get();
  request.announce = guard_.pid_of(number);
  request.signal_mask = &mask_;
  request.open_files = &open_files_;
  const SpawnResult result = spawn(request);
  rank.pid = result.pid;
  if (result.error != 0) {
    rank.ended = true;
    fail(result.error == ENOENT ? 127 : 126,
         strf("cannot start rank %d on host %s: %s: %s%s", number, host_.c_str(), result.step,
              std::strerror(result.error),
              result.error == ENOEXEC ? " (does a script lack its #! line?)" : ""));
    return;
  }
  show_to_debugger(number, host_, rank.app->directory, path, rank.pid);
  watch(rank);
}

void Job::watch(Rank& rank) {
  ++running_;
  rank.pidfd = Fd(static_cast<int>(::syscall(SYS_pidfd_open, rank.pid, 0)));
  if (!rank.pidfd.valid())
    throw Error(MPI_ERR_OTHER, strf("mpirun cannot watch rank %d: %s; see ulimit -n", rank.number,
                                    std::strerror(errno)));
  loop_.watch(rank.pidfd.get(), EPOLLIN, [this, &rank] { on_exit(rank); });
}

std::string Job::name_of(const Rank& rank) const {
  return strf("rank %d on host %s (pid %d, %s)", rank.number, host_.c_str(), rank.pid,
              rank.app->command[0].c_str());
}

std::string Job::fate_of(int others) {
  if (others == 0) return "No other rank was running.";
  return others == 1 ? "The other rank is being ended."
                     : strf("The other %d ranks are being ended.", others);
}

void Job::on_exit(Rank& rank) {
  siginfo_t how{};
  // WNOWAIT: it stays a zombie, so that its number and its group's stay taken.
  if (::waitid(P_PID, static_cast<id_t>(rank.pid), &how, WEXITED | WNOHANG | WNOWAIT) != 0 ||
      how.si_pid == 0)
    return;
  loop_.forget(rank.pidfd.get());
  rank.pidfd.reset();
  rank.ended = true;
  --running_;
  streams_.drain(rank.number);  // its last words come before ours
  on_event();
  judge(rank, how);
  if (running_ == 0) all_ended();
}

void Job::judge(const Rank& rank, const siginfo_t& how) {
  if (ending_) return;
  const boot::RankState state = shared_.state(rank.number);
  if (how.si_code != CLD_EXITED) {
    fail(128 + how.si_status,
         strf("%s was killed by signal %d (%s%s). %s", name_of(rank).c_str(), how.si_status,
              ::strsignal(how.si_status), how.si_code == CLD_DUMPED ? ", core dumped" : "",
              fate_of(running_).c_str()));
  } else if (how.si_status != 0 && state == boot::RankState::kFinalised) {
    // It has done its part in MPI: the others may end in peace.
    if (!failed_) exit_code_ = how.si_status;
    failed_ = true;
    say(strf("%s ended with exit code %d after MPI_Finalize.", name_of(rank).c_str(),
             how.si_status));
  } else if (how.si_status != 0) {
    fail(how.si_status,
         strf("%s ended with exit code %d%s. %s", name_of(rank).c_str(), how.si_status,
              state == boot::RankState::kInitialised ? " without MPI_Finalize" : "",
              fate_of(running_).c_str()));
  } else if (state == boot::RankState::kInitialised) {
    judge_silent_end(rank);
  } else if (state == boot::RankState::kStarted && running_ > 0) {
    look_for_waiting_starters(rank.number);
  }
}

// A program without MPI may end when it likes, unless others wait for it: in MPI_Init, or to make a
// communicator of a session.
void Job::look_for_waiting_starters(int absent) {
  loop_.after(kSilentGrace, [this, absent] {
    if (running_ == 0 || ending_) return;
    for (const auto& rank : ranks_)
      if (!rank->ended &&
          (shared_.in_fence(rank->number) || shared_.awaited(rank->number) == absent))
        return fail(1, strf("rank %d has ended and never called MPI_Init, where rank %d waits for "
                            "it. %s",
                            absent, rank->number, fate_of(running_).c_str()));
    look_for_waiting_starters(absent);
  });
}

// Exit code 0, but the others may wait for it for ever.
void Job::judge_silent_end(const Rank& rank) {
  ++silent_ends_;
  if (running_ == 0) return;  // all_ended() speaks
  if (silent_ends_ == 1)
    remark(
        strf("%s ended with exit code 0, but without MPI_Finalize. Ranks that still run in two "
             "seconds will be ended, as they may wait for it.",
             name_of(rank).c_str()));
  loop_.after(kSilentGrace, [this] {
    if (running_ > 0 && !ending_)
      fail(1, strf("%d rank%s still ran after another had left without MPI_Finalize. %s", running_,
                   running_ == 1 ? "" : "s", fate_of(running_).c_str()));
  });
}

// Every rank has ended by itself, and some of them in the middle of MPI.
void Job::judge_silent_ends() {
  if (silent_ends_ == 0 || failed_) return;
  const std::string who = size_ == 1 ? "the rank" : strf("%d of %d ranks", silent_ends_, size_);
  fail(1,
       strf("%s ended with exit code 0, but without MPI_Finalize, which every program that has "
            "called MPI_Init calls before it ends: it may have stopped half-way (exit, a missing "
            "call, an exception that was swallowed).",
            who.c_str()));
}

void Job::on_event() {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto got = ::read(event_fd_.get(), &count, sizeof count);
  const boot::SharedJob::Abort abort = shared_.abort();
  if (abort.rank < 0 || abort.rank >= static_cast<int>(ranks_.size()) || ending_) return;
  const int code = (abort.code & 0xff) != 0 ? abort.code & 0xff : 1;
  const int others = running_ - (ranks_[static_cast<std::size_t>(abort.rank)]->ended ? 0 : 1);
  fail(code, strf("%s aborted the job with code %d%s%s. %s",
                  name_of(*ranks_[static_cast<std::size_t>(abort.rank)]).c_str(), abort.code,
                  abort.text.empty() ? "" : ": ", abort.text.c_str(), fate_of(others).c_str()));
}

void Job::fail(int exit_code, const std::string& text) {
  say(text);
  if (being_debugged()) tell_debugger_aborting(text);
  if (!failed_) exit_code_ = exit_code;
  failed_ = true;
  end_ranks(SIGTERM, kPatience);
}

std::vector<Hang::Rank> Job::ranks_now() const {
  std::vector<Hang::Rank> all;
  for (const auto& rank : ranks_) all.push_back({rank->pid, rank->ended});
  return all;
}

void Job::on_timeout() {
  if (running_ == 0 || ending_) return;
  hang_.report(strf("--timeout after %g seconds", options_.timeout_s), [this] {
    if (running_ == 0 || ending_) return;
    fail(124, strf("the job still ran after %g seconds (--timeout): %d of %d ranks. They are being "
                   "ended.",
                   options_.timeout_s, running_, size_));
  });
}

// A reader that went away (mpirun ... | head) is no failure to talk about; a full disk is.
void Job::on_lost_output(int error) {
  if (error == EPIPE) return interrupt(SIGPIPE);
  fail(1, strf("cannot write the ranks' output: %s. The ranks are being ended.",
               std::strerror(error)));
}

void Job::send_all(int signal) noexcept {
  for (const auto& rank : ranks_)
    if (rank->pid > 0) ::kill(-rank->pid, signal);
}

void Job::continue_all() {
  send_all(SIGCONT);
  if (feed_ != nullptr) feed_->look();
}

void Job::end_ranks(int signal, double patience) {
  ending_ = true;
  send_all(signal);
  send_all(SIGCONT);
  loop_.after(patience, [this] { send_all(SIGKILL); });
}

void Job::interrupt(int signal) {
  if (!failed_) exit_code_ = 128 + signal;
  failed_ = true;
  if (interrupted_) return send_all(SIGKILL);
  interrupted_ = true;
  end_ranks(signal == SIGPIPE ? SIGTERM : signal, kUserPatience);
}

void Job::all_ended() {
  judge_silent_ends();
  send_all(SIGKILL);  // what the ranks have started and left behind
  if (!streams_.all_closed()) loop_.after(kDrainPatience, [this] { streams_.close_all(); });
  maybe_stop();
}

void Job::maybe_stop() {
  if (running_ == 0 && streams_.all_closed() && stdout_.empty() && stderr_.empty()) loop_.stop();
}

void Job::reap() {
  send_all(SIGKILL);
  for (const auto& rank : ranks_) {
    if (rank->pid > 0) ::waitpid(rank->pid, nullptr, 0);
    *guard_.pid_of(rank->number) = 0;
  }
}

}  // namespace tern::mpirun
