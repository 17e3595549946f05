// SPDX-License-Identifier: Apache-2.0
#include "tools/mpirun/job.hpp"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/digest.hpp"
#include "base/error.hpp"
#include "base/learnt_file.hpp"
#include "mpi.h"
#include "tools/mpirun/debugger.hpp"
#include "tools/mpirun/not_started.hpp"
#include "tools/mpirun/parameters.hpp"
#include "tools/mpirun/spawn.hpp"
#include "tools/mpirun/standard_input.hpp"
#include "topo/cpus.hpp"

namespace tern::mpirun {
namespace {

// Scripts compare stderr, so placement is printed only on a terminal or on request.
bool wants_placement(const Options& options) {
  return options.report_bindings || ::isatty(STDERR_FILENO) == 1 ||
         parameters_of(options).explains_in_words();
}

}  // namespace

Job::Job(Surroundings& all, int number, Options options, Places places,
         const char* const* inherited, std::optional<Parent> parent)
    : outputs(all.loop, all.console, options_, number),
      all_(all),
      loop_(all.loop),
      number_(number),
      options_(std::move(options)),
      parent_(std::move(parent)),
      facts_{strf("tern-%d-%s", ::getpid(), random_name().c_str()), topo::host_name(),
             options_.ranks(),
             std::max(options_.ranks(),
                      options_.universe > 0 ? options_.universe : topo::allowed_cpu_count()),
             static_cast<int>(options_.apps.size())},
      meeting_(facts_),
      hang_(all.loop, meeting_.shared,
            {[this] { return ranks_now(); }, [this](const std::string& line) { outputs.say(line); },
             words_of_world()}),
      environment_(inherited, facts_),
      places_(std::move(places)) {
  recording_ = make_recording(loop_, all_.wanted, number_, facts_,
                              [this](const std::string& text) { outputs.say(text); });
  if (number_ == 0) pmix_ = std::make_unique<PmixServer>(all.loop, facts_, meeting_, all.guard);
  set_environment();
  outputs.on_lost = [this](int error) { all_.on_lost_output(error); };
  outputs.streams.on_all_closed = [this] { all_.look(); };
}

Job::~Job() {
  reap();
  loop_.forget_timers(this);
  loop_.forget(meeting_.event.get());
  loop_.forget(meeting_.keeper.descriptor());
  for (const auto& rank : ranks_)
    if (rank->pidfd.valid()) loop_.forget(rank->pidfd.get());
}

std::string Job::words_of_world() const {
  return number_ == 0 ? std::string() : strf(" of world %d", number_);
}

void Job::set_environment() {
  for (const std::string& name : options_.unset) environment_.unset(name);
  if (pmix_ != nullptr) {
    pmix_->tell(environment_);
    pmix_->on_trouble = [this](const std::string& text) { outputs.say(text); };
  }
  if (parent_) environment_.set(boot::kParentVariable, parent_->port);
  environment_.set(boot::kBootVariable, std::to_string(meeting_.memory.get()));
  environment_.set(boot::kBootPidVariable, std::to_string(::getpid()));
  if (recording_ != nullptr) environment_.set(trace::kAreaVariable, recording_->words());
  for (const auto& [name, value] : options_.environment) environment_.set(name, value);
}

void Job::start(const std::vector<std::string>& paths) {
  loop_.watch(meeting_.event.get(), EPOLLIN, [this] { on_event(); });
  loop_.watch(meeting_.keeper.descriptor(), EPOLLIN, [this] { meeting_.keeper.serve(); });
  if (!places_.remark.empty() && wants_placement(options_)) outputs.remark(places_.remark);
  if (options_.input == Input::kAll && needs_feed(0)) feed_ = std::make_unique<Feed>(loop_, 0);
  if (number_ == 0) make_debugger_table(facts_.size);
  if (!all_.door.empty()) meeting_.shared.put(0, boot::kDoorKey, all_.door);
  if (const auto sets = process_sets_of(options_); !sets.empty())
    meeting_.shared.put(0, boot::kSetsKey, boot::write_sets(sets));
  hand_out_learnt();
  start_all(paths);
  all_.count_ranks();
  if (feed_ != nullptr) feed_->look();
  hang_.watch_start();
  if (running_ == 0) all_ended();
}

void Job::start_all(const std::vector<std::string>& paths) {
  int number = 0;
  for (std::size_t app = 0; app < options_.apps.size(); ++app)
    for (int i = 0; i < options_.apps[app].ranks && !ending_; ++i, ++number) {
      if (options_.report_bindings)
        outputs.say((number_ == 0 ? "" : strf("world %d: ", number_)) +
                    binding_in_words(number, places_.cpus[static_cast<std::size_t>(number)],
                                     places_.machine.cores));
      start_rank(number, static_cast<int>(app), paths[app]);
      meeting_.keeper.serve();
    }
  if (number_ != 0) return;
  const bool stopped = being_debugged();
  if (!ending_) tell_debugger_started();
  if (stopped) send_all(SIGCONT);
}

// Bound and unbound ranks have separate files, because their times differ.
void Job::hand_out_learnt() {
  if (facts_.size < 2) return;
  const Params params = parameters_of(options_);
  if (params.coll_tune == CollTune::kOff) return;
  const bool bound = !places_.cpus.empty() && !places_.cpus[0].empty();
  const std::string machine =
      LearntFile::machine_of(topo::machine_words(topo::allowed_cpu_count()), bound);
  std::string remark;
  const std::string text = LearntFile(params.coll_learnt, machine).pack(&remark);
  if (!remark.empty()) outputs.remark(remark);
  if (!text.empty()) meeting_.shared.put(0, boot::kLearntKey, text);
}

Fd Job::connect_input(const Rank& rank) {
  const bool reads = options_.input == Input::kAll ||
                     (options_.input == Input::kRank && rank.number == options_.input_rank);
  if (!reads) return open_null();
  if (options_.input == Input::kRank && ::isatty(0) == 1) feed_ = std::make_unique<Feed>(loop_, 0);
  if (feed_ != nullptr) return feed_->add();
  return options_.input == Input::kAll ? open_again(0) : Fd();
}

void Job::start_rank(int number, int app_index, const std::string& path) {
  ranks_.push_back(std::make_unique<Rank>());
  Rank& rank = *ranks_.back();
  rank.number = number;
  rank.app = &options_.apps[static_cast<std::size_t>(app_index)];
  meeting_.shared.set_app(number, app_index);
  const Outputs::Ends ends = outputs.connect(number);
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
  request.stop_at_start = number_ == 0 && being_debugged();
  if (input.valid()) request.input = input.get();
  if (ends.output.valid()) request.output = ends.output.get();
  if (ends.error.valid()) request.error = ends.error.get();
  request.inherited[0] = meeting_.memory.get();
  request.inherited[1] = meeting_.event.get();
  request.inherited[2] = meeting_.keeper_end.get();
  if (recording_ != nullptr) {
    request.inherited[3] = recording_->descriptor();
    recording_->add_rank(number_, number, *rank.app);
  }
  rank.guarded = all_.guard.free_place();
  request.announce = rank.guarded;
  request.signal_mask = &all_.signal_mask;
  request.open_files = &all_.open_files;
  const SpawnResult result = spawn(request);
  rank.pid = result.pid;
  if (result.error != 0) {
    rank.ended = true;
    fail(result.error == ENOENT ? 127 : 126,
         strf("cannot start rank %d%s on host %s: %s: %s%s", number, words_of_world().c_str(),
              facts_.host.c_str(), result.step, std::strerror(result.error),
              cause_of_refusal(path, result.error).c_str()));
    return;
  }
  if (number_ == 0) show_to_debugger(number, facts_.host, rank.app->directory, path, rank.pid);
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

bool Job::awaits(const Job& parent) const noexcept {
  if (!parent_ || parent_->world != parent.number_) return false;
  for (int rank = 0; rank < facts_.size; ++rank)
    if (meeting_.shared.worlds.has_met(rank)) return false;
  return true;
}

bool Job::knows(const Job& other) const {
  const std::uint64_t name = digest_text(other.facts_.id);
  for (int rank = 0; rank < facts_.size; ++rank)
    if (meeting_.shared.state(rank) != boot::RankState::kFinalised &&
        meeting_.shared.worlds.has(rank, name))
      return true;
  return false;
}

void Job::continue_all() {
  send_all(SIGCONT);
  if (feed_ != nullptr) feed_->look();
}

}  // namespace tern::mpirun
