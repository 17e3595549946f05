// SPDX-License-Identifier: Apache-2.0
#include "api/job/membership.hpp"

#include <sched.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "api/errors.hpp"
#include "api/job/leaks.hpp"
#include "api/process.hpp"
#include "api/pt2pt/partitioned.hpp"
#include "api/pt2pt/send_buffer.hpp"
#include "api/tool/tool.hpp"
#include "base/clock.hpp"
#include "base/config.hpp"
#include "base/crash.hpp"
#include "base/digest.hpp"
#include "base/log.hpp"
#include "base/remote_fence.hpp"
#include "core/communicator.hpp"
#include "core/current_call.hpp"
#include "trace/area.hpp"
#include "trace/ranges.hpp"
#include "trace/recorder.hpp"

namespace tern::api {
namespace {

/// Returns the launcher's affinity, because ranks may be bound.
int shared_cpus(int server_pid) noexcept {
  cpu_set_t set;
  const pid_t whose = server_pid != 0 ? server_pid : ::getppid();
  if (::sched_getaffinity(whose, sizeof set, &set) == 0) return CPU_COUNT(&set);
  return static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
}

}  // namespace

Membership& membership() noexcept {
  static auto* const only = new Membership(any_process());  // never destroyed, like the Instance
  return *only;
}

/// mpirun has already logged complaints.
void Membership::complain() {
  const bool said = std::string_view(boot_->name()) == "mpirun";
  if (!said && boot_->job().local_index == 0)
    for (const std::string& complaint : instance().complaints) log_line("%s", complaint.c_str());
  instance().complaints.clear();
}

void Membership::explain_launcher() const {
  const boot::Job& job = boot_->job();
  if (job.remark.empty() || job.local_index != 0 || !process_.explain.on()) return;
  process_.explain.say("launcher", {{"launcher", job.launcher}, {"remark", job.remark}},
                       job.launcher + ": " + job.remark);
}

void Membership::count_cores() {
  const boot::Job& job = boot_->job();
  process_.node.ranks = static_cast<int>(job.local_ranks.size());
  process_.node.strangers = 0;
  process_.node.cpus = shared_cpus(job.server_pid);
  process_.node.oversubscribed = boot_->tell_known_worlds({}) > process_.node.cpus;
}

void Membership::enter_job(core::ThreadLevel level) {
  const bool provided = boot::is_provided();
  if (was_provided_ && !provided)
    throw Error(MPI_ERR_OTHER,
                "the world of the last MPIX_Boot_provide has ended; call MPIX_Boot_provide again "
                "for the next world");
  (void)heeds_remote_fences();  // requires a single thread
  boot_.reset();
  was_provided_ = provided;
  boot_ = boot::make_boot(process_.params.boot);
  if (left_together_ && !provided) boot_->enter_again();
  process_.boot = boot_.get();
  process_.abort_job = abort_job;
  process_.world_rank = boot_->rank();
  process_.world_size = boot_->size();
  process_.worlds.set_own(digest_text(boot_->job().id), boot_->size());
  process_.meets_worlds = false;
  process_.threads.level = level;
  process_.threads.wants_progress = process_.params.progress == ProgressBy::kThread;
  process_.threads.wants_proxy = false;
  core::threads_share_objects = process_.threaded();
  set_log_rank(process_.world_rank);
  if (process_.params.backtrace != 0) install_crash_report();
  complain();
  process_.explain.configure(process_.params.explain, process_.world_rank);
  explain_launcher();
  count_cores();
  instance().attributes.appnum = boot_->job().app;
  instance().attributes.universe_size = boot_->job().universe_size;
  runtime_ = std::make_unique<Runtime>(process_);
}

void Membership::leave_job() {
  runtime_->end_threads();  // modules above the transports end without locks
  forget_world();
  core::end_predefined_communicators(process_);
  runtime_.reset();
  process_.gpus.release();
  core::threads_share_objects = true;
  boot_->finalize();
  process_.boot = nullptr;
  boot_.reset();
}

// Handles of objects in ending modules must become invalid.
void Membership::forget_world() {
  for (const core::Kind kind : {core::Kind::kCommunicator, core::Kind::kWindow})
    for (core::Object* object : process_.handles.live(kind)) process_.handles.erase(*object);
}

// raise_level() is safe: below MPI_THREAD_MULTIPLE no other thread is in MPI.
void Membership::raise_level(core::ThreadLevel level) noexcept {
  const bool had_threads = process_.threaded();
  process_.threads.level = level;
  admit_threads(had_threads);
}

void Membership::admit_threads(bool had_threads) noexcept {
  if (had_threads || !process_.threaded()) return;
  core::threads_share_objects = true;
  runtime_->admit_threads();
}

void Membership::start_proxy() {
  const std::lock_guard<std::mutex> guard(progress_mutex_);
  if (process_.proxy != nullptr) return;
  const bool had_threads = process_.threaded();
  process_.threads.wants_proxy = true;
  admit_threads(had_threads);
  try {
    runtime_->start_proxy();
  } catch (const std::exception& error) {
    throw Error(MPI_ERR_OTHER,
                strf("cannot start a thread for enqueued operations: %s", error.what()));
  }
}

// Only MPI calls progress messages if no progress thread can start.
void Membership::start_progress() noexcept {
  const std::lock_guard<std::mutex> guard(progress_mutex_);
  if (process_.params.progress != ProgressBy::kAuto || process_.threads.wants_progress) return;
  const bool had_threads = process_.threaded();
  process_.threads.wants_progress = true;
  admit_threads(had_threads);
  try {
    runtime_->start_thread();
  } catch (const std::exception& error) {
    log_line("only MPI calls serve windows: cannot start a thread: %s", error.what());
  }
}

void Membership::come_back() {
  boot_->resume();
  core::threads_share_objects = process_.threaded();
  runtime_->come_back();
}

void Membership::rest() noexcept {
  runtime_->rest();
  core::threads_share_objects = true;
  boot_->finalize();
}

// A session or world after the first goes on with the same records.
void Membership::start_recorder(int64_t begin_ns) {
  const Params& params = process_.params;
  const bool profiler = std::getenv(trace::kProfilerVariable) != nullptr;
  if (!params.wants_trace() && !params.wants_profile() && !profiler &&
      std::getenv(trace::kAreaVariable) == nullptr)
    return;
  const std::string remark =
      trace::start({params.wants_trace() ? params.trace : "", params.trace_buffer,
                    params.wants_profile(), params.profile_file(), process_.world_rank,
                    process_.world_size, boot_->host(boot_->rank()), begin_ns, profiler});
  if (!remark.empty()) log_line("%s", remark.c_str());
}

void Membership::start(core::ThreadLevel level, User user) {
  const int64_t begin_ns = now_ns();
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    if (runtime_ == nullptr)
      enter_job(level);
    else if (users_ == 0)
      come_back();
    start_recorder(begin_ns);
    if (level > process_.threads.level) raise_level(level);
    const bool first = users_++ == 0;
    the_process = &process_;
    if (user == User::kSession && !instance().world.ended) boot_->tell_session();
    if (first) watch_events();
  }
  if (user == User::kWorld) {
    if (std::strcmp(boot_->name(), "mpirun") != 0 && boot_->size() > 1)
      recording_ = std::make_unique<JobRecording>(process_);
    runtime_->enter_world();
    if (recording_ != nullptr) recording_->begin();
  }
  if (trace::is_on()) trace::record_started(core::current_call.call, begin_ns);
}

void Membership::end_world() {
  core::Communicator& self = *process_.self;
  const int code = self.attributes.delete_all(self.handle());
  if (code != MPI_SUCCESS) throw Error(code, take_last_error().text);
  instance().world.ended = true;
}

void Membership::stop(User user) {
  std::unique_lock<std::mutex> guard(mutex_);
  const bool last = users_ == 1;
  if (last) {
    const auto& buffers = instance().send_buffers.by_owner;
    while (!buffers.empty()) end_send_buffer(buffers.begin()->first);
    end_files(process_);
    report_leaks(process_);
  }
  guard.unlock();  // other sessions may open
  if (user == User::kWorld && recording_ != nullptr) recording_->end();
  if (user == User::kWorld)
    runtime_->leave();
  else if (last)
    runtime_->see_off();
  guard.lock();
  if (--users_ > 0) return;
  trace::leave();
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
