// SPDX-License-Identifier: Apache-2.0
// The one Process of this operating-system process, for the C API alone.
// Why: MPI's C functions name no process; everything below src/api gets its Process handed down.
// Life cycle: the Process is made at the first call that needs one (MPI_Info_create may come before
// MPI_Init); start() brings it into the job, stop() takes it out when the last user (MPI_Init,
// sessions) left; its objects stay until the program ends, because handles may be asked for after
// MPI_Finalize.
// Threads: start() and stop() one at a time (a lock); the_process and any_process() from any
// thread.
#pragma once

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "api/errors.hpp"
#include "api/runtime.hpp"
#include "base/log.hpp"
#include "boot/boot.hpp"
#include "core/attribute.hpp"
#include "core/info.hpp"
#include "core/process.hpp"
#include "mpix.h"

namespace tern::api {

/// What MPI_Abi_set_fortran_* has told. logical_size 0: nothing yet.
struct FortranAbi {
  int logical_size = 0;
  int64_t logical_true = 0, logical_false = 0;  // as bytes
  core::Ref<core::Info> info;
};

class CompoundRequest;
class PartitionedRequest;
class SendBuffer;
class ToolRegistration;
class ToolSession;

/// Everything the C API owns: the Process, the rooms that hang from it, and MPI's own tables.
class Instance {
 public:
  Instance();

  core::Process process;
  core::Keyvals keyvals;
  ErrorCodes error_codes;
  FortranAbi fortran;
  // By channel, under its lock: what is under way.
  std::array<std::vector<CompoundRequest*>, core::Process::kMostChannels> compounds;
  std::array<std::vector<PartitionedRequest*>, core::Process::kMostChannels> partitioned;
  std::atomic<uint32_t> partitioned_tags = 0;                               // used in turn
  std::mutex send_buffers_mutex;                                            // of what follows
  std::map<const core::Object*, std::shared_ptr<SendBuffer>> send_buffers;  // by owner; null: all
  std::thread::id main_thread;                                              // that called MPI_Init
  std::atomic<int> tool_users = 0;  // MPI_T_init_thread without its MPI_T_finalize
  std::mutex tool_mutex;            // of what follows
  std::vector<std::shared_ptr<ToolSession>> tool_sessions;
  std::mutex registrations_mutex;  // of what follows; before tool_mutex, after a channel's lock
  std::vector<std::shared_ptr<ToolRegistration>> tool_registrations;
  bool world_started = false;  // MPI_Init was called
  bool world_ended = false;    // MPI_Finalize was called
  // Values of predefined attributes: users get their addresses.
  int tag_ub, io = MPI_ANY_SOURCE, host = MPI_PROC_NULL, wtime_is_global = 0, appnum = 0,
              universe_size = 0, last_used_code = MPI_ERR_LASTCODE;

  /// Who uses MPI: the world of MPI_Init, which all ranks enter and leave together, or a session,
  /// which waits for no other process.
  enum class User { kWorld, kSession };
  /// How the ranks of the next world meet. Throws Error.
  void provide(const MPIX_Boot& given);
  /// One more user; the level is the highest that any has asked for. Throws Error.
  void start(core::ThreadLevel level, User user);
  /// MPI_Finalize's first step: the attributes of MPI_COMM_SELF are deleted while MPI still works.
  /// Throws Error.
  void end_world();
  /// One user less. Where there were only worlds in all of the job, they have left it together, and
  /// nothing remains; else what peers know of this process stays until it ends, as it may come
  /// back. A world that the program provided ends with its last user.
  void stop(User user);
  /// Waits until all of the group have entered the job. Throws Error.
  void await(const core::Group& group) { runtime_->await(group); }
  /// From now on a thread moves messages, too, where TERN_PROGRESS leaves that to Tern: others are
  /// to be served while the program computes. The caller holds no channel's lock.
  void start_progress() noexcept;
  /// From now on a thread does what is enqueued on streams. The same. Throws Error.
  void start_proxy();

 private:
  void enter_job(core::ThreadLevel level);
  void come_back();
  void rest() noexcept;
  void leave_job();
  void forget_world();
  void raise_level(core::ThreadLevel level) noexcept;
  void explain_launcher() const;
  void count_cores();
  void complain();

  std::mutex mutex_, progress_mutex_;
  int users_ = 0;
  bool was_provided_ = false;  // the last world that this process entered
  bool left_together_ =
      false;  // all ranks have left the job: connection infos of before do not count
  std::unique_ptr<boot::Boot> boot_;
  std::unique_ptr<Runtime> runtime_;
  std::vector<std::string> complaints_;  // about parameters, until they can be said
};

/// Made at first use.
[[nodiscard]] Instance& instance() noexcept;

/// Non-null between MPI_Init and MPI_Finalize (and while a session is open).
extern core::Process* the_process;

/// The Process whether or not MPI is initialised.
[[nodiscard]] inline core::Process& any_process() noexcept { return instance().process; }

/// Runs set-up code for a body: what it throws becomes the body's error code.
template <class Work>
[[nodiscard]] int guarded(Work&& work) noexcept {
  try {
    work();
    return 0;
  } catch (const Error& error) {
    return fail(error);
  } catch (const std::bad_alloc&) {
    return fail_no_memory();
  }
}

}  // namespace tern::api
