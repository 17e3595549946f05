// SPDX-License-Identifier: Apache-2.0
// Starting ranks, and what they are connected to.
#include "tools/mpirun/job.hpp"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>

#include "base/error.hpp"
#include "base/process_id.hpp"
#include "mpi.h"
#include "tools/mpirun/debugger.hpp"
#include "tools/mpirun/not_started.hpp"
#include "tools/mpirun/parameters.hpp"
#include "tools/mpirun/spawn.hpp"
#include "tools/mpirun/standard_input.hpp"
#include "topo/cpus.hpp"

extern "C" char** environ;

namespace tern::mpirun {
namespace {

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

std::array<int, 2> make_pair() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    throw Error(MPI_ERR_OTHER,
                strf("mpirun cannot make a pair of sockets for its ranks: %s; see ulimit -n",
                     std::strerror(errno)));
  return ends;
}

}  // namespace

Job::RankSocket::RankSocket() : RankSocket(make_pair()) {}
Job::RankSocket::RankSocket(std::array<int, 2> ends)
    : keeper(MailSocket(Fd(ends[0]))), inherited(ends[1]) {}

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
      shared_(
          boot::SharedJob::create(memory_fd_.get(), {size_, universe_, ::getpid(), event_fd_.get(),
                                                     id_, keeper_.inherited.get(), proc_domain()})),
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

// Programs that read stderr compare it: the placement is said to a person, or on request.
bool Job::wants_placement() const {
  return options_.report_bindings || ::isatty(STDERR_FILENO) == 1 ||
         parameters_of(options_).explains_in_words();
}

void Job::start() {
  const std::vector<std::string> paths = find_programs(options_);
  loop_.watch(event_fd_.get(), EPOLLIN, [this] { on_event(); });
  loop_.watch(keeper_.keeper.descriptor(), EPOLLIN, [this] { keeper_.keeper.serve(); });
  guard_.keep_alive(loop_);
  if (options_.timeout_s > 0) loop_.after(options_.timeout_s, [this] { on_timeout(); });
  if (!places_.remark.empty() && wants_placement()) remark(places_.remark);
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
      keeper_.keeper.serve();  // the first ranks fill the short queue
    }
  ranks_started();
}

void Job::ranks_started() {
  const bool stopped = being_debugged();
  if (!ending_) tell_debugger_started();
  if (stopped) send_all(SIGCONT);
  if (feed_ != nullptr) feed_->look();
  hang_.watch_start();
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

// A job of one writes straight to mpirun's outputs: there is no other output to keep apart.
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
  request.inherited[2] = keeper_.inherited.get();
  request.announce = guard_.pid_of(number);
  request.signal_mask = &mask_;
  request.open_files = &open_files_;
  const SpawnResult result = spawn(request);
  rank.pid = result.pid;
  if (result.error != 0) {
    rank.ended = true;
    fail(result.error == ENOENT ? 127 : 126,
         strf("cannot start rank %d on host %s: %s: %s%s", number, host_.c_str(), result.step,
              std::strerror(result.error), cause_of_refusal(path, result.error).c_str()));
    return;
  }
  show_to_debugger(number, host_, rank.app->directory, path, rank.pid);
  watch(rank);
}

void Job::watch(Rank& rank) {
  ++running_;
  rank.pidfd = Fd(static_cast<int>(::syscall(SYS_pidfd_open, rank.pid, 0)));
  if (!rank.pidfd.valid() && (errno == ENOSYS || errno == EPERM)) return look_again(rank);
  if (!rank.pidfd.valid())
    throw Error(MPI_ERR_OTHER, strf("mpirun cannot watch rank %d: %s; see ulimit -n", rank.number,
                                    std::strerror(errno)));
  loop_.watch(rank.pidfd.get(), EPOLLIN, [this, &rank] { on_exit(rank); });
}

std::vector<Hang::Rank> Job::ranks_now() const {
  std::vector<Hang::Rank> all;
  for (const auto& rank : ranks_) all.push_back({rank->pid, rank->ended});
  return all;
}

void Job::send_all(int signal) noexcept {
  for (const auto& rank : ranks_)
    if (rank->pid > 0) ::kill(-rank->pid, signal);
}

void Job::continue_all() {
  send_all(SIGCONT);
  if (feed_ != nullptr) feed_->look();
}

}  // namespace tern::mpirun
