// SPDX-License-Identifier: Apache-2.0
// The only Process of this operating-system process, for the C API, and MPI's own tables.
// Why: MPI's C functions name no process; layers below src/api get their Process passed.
// Life cycle: the first call needing the Instance creates it (MPI_Info_create may precede
// MPI_Init). The Instance stays until the program ends, because handles may be used after
// MPI_Finalize. api::Membership attaches the Process to its job and detaches it.
// Threads: any.
#pragma once

#include <array>
#include <atomic>
#include <climits>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "api/error_codes.hpp"
#include "core/attribute.hpp"
#include "core/info.hpp"
#include "core/process.hpp"
#include "mpi.h"

namespace tern::api {

/// The values of MPI_Abi_set_fortran_*. logical_size 0: unset.
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

/// Operations in flight per channel, under the channel's lock.
template <class Request>
using ByChannel = std::array<std::vector<Request*>, core::Process::kMostChannels>;

struct PartitionedRequests {
  ByChannel<PartitionedRequest> running;
  std::atomic<uint32_t> tags = 0;  // used in turn
};

struct SendBuffers {
  std::mutex mutex;
  // null key: the process's buffer
  std::map<const core::Object*, std::shared_ptr<SendBuffer>> by_owner;
};

struct ToolState {
  std::atomic<int> users = 0;  // MPI_T_init_thread calls without MPI_T_finalize
  std::mutex mutex;            // guards sessions
  std::vector<std::shared_ptr<ToolSession>> sessions;
  std::mutex registrations_mutex;  // locked before `mutex`, after a channel's lock
  std::vector<std::shared_ptr<ToolRegistration>> registrations;
};

struct WorldState {
  bool started = false;
  bool ended = false;
  std::thread::id main_thread;  // the caller of MPI_Init
};

/// Values of predefined attributes, at addresses handed to users.
struct PredefinedAttributes {
  int tag_ub = INT_MAX, io = MPI_ANY_SOURCE, host = MPI_PROC_NULL, wtime_is_global = 0, appnum = 0,
      universe_size = 0, last_used_code = MPI_ERR_LASTCODE;
};

struct Instance {
  Instance();

  core::Process process;
  std::vector<std::string> complaints;  // about parameters; Membership logs them
  core::Keyvals keyvals;
  PredefinedAttributes attributes;
  ErrorCodes error_codes;
  FortranAbi fortran;
  ByChannel<CompoundRequest> compounds;
  PartitionedRequests partitioned;
  SendBuffers send_buffers;
  WorldState world;
  ToolState tool;
};

[[nodiscard]] Instance& instance() noexcept;

/// Non-null while MPI is initialised or a session is open.
extern core::Process* the_process;

/// The Process, initialised or not.
[[nodiscard]] inline core::Process& any_process() noexcept { return instance().process; }

}  // namespace tern::api
