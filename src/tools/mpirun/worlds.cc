// SPDX-License-Identifier: Apache-2.0
#include "tools/mpirun/worlds.hpp"

#include <fcntl.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "mpi.h"
#include "tools/mpirun/option_parser.hpp"
#include "tools/mpirun/parameters.hpp"
#include "tools/mpirun/room.hpp"
#include "tools/mpirun/spawn.hpp"

extern "C" char** environ;

namespace tern::mpirun {
namespace {

constexpr double kPatienceAfterFailure = 0.5;  // seconds between SIGTERM and SIGKILL
constexpr double kUserPatience = 2.0;          // the same after the user's Ctrl-C

// With two pipes and a process per rank 1,024 descriptors suffice for 300 ranks. Returns the old
// limit.
rlimit raise_open_files() {
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  const rlimit most{before.rlim_max, before.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &most);
  return before;
}

void refuse_without_room(const Options& options) {
  const bool piped = options.ranks() > 1 && (options.output_directory.empty() ||
                                             options.tag_output || options.timestamp_output);
  const std::string lack = lack_in_words(room_here(), options.ranks(), piped ? 2 : 0);
  if (!lack.empty()) throw Error(MPI_ERR_NO_MEM, lack);
}

bool asks_for_places(const boot::SpawnRequest& request) {
  for (const boot::SpawnCommand& command : request.commands)
    for (const std::string& word : command.options)
      if (word == "--bind-to" || word == "--map-by") return true;
  return false;
}

Wanted records_wanted(const Options& options) {
  const Params params = parameters_of(options);
  return {params.wants_trace() ? trace::TraceFile(params.trace) : trace::TraceFile(),
          params.wants_profile(), params.profile_file(),
          static_cast<uint64_t>(params.trace_buffer)};
}

}  // namespace

Worlds::Worlds(Loop& the_loop, const Options& options, const sigset_t& mask)
    : Surroundings(the_loop, mask, raise_open_files()),
      options_(options),
      door_(loop, [this](const std::shared_ptr<Caller>& caller, const std::string& text) {
        open(caller, text);
      }) {
  door = door_.name();
  console.output.on_change = console.error.on_change = [this] {
    if (console.output.error() != 0) on_lost_output(console.output.error());
    for (const auto& job : jobs_) job->outputs.streams.pause_or_resume();
    look();
  };
}

void Worlds::start(Places places) {
  refuse_without_room(options_);
  const std::vector<std::string> paths = find_programs(options_, std::getenv("PATH"));
  wanted = records_wanted(options_);
  guard.keep_alive(loop);
  for (const std::string& complaint : parameter_complaints(options_)) console.say(complaint);
  if (options_.timeout_s > 0) loop.after(options_.timeout_s, [this] { on_timeout(); });
  hang_s_ = static_cast<double>(parameters_of(options_).hang) * 1e-6;
  if (hang_s_ > 0) look_for_hang();
  jobs_.push_back(
      std::make_unique<Job>(*this, 0, options_, std::move(places), environ, std::nullopt));
  jobs_.front()->start(paths);
}

void Worlds::open(const std::shared_ptr<Caller>& caller, const std::string& text) {
  try {
    start_spawned(caller, boot::spawn_request_in(text));
  } catch (const std::exception& error) {
    caller->tell(error.what());
  }
}

void Worlds::start_spawned(const std::shared_ptr<Caller>& caller,
                           const boot::SpawnRequest& request) {
  const auto is_callers = [&](const auto& job) { return job->shared().facts().id == request.job; };
  const auto parent = std::find_if(jobs_.begin(), jobs_.end(), is_callers);
  if (parent == jobs_.end())
    throw Error(MPI_ERR_SPAWN, "a request to start ranks comes from no job of this mpirun");
  if ((*parent)->is_ending()) throw Error(MPI_ERR_SPAWN, "mpirun is ending the job");
  Options options = parse_request(request);
  options.input = Input::kNone;
  options.quiet = options_.quiet;
  options.report_bindings = options_.report_bindings;
  options.tag_output = options_.tag_output;
  options.timestamp_output = options_.timestamp_output;
  if (!options_.output_directory.empty())
    options.output_directory = strf("%s/world.%d", options_.output_directory.c_str(), next_number_);
  // mpirun's own environment lacks the parameter if --with-ft has set it for the parent world.
  if (const char* const tolerance = value_in(request.environment, "TERN_FT"))
    options.environment.emplace_back("TERN_FT", tolerance);
  refuse_without_room(options);
  const std::vector<std::string> paths =
      find_programs(options, value_in(request.environment, "PATH"));
  Places places = places_for(**parent, request, &options);
  std::vector<const char*> environment;
  for (const std::string& entry : request.environment) environment.push_back(entry.c_str());
  environment.push_back(nullptr);
  jobs_.push_back(std::make_unique<Job>(*this, next_number_, std::move(options), std::move(places),
                                        environment.data(),
                                        Parent{caller, (*parent)->number(), request.port}));
  ++next_number_;
  try {
    jobs_.back()->start(paths);
  } catch (...) {
    jobs_.pop_back();
    throw;
  }
}

Places Worlds::places_for(const Job& parent, const boot::SpawnRequest& request,
                          Options* options) const {
  if (asks_for_places(request)) return place_job(*options);
  Cpus taken;
  for (const auto& job : jobs_)
    for (const Cpus& cpus : job->places().cpus) taken.insert(taken.end(), cpus.begin(), cpus.end());
  return place_beside(parent.places(), taken, options->ranks(), topo::CoreHold());
}

std::vector<Job*> Worlds::connected_with(Job& world) {
  std::vector<Job*> found{&world};
  for (std::size_t i = 0; i < found.size(); ++i)
    for (const auto& job : jobs_) {
      const bool is_linked =
          job->awaits(*found[i]) || (job->knows(*found[i]) && found[i]->knows(*job));
      if (is_linked && std::find(found.begin(), found.end(), job.get()) == found.end())
        found.push_back(job.get());
    }
  return found;
}

void Worlds::note_code(Job& world, int exit_code) {
  const std::vector<Job*> connected = connected_with(world);
  const bool has_first =
      std::find(connected.begin(), connected.end(), jobs_.front().get()) != connected.end();
  std::optional<int>& code = has_first ? code_ : code_elsewhere_;
  if (!code) code = exit_code;
}

void Worlds::end_connected(Job& failed, int exit_code) {
  note_code(failed, exit_code);
  for (Job* const job : connected_with(failed))
    if (!job->is_ending()) job->end_ranks(SIGTERM, kPatienceAfterFailure);
}

int Worlds::running_with(Job& world) {
  int running = 0;
  for (const Job* const job : connected_with(world)) running += job->running();
  return running;
}

void Worlds::wake_ranks() noexcept {
  for (const auto& job : jobs_) job->shared().questions.ask();
}

void Worlds::count_ranks() noexcept {
  int running = 0;
  for (const auto& job : jobs_) running += job->running();
  for (const auto& job : jobs_) job->shared().worlds.set_crowd(running);
}

// Posted, because a world may not end inside its own functions.
void Worlds::look() {
  if (looking_) return;
  looking_ = true;
  loop.post([this] {
    looking_ = false;
    remove_ended();
    if (all_over() && console.all_written()) loop.stop();
  });
}

void Worlds::remove_ended() {
  const auto first_spawned = jobs_.begin() + 1;
  const auto kept =
      std::remove_if(first_spawned, jobs_.end(), [](const auto& job) { return job->is_over(); });
  if (kept == jobs_.end()) return;
  jobs_.erase(kept, jobs_.end());
  count_ranks();
}

bool Worlds::all_over() {
  return std::all_of(jobs_.begin(), jobs_.end(), [](const auto& job) { return job->is_over(); });
}

bool Worlds::all_ending() const noexcept {
  return std::all_of(jobs_.begin(), jobs_.end(), [](const auto& job) { return job->is_ending(); });
}

void Worlds::stop_if_over() {
  if (all_over()) loop.stop();
}

void Worlds::send_all(int signal) noexcept {
  for (const auto& job : jobs_) job->send_all(signal);
}

void Worlds::continue_all() {
  for (const auto& job : jobs_) job->continue_all();
}

void Worlds::tell_waiting(const std::string& reason) {
  for (const auto& job : jobs_) job->hang().report(reason, {});
}

void Worlds::interrupt(int signal) {
  if (!code_) code_ = 128 + signal;
  if (interrupted_) return send_all(SIGKILL);
  interrupted_ = true;
  const bool own = signal == SIGPIPE || signal == SIGXCPU;
  for (const auto& job : jobs_) job->end_ranks(own ? SIGTERM : signal, kUserPatience);
}

void Worlds::fail_all(int exit_code, const std::string& text) {
  console.say(text);
  if (!code_) code_ = exit_code;
  for (const auto& job : jobs_) job->end_ranks(SIGTERM, kPatienceAfterFailure);
}

// A closed reader (`mpirun ... | head`) is no error; a full disk is.
void Worlds::on_lost_output(int error) {
  if (all_ending()) return;
  if (error == EPIPE) return interrupt(SIGPIPE);
  fail_all(1, strf("cannot write the ranks' output: %s. The ranks are being ended.",
                   std::strerror(error)));
}

void Worlds::on_timeout() {
  if (all_over() || all_ending()) return;
  const std::string reason = strf("--timeout after %g seconds", options_.timeout_s);
  for (std::size_t i = 1; i < jobs_.size(); ++i) jobs_[i]->hang().report(reason, {});
  jobs_.front()->hang().report(reason, [this] {
    if (all_over() || all_ending()) return;
    int running = 0, ranks = 0;
    for (const auto& job : jobs_) {
      running += job->running();
      ranks += job->shared().facts().size;
    }
    fail_all(124, strf("the job still ran after %g seconds (--timeout): %d of %d ranks. They are "
                       "being ended.",
                       options_.timeout_s, running, ranks));
  });
}

void Worlds::look_for_hang() {
  std::int64_t newest = 0;
  bool all_wait = true;
  for (const auto& job : jobs_) all_wait &= job->hang().all_wait(&newest);
  const double waited = static_cast<double>(now_ns() - newest) * 1e-9;
  if (all_wait && newest > reported_hang_ && waited >= hang_s_) {
    reported_hang_ = newest;
    tell_waiting(strf("no rank has made progress in MPI for %.1f s", waited));
  }
  loop.after(std::clamp(hang_s_ / 4, 0.05, 5.0), [this] { look_for_hang(); });
}

}  // namespace tern::mpirun
