// SPDX-License-Identifier: Apache-2.0
// The Instance: a Process made ready, brought into its job and taken out of it.
#include "api/process.hpp"
#include "api/errors.hpp"

#include <sched.h>
#include <unistd.h>

#include <climits>

#include "api/leaks.hpp"
#include "api/partitioned.hpp"
#include "api/send_buffer.hpp"
#include "api/tool.hpp"
#include "base/config.hpp"
#include "base/crash.hpp"
#include "base/last_words.hpp"
#include "base/log.hpp"
#include "base/remote_fence.hpp"
#include "core/communicator.hpp"
#include "core/datatype.hpp"
#include "core/error_handler.hpp"
#include "core/info.hpp"
#include "core/op.hpp"

extern char** environ;

namespace tern::api {

core::Process* the_process = nullptr;

namespace {

/// CPUs that the ranks of this host share: the launcher's, because a rank itself may be bound to
/// one.
int shared_cpus(int server_pid) noexcept {
  cpu_set_t set;
  const pid_t whose = server_pid != 0 ? server_pid : ::getppid();
  if (::sched_getaffinity(whose, sizeof set, &set) == 0) return CPU_COUNT(&set);
  return static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
}

}  // namespace

Instance& instance() noexcept {
  // Never deleted: handles outlive static destructors.
  static Instance* const only = (install_last_words(), new Instance);
  return *only;
}

/// What exists before MPI_Init: parameters, and the objects that need no job.
Instance::Instance() : tag_ub(INT_MAX) {
  process.params = load_params(environ, &complaints_);
  process.checks = process.params.checks_arguments();
  core::make_predefined_error_handlers(process);
  core::make_predefined_infos(process);
  core::make_predefined_types(process);
  core::make_predefined_ops(process);
}

/// About parameters: mpirun has said them once for all ranks, else one rank of each host does.
void Instance::complain() {
  const bool said = std::string_view(boot_->name()) == "mpirun";
  if (!said && boot_->job().local_index == 0)
    for (const std::string& complaint : complaints_) log_line("%s", complaint.c_str());
  complaints_.clear();
}

void Instance::explain_launcher() const {
  const boot::Job& job = boot_->job();
  if (job.remark.empty() || job.local_index != 0 || !process.explain.on()) return;
  process.explain.say("launcher", {{"launcher", job.launcher}, {"remark", job.remark}},
                      job.launcher + ": " + job.remark);
}

void Instance::count_cores() {
  const boot::Job& job = boot_->job();
  process.node.ranks = static_cast<int>(job.local_ranks.size());
  process.node.oversubscribed = process.node.ranks > shared_cpus(job.server_pid);
}

void Instance::enter_job(core::ThreadLevel level) {
  const bool provided = boot::is_provided();
  if (was_provided_ && !provided)
    throw Error(MPI_ERR_OTHER,
                "the world that this process was in was given by MPIX_Boot_provide, and has ended; "
                "call it again for the next one");
  (void)heeds_remote_fences();  // needs one thread
  boot_.reset();                // of an attempt that failed
  was_provided_ = provided;
  boot_ = boot::make_boot(process.params.boot);
  if (left_together_ && !provided) boot_->enter_again();
  process.boot = boot_.get();
  process.abort_job = abort_job;
  process.world_rank = boot_->rank();
  process.world_size = boot_->size();
  process.threads.level = level;
  process.threads.wants_progress = process.params.progress == ProgressBy::kThread;
  process.threads.wants_proxy = false;
  core::threads_share_objects = process.threaded();
  set_log_rank(process.world_rank);
  if (process.params.backtrace != 0) install_crash_report();
  complain();
  process.explain.configure(process.params.explain, process.world_rank);
  explain_launcher();
  count_cores();
  appnum = boot_->job().app;
  universe_size = boot_->job().universe_size;
  runtime_ = std::make_unique<Runtime>(process);
}

void Instance::leave_job() {
  runtime_->end_threads();  // what ends now ends without locks
  forget_world();
  core::end_predefined_communicators(process);
  runtime_.reset();
  process.gpus.release();
  core::threads_share_objects = true;
  boot_->finalize();
  process.boot = nullptr;
  boot_.reset();
}

// What the program has not freed belongs to rooms that end now: its handles must not find it in the
// next world.
void Instance::forget_world() {
  for (const core::Kind kind : {core::Kind::kCommunicator, core::Kind::kWindow})
    for (core::Object* object : process.handles.live(kind)) process.handles.erase(*object);
}

// Below MPI_THREAD_MULTIPLE the caller is the only thread in MPI.
void Instance::raise_level(core::ThreadLevel level) noexcept {
  const bool had_threads = process.threaded();
  process.threads.level = level;
  if (had_threads || !process.threaded()) return;
  core::threads_share_objects = true;
  runtime_->admit_threads();
}

void Instance::start_proxy() {
  const std::lock_guard<std::mutex> guard(progress_mutex_);
  if (process.proxy != nullptr) return;
  const bool had_threads = process.threaded();
  process.threads.wants_proxy = true;
  if (!had_threads) {
    core::threads_share_objects = true;
    runtime_->admit_threads();
  }
  try {
    runtime_->start_proxy();
  } catch (const std::exception& error) {
    throw Error(MPI_ERR_OTHER,
                strf("there can be no thread for enqueued operations: %s", error.what()));
  }
}

// Where no thread can be had, calls move messages as before.
void Instance::start_progress() noexcept {
  const std::lock_guard<std::mutex> guard(progress_mutex_);
  if (process.params.progress != ProgressBy::kAuto || process.threads.wants_progress) return;
  const bool had_threads = process.threaded();
  process.threads.wants_progress = true;
  if (!had_threads) {
    core::threads_share_objects = true;
    runtime_->admit_threads();
  }
  try {
    runtime_->start_thread();
  } catch (const std::exception& error) {
    log_line("windows are served by calls of MPI alone: a thread cannot be made: %s", error.what());
  }
}

void Instance::come_back() {
  boot_->resume();
  core::threads_share_objects = process.threaded();
  runtime_->come_back();
}

void Instance::rest() noexcept {
  runtime_->rest();
  core::threads_share_objects = true;
  boot_->finalize();
}

void Instance::start(core::ThreadLevel level, User user) {
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    if (runtime_ == nullptr)
      enter_job(level);
    else if (users_ == 0)
      come_back();
    if (level > process.threads.level) raise_level(level);
    const bool first = users_++ == 0;
    the_process = &process;
    if (user == User::kSession && !world_ended) boot_->tell_session();
    if (first) watch_events();
  }
  if (user == User::kWorld) runtime_->meet_all();
}

void Instance::end_world() {
  core::Communicator& self = *process.self;
  const int code = self.attributes.delete_all(self.handle());
  if (code != MPI_SUCCESS) throw Error(code, take_last_error().text);
  world_ended = true;
}

void Instance::stop(User user) {
  std::unique_lock<std::mutex> guard(mutex_);
  const bool last = users_ == 1;
  if (last) {
    while (!send_buffers.empty()) end_send_buffer(send_buffers.begin()->first);
    report_leaks(process);
  }
  guard.unlock();  // others may open sessions while this one waits
  if (user == User::kWorld)
    runtime_->leave();
  else if (last)
    runtime_->see_off();
  guard.lock();
  if (--users_ > 0) return;
  the_process = nullptr;
  PartitionedRequest::abandon_all();
  if (was_provided_) {
    rest();
    leave_job();
  } else if (user == User::kWorld && !boot_->had_sessions()) {
    left_together_ = true;
    leave_job();
  } else {
    rest();
  }
}

}  // namespace tern::api
